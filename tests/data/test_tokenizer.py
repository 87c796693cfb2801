import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.data import BPE, Tokenizer, Unigram, Words
from attnlab.errors import UserError

LINES = [
    'Hello, "world" (it\'s a t-shirt)... 3.5 % of 1,000!',
    "Ein Mann sagt: „Guten Tag“ - und geht.",
    "Où ? Là-bas\u00a0! L'été, déjà",
    "a_b c__d x@y.z 🙂 ‿ a‿b ‿, ,‿ ((",
    "the dog , the cat .",
] * 3

RECIPES = {
    "words": Words(min_frequency=1),
    "joint size": Words(min_frequency=1, size=200),
    "split at white space only": Words(min_frequency=1, split_punctuation=False),
    "bpe": BPE(size=120, min_frequency=1),
    "unigram": Unigram(size=90),
}


@pytest.fixture(scope="module", params=RECIPES)
def tokenizer(request) -> Tokenizer:
    return RECIPES[request.param].train(LINES)


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("line", LINES[:5])
def test_decode_gives_the_text_back(tokenizer, line):
    ids = tokenizer.encode([line])[0]
    assert tokenizer.unk not in ids
    assert tokenizer.decode(ids) == plain(line)


@pytest.mark.parametrize("line", LINES[:5])
def test_pieces_know_their_white_space_word(tokenizer, line):
    """Oracle: the pieces of a word, joined without marks, are the word."""
    ids = tokenizer.encode([line])[0]
    words = tokenizer.words(ids)
    assert words == tokenizer.words_of(line)
    assert sorted(set(words)) == list(range(len(line.split())))
    for number, word in enumerate(line.split()):
        assert tokenizer.decode([i for i, w in zip(ids, words, strict=True) if w == number]) == word


ALPHABET = "abÄß1 ,.(\"'-_‿\t\u00a0\u2028\u0085\x1d́"


@given(st.lists(st.text(alphabet=ALPHABET, max_size=12), min_size=1, max_size=4))
def test_words_give_any_text_back(lines):
    tokenizer = Words(min_frequency=1).train(lines)
    for line, ids in zip(lines, tokenizer.encode(lines), strict=True):
        assert tokenizer.decode(ids) == plain(line)
        assert len(set(tokenizer.words(ids))) == len(line.split())
        assert tokenizer.words(ids) == tokenizer.words_of(line)


@given(st.text(alphabet=ALPHABET, max_size=30))
def test_bpe_gives_any_text_of_its_characters_back(line):
    tokenizer = _bpe()
    assert tokenizer.decode(tokenizer.encode([line])[0]) == plain(line)
    assert tokenizer.words_of(line) == tokenizer.words(tokenizer.encode([line])[0])


@cache
def _bpe():
    return BPE(size=100, min_frequency=1).train([ALPHABET, " ".join(ALPHABET)])


def test_a_word_is_one_type_before_a_comma_a_stop_and_a_space():
    tokenizer = Words(min_frequency=1).train(["dog dog, (dog) dog."])
    assert sorted(tokenizer.inner.get_vocab()) == sorted(
        ["<pad>", "<unk>", "<s>", "</s>", "dog", "‿,", "(‿", "‿)", "‿."]
    )


def test_text_without_punctuation_gives_exactly_its_words():
    line = "lurore debo biri dikiku"
    tokenizer = Words(min_frequency=1).train([line])
    assert tokenizer.pieces(tokenizer.encode([line])[0]) == line.split()


def test_tokenised_text_can_be_left_as_it_is():
    line = "the dog 's , don't"
    tokenizer = Words(min_frequency=1, split_punctuation=False).train([line])
    assert tokenizer.pieces(tokenizer.encode([line])[0]) == line.split()


def test_rare_words_are_unknown_and_read_so():
    tokenizer = Words(min_frequency=2).train(["the dog", "the cat, the dog"])
    ids = tokenizer.encode(["the cat"])[0]
    assert ids[1] == tokenizer.unk
    assert tokenizer.pieces(ids) == ["the", "<unk>"]
    assert tokenizer.decode(ids) == "the ⁇"


def test_an_unknown_character_within_a_word_of_subwords_stays_in_it():
    tokenizer = BPE(size=60, min_frequency=1).train(["ab ab ba"])
    ids = tokenizer.encode(["aéb ab é"])[0]
    assert tokenizer.decode(ids) == "a⁇b ab ⁇"
    assert tokenizer.words(ids) == tokenizer.words_of("aéb ab é")


def test_size_keeps_the_most_frequent_words():
    tokenizer = Words(size=6, min_frequency=1).train(["c b a b a a"])
    assert tokenizer.size == 6
    assert tokenizer.encode(["a b c"])[0] == [4, 5, tokenizer.unk]


def test_marks_are_left_out_and_the_end_mark_ends():
    tokenizer = Words(min_frequency=1).train(["a b c"])
    a, b, c = tokenizer.encode(["a b c"])[0]
    ids = [tokenizer.start, a, tokenizer.pad, b, tokenizer.end, c]
    assert tokenizer.decode(ids) == "a b"


def test_the_marks_are_four_different_ids_and_never_come_from_text(tokenizer):
    marks = {tokenizer.pad, tokenizer.unk, tokenizer.start, tokenizer.end}
    assert len(marks) == 4
    ids = tokenizer.encode(["<pad> <s> </s> <unk> a</s>b"])[0]
    assert not {tokenizer.pad, tokenizer.start, tokenizer.end} & set(ids)


@pytest.mark.parametrize("line", ["", " ", "\u2028\t\u00a0"])
def test_a_line_without_words_has_no_ids(tokenizer, line):
    assert tokenizer.encode([line]) == [[]]
    assert tokenizer.decode([]) == ""


def test_lower_case_is_the_tokenisers_and_stored_with_it(tmp_path):
    tokenizer = Words(min_frequency=1).train(["Der HUND"], lowercase=True)
    tokenizer.save(tmp_path / "t.json")
    ids = Tokenizer.load(tmp_path / "t.json").encode(["der Hund"])[0]
    assert tokenizer.decode(ids) == "der hund" and tokenizer.unk not in ids


def test_saved_and_loaded_it_is_the_same(tokenizer, tmp_path):
    """Pitfall B17: pieces that are line separators, CR or no-break spaces elsewhere."""
    odd = "a \u2028 b\u0085c \r d\u00a0e"
    tokenizer.save(tmp_path / "t.json")
    read = Tokenizer.load(tmp_path / "t.json")
    assert (read.size, read.fingerprint) == (tokenizer.size, tokenizer.fingerprint)
    assert read.inner.get_vocab() == tokenizer.inner.get_vocab()
    for line in [*LINES[:5], odd, "</s>"]:
        assert read.encode([line]) == tokenizer.encode([line])
        ids = read.encode([line])[0]
        assert read.decode(ids) == tokenizer.decode(ids)
        assert read.words(ids) == tokenizer.words(ids)


def test_separators_in_the_training_text_survive_saving(tmp_path):
    """Pitfall B17."""
    line = "a \u2028 b \u0085 c \r d \u00a0 e\u2028f"
    for recipe in (Words(min_frequency=1), Words(min_frequency=1, split_punctuation=False), BPE(size=60)):
        tokenizer = recipe.train([line])
        tokenizer.save(tmp_path / "t.json")
        read = Tokenizer.load(tmp_path / "t.json")
        assert read.inner.get_vocab() == tokenizer.inner.get_vocab()
        assert read.decode(read.encode([line])[0]) == plain(line)


@pytest.mark.parametrize("recipe", [Words(min_frequency=1), BPE(size=120)], ids=["words", "bpe"])
def test_training_twice_gives_the_same_tokeniser(recipe):
    assert recipe.train(LINES).fingerprint == recipe.train(LINES).fingerprint


def test_subwords_do_not_cross_punctuation():
    tokenizer = BPE(size=400, min_frequency=1).train(["ab, ab, ab, (ab) (ab)"] * 9)
    assert tokenizer.pieces(tokenizer.encode(["ab, (ab)"])[0]) == ["▁ab", ",", "▁(", "ab", ")"]


def test_a_broken_file_is_one_line(tmp_path):
    (tmp_path / "t.json").write_text("{}")
    for path in (tmp_path / "t.json", tmp_path / "absent.json"):
        with pytest.raises(UserError, match=re.escape(path.name)) as caught:
            Tokenizer.load(path)
        assert "\n" not in str(caught.value)


def test_impossible_sizes_are_refused():
    with pytest.raises(UserError, match="size=4"):
        Words(size=4)
    with pytest.raises(UserError, match="min_frequency"):
        BPE(min_frequency=0)
    for recipe in (BPE, Unigram):  # for which the library would ask for more memory than there is
        for size, words in ((None, "size=null"), (2**31, "size=2147483648")):
            with pytest.raises(UserError, match=words):
                recipe(size=size)


def test_captions_have_the_vocabulary_sizes_of_other_tools(data_dir):
    """Lower-cased Multi30k words of two occurrences or more: about 7,900 German and 5,900 English types."""
    from attnlab.data import FilesCorpus

    corpus = FilesCorpus(dir=str(data_dir / "multi30k"), source="de", target="en", test=["test_2016_flickr"])
    for side, types in (("source", 7900), ("target", 5900)):
        lines = corpus.split("train")[side][:]
        tokenizer = Words().train(lines, lowercase=True)
        assert abs(tokenizer.size - types) < 0.02 * types
        held_out = corpus.split("test_2016_flickr")[side][:]
        for line, ids in zip(held_out, tokenizer.encode(held_out), strict=True):
            assert tokenizer.unk in ids or tokenizer.decode(ids) == plain(line.lower())


def test_words_spelt_like_marks_leave_the_other_ids_alone():
    """Tokenised text with '<unk>' in it is common; the library gave such a word a second id and left a gap."""
    lines = ["the <unk> sat on </s> <pad>", "the cat <s> sat"]
    tokenizer = Words(min_frequency=1, split_punctuation=False).train(lines)
    ids = tokenizer.encode(["the cat sat on", "the <unk> sat </s>"])
    assert tokenizer.decode(ids[0]) == "the cat sat on"
    assert tokenizer.decode(ids[1]) == "the ⁇ sat ⁇"
    assert (tokenizer.pad, tokenizer.unk, tokenizer.start, tokenizer.end) == (0, 1, 2, 3)
    assert sorted(i for i in ids[0]) == [4, 5, 6, 7] and tokenizer.size == 8
