"""Unknown words are replaced by the source word with the most attention, and only where there is any."""

import torch

from attnlab.search import replace_unknown

WORDS = ["ein", "Hund", "bellt"]
WORD_OF = [0, 1, 1, 2]  # "Hund" in two pieces


def test_an_unknown_token_becomes_the_source_word_with_the_largest_weight():
    weights = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.4, 0.3, 0.3, 0.0], [0, 0, 0, 1.0], [0, 0, 0, 1.0]])
    got = replace_unknown(["a", "<unk>", "<unk>"], weights, unknown="<unk>", words=WORDS, word_of=WORD_OF)
    assert got == ["a", "Hund", "bellt"]  # the two pieces of "Hund" count together


def test_without_attention_the_unknown_token_stays():
    for weights in (torch.zeros(2, 4), torch.zeros(2, 0)):
        word_of = WORD_OF[: weights.shape[1]]
        got = replace_unknown(["<unk>", "b"], weights, unknown="<unk>", words=WORDS, word_of=word_of)
        assert got == ["<unk>", "b"]


def test_the_tokens_given_are_left_alone():
    tokens = ["<unk>"]
    replace_unknown(tokens, torch.ones(1, 1), unknown="<unk>", words=["x"], word_of=[0])
    assert tokens == ["<unk>"]
