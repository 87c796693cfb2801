#!/usr/bin/env bash
# A small grid on the generated language. What is finished is not trained again; a new study name starts afresh.
set -euo pipefail

attnlab train -m experiment=demo decoder=input_feeding,post_combine scorer=additive,general,dot "$@"
# fixed_vector has neither scorer nor window: this makes it and one cell with a local window.
attnlab train -m experiment=demo decoder=post_combine,fixed_vector scorer=general window=local_p "$@"

attnlab report outputs/demo --out outputs/demo/report
echo
echo "the page: outputs/demo/report/index.html; BLEU against sentence length: outputs/demo/report/bleu_by_length.png"
