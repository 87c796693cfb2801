#!/usr/bin/env bash
# A small grid on the generated language. What is finished is not trained again; a new study name starts afresh.
set -euo pipefail

# fixed_vector has no scorer: its cells are one, and the sweep says so.
attnlab train -m experiment=demo decoder=fixed_vector,post_combine,input_feeding scorer=additive,general,dot "$@"
attnlab train -m experiment=demo decoder=post_combine scorer=general window=local_p "$@"

attnlab report outputs/demo --out outputs/demo/report
echo
echo "BLEU against sentence length: outputs/demo/report/bleu_by_length.png"
