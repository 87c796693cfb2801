"""Moses' normalisation and tokenisation of lines on standard input: `python moses.py LANGUAGE`.

Runs under any Python that has sacremoses, and imports nothing else.
"""

import sys

from sacremoses import MosesPunctNormalizer, MosesTokenizer

if __name__ == "__main__":
    language = sys.argv[1]
    normaliser, tokeniser = MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)
    source = open(sys.stdin.fileno(), encoding="utf-8", newline="\n", closefd=False)  # noqa: SIM115
    target = open(sys.stdout.fileno(), "w", encoding="utf-8", newline="\n", closefd=False)  # noqa: SIM115
    for line in source:
        words = tokeniser.tokenize(normaliser.normalize(line.strip()), escape=False)
        target.write(" ".join(words) + "\n")
    target.flush()
