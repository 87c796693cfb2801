"""The generated language: what it promises is read off the sentences themselves."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from attnlab.data import FilesCorpus, ToyCorpus
from attnlab.errors import UserError


@pytest.fixture(scope="module")
def corpus() -> ToyCorpus:
    return ToyCorpus(train_pairs=3000, val_pairs=200, test_pairs=1000)


def links(line: str) -> list[tuple[int, int]]:
    return [tuple(map(int, link.split("-"))) for link in line.split()]


def test_the_same_seed_gives_the_same_sentences_and_another_seed_another_language(corpus):
    again = ToyCorpus(train_pairs=3000, val_pairs=200, test_pairs=1000)
    other = ToyCorpus(train_pairs=3000, val_pairs=200, test_pairs=1000, seed=2)
    assert again.fingerprint("test") == corpus.fingerprint("test")
    assert other.fingerprint("test") != corpus.fingerprint("test")


def test_a_smaller_split_is_the_beginning_of_a_larger_one(corpus):
    small = ToyCorpus(train_pairs=10).split("train")["source"][:]
    assert small == corpus.split("train")["source"][:10]


def test_lengths_spread_from_3_to_beyond_60_with_enough_in_every_bucket(corpus):
    lengths = [len(line.split()) for line in corpus.split("test")["source"][:]]
    buckets = Counter(min((n - 1) // 10, 6) for n in lengths)
    assert min(lengths) == 3 and max(lengths) > 60
    assert min(buckets[b] for b in range(7)) >= 60
    assert 30 <= sum(lengths) / len(lengths) <= 38


def test_word_limits_are_kept():
    lengths = [
        len(line.split())
        for line in ToyCorpus(train_pairs=300, min_words=5, max_words=9).split("train")["source"][:]
    ]
    assert set(lengths) == {5, 6, 7, 8, 9}


def test_every_word_of_both_sides_is_linked(corpus):
    for row in corpus.split("test"):
        found = links(row["alignment"])
        assert {i for i, _ in found} == set(range(len(row["source"].split())))
        assert {j for _, j in found} == set(range(len(row["target"].split())))


def test_the_translation_of_a_word_is_a_function_of_the_words_it_is_linked_to(corpus):
    """Read a dictionary off the links: what a linked group says in one sentence it says in all."""
    meanings = defaultdict(set)
    for row in corpus.split("train"):
        source, target = row["source"].split(), row["target"].split()
        groups = defaultdict(list)
        for i, j in links(row["alignment"]):
            groups[j].append(i)
        # Targets that share a source word are one group: an article, its noun and the noun's two halves.
        said, done = defaultdict(list), {}
        for j in sorted(groups):
            key = next((done[i] for i in groups[j] if i in done), j)
            done.update(dict.fromkeys(groups[j], key))
            said[key].append(j)
        for js in said.values():
            words = tuple(source[i] for i in sorted({i for j in js for i in groups[j]}))
            meanings[words].add(tuple(target[j] for j in js))
    assert len(meanings) > 500
    assert all(len(found) == 1 for found in meanings.values())


class Reader:
    """An oracle: translates source words by one token of look-ahead, knowing lexicon and rules alone."""

    def __init__(self, lexicon):
        self.kinds = {word: kind for kind, words in lexicon.source.items() for word in words}
        self.say = lambda *words: list(lexicon.target[" ".join(words)])

    def __call__(self, line):
        self.words = line.split()
        found = self.clause(self.phrase())
        while self.words:
            found += self.say(self.take("conjunction")) + self.clause(self.phrase())
        return " ".join(found)

    def next(self):
        return self.kinds[self.words[0]] if self.words else None

    def take(self, *kinds):
        assert self.next() in kinds
        return self.words.pop(0)

    def clause(self, subject, relative=False):
        verb = [self.take("verb")]
        verb += [self.take("particle")] if self.next() == "particle" else []
        adverb = self.say(self.take("adverb")) if self.next() == "adverb" else []
        found = subject + (self.phrase() if self.next() in ("definite", "indefinite") else [])
        while not relative and self.next() == "preposition":
            last = self.say(self.take("preposition"))
            found += self.phrase() + last
        return found + adverb + self.say(*verb)

    def phrase(self):
        definite = self.next() == "definite"
        article = self.take("definite", "indefinite")
        adjectives = []
        while self.next() == "adjective":
            adjectives = self.say(self.take("adjective")) + adjectives
        noun = self.take("noun")
        found = self.say("definite", noun) if definite else self.say(article) + self.say(noun)
        found += adjectives
        if self.next() == "relative":
            found += self.clause(self.say(self.take("relative")), relative=True)
        return found


def test_the_source_alone_determines_the_translation(corpus):
    read = Reader(corpus.grammar.lexicon)
    for row in corpus.split("train"):
        assert read(row["source"]) == row["target"]


def test_there_are_splits_merges_and_moves(corpus):
    splits = merges = crossings = total = 0
    for row in corpus.split("val"):
        found = links(row["alignment"])
        splits += sum(n > 1 for n in Counter(i for i, _ in found).values())
        merges += sum(n > 1 for n in Counter(j for _, j in found).values())
        crossings += sum(a < c and b > d for (a, b), (c, d) in pairwise(found))
        total += len(found)
    assert splits > 0.05 * total and merges > 0.05 * total and crossings > 0.1 * total


def test_the_sides_share_no_word_and_the_tail_is_long(corpus):
    rows = corpus.split("train")
    source = Counter(w for line in rows["source"][:] for w in line.split())
    target = Counter(w for line in rows["target"][:] for w in line.split())
    assert not set(source) & set(target)
    counts = sorted(source.values(), reverse=True)
    assert counts[0] > 100 * counts[len(counts) // 2]
    assert all(word.isalpha() and word.islower() for word in source | target)


def test_written_to_disk_it_reads_back_with_its_links(corpus, tmp_path):
    corpus.write(tmp_path)
    names = {f"{s}.{e}" for s in ("train", "val", "test") for e in ("src", "tgt", "align")}
    assert {path.name for path in tmp_path.iterdir()} == names
    read = FilesCorpus(dir=str(tmp_path), source="src", target="tgt")
    for name in corpus.splits:
        assert read.split(name).to_dict() == corpus.split(name).to_dict()
        assert read.fingerprint(name) == corpus.fingerprint(name)


@pytest.mark.parametrize("wrong", [{"min_words": 2}, {"max_words": 2}, {"val_pairs": 0}])
def test_impossible_options_are_refused(wrong):
    with pytest.raises(UserError, match=next(iter(wrong)) if "words" in str(wrong) else "val"):
        ToyCorpus(**wrong)


@pytest.mark.parametrize("options", [{"test": ["test", "nope"]}, {"val": "nope"}, {"train": "nope"}])
def test_an_unknown_split_is_named_with_the_known_ones(options):
    told = "there is no split nope; there are: train, val, test"
    with pytest.raises(UserError, match=f"data.{next(iter(options))}=nope: {told}"):
        ToyCorpus(**options)
    with pytest.raises(UserError, match=told):
        ToyCorpus().split("nope")


def test_more_test_sets_go_by_names_that_begin_with_test():
    corpus = ToyCorpus(test=["test", "test2", "test_long"], test_pairs=5, max_words=9)
    texts = {name: corpus.split(name)["source"][:] for name in corpus.test}
    assert all(len(lines) == 5 for lines in texts.values())
    assert len({tuple(lines) for lines in texts.values()}) == 3


def test_a_split_that_is_used_twice_is_the_same_both_times():
    corpus = ToyCorpus(test=["val", "train"], train_pairs=7, val_pairs=3, test_pairs=5, max_words=9)
    assert [len(corpus.split(name)) for name in ("train", "val")] == [7, 3]
