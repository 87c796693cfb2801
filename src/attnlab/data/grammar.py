"""The grammar of the generated language, and its translation with links.

Source clauses are subject, verb, object; modifiers stand before their noun. The translation is a function
of the source sentence alone:

- the verb moves to the end of its clause, behind objects, prepositional phrases and relative clauses;
- adjectives stand behind their noun, in mirrored order;
- a preposition becomes a postposition, behind its phrase and that phrase's relative clause;
- a definite article and its noun become ONE word (a merge, often over adjectives in between);
- a verb and its particle become ONE word, another one than the verb alone (a merge);
- every third noun and every fourth verb becomes TWO words (a split).

Copying from left to right is therefore not enough, and how far a word moves grows with what its clause
holds. Words follow a Zipf law within each class, so the vocabulary has a long tail.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

VERSION = "1"  # goes up with every change that alters a sentence

SHARES = {"noun": 0.45, "verb": 0.25, "adjective": 0.2, "adverb": 0.1}
SMALL = {"indefinite": 2, "definite": 1, "preposition": 8, "relative": 1, "conjunction": 3, "particle": 4}
DEPTH = 2  # of relative clauses within relative clauses

Target = list[tuple[str, tuple[int, ...]]]  # words, each with the source positions it translates


class Lexicon:
    """Source words and their translations, drawn once from the seed."""

    def __init__(self, size: int, seed: int) -> None:
        self.random = Random(f"{seed}/lexicon/{VERSION}")
        self.taken: set[str] = set()
        counts = {kind: max(4, round(size * share)) for kind, share in SHARES.items()} | SMALL
        self.source: dict[str, list[str]] = {}
        self.cumulative: dict[str, list[float]] = {}
        self.target: dict[str, tuple[str, ...]] = {}
        self.particle: dict[str, str] = {}  # the one that each verb can take
        for kind, count in counts.items():
            self.source[kind] = [self._word("aeiou", "bdfgklmnprstv", "") for _ in range(count)]
            self.cumulative[kind] = list(accumulate(1 / rank for rank in range(1, count + 1)))
        for rank, word in enumerate(self.source["noun"]):
            self.target[word] = self._targets(2 if rank % 3 == 2 else 1)
            # The definite form has an ending; what was split stays split.
            self.target["definite " + word] = (*self.target[word][:-1], self.target[word][-1] + "en")
        for rank, word in enumerate(self.source["verb"]):
            self.target[word] = self._targets(2 if rank % 4 == 3 else 1)
            self.particle[word] = self.random.choice(self.source["particle"])
            self.target[f"{word} {self.particle[word]}"] = self._targets(1)
        for kind in ("adjective", "adverb", "preposition", "relative", "conjunction", "indefinite"):
            for word in self.source[kind]:
                self.target[word] = self._targets(1)

    def draw(self, kind: str, random: Random) -> str:
        """A word of the class, by Zipf's law (rank r has weight 1/r)."""
        cumulative = self.cumulative[kind]
        return self.source[kind][bisect(cumulative, random.random() * cumulative[-1])]

    def _targets(self, count: int) -> tuple[str, ...]:
        return tuple(self._word("aeiouy", "bcdghjklmnrstwz", "ckmnrstx") for _ in range(count))

    def _word(self, vowels: str, onsets: str, codas: str) -> str:
        """A new word of two to four syllables; source words end in a vowel, target words in a consonant."""
        pick = self.random.choice
        while True:
            syllables = self.random.choices((2, 3, 4), (5, 4, 1))[0]
            word = "".join(pick(onsets) + pick(vowels) for _ in range(syllables)) + (
                pick(codas) if codas else ""
            )
            if word not in self.taken:
                self.taken.add(word)
                return word


@dataclass
class Phrase:
    """A noun phrase: article, adjectives, noun, one relative clause."""

    article: str
    definite: bool
    noun: str
    depth: int
    adjectives: list[str] = field(default_factory=list)
    relative: Clause | None = None


@dataclass
class Clause:
    """Subject, verb, object and prepositional phrases; a relative clause has a pronoun for its subject."""

    subject: Phrase | None
    verb: str
    pronoun: str = ""
    particle: str = ""
    adverb: str = ""
    object: Phrase | None = None
    adjuncts: list[tuple[str, Phrase]] = field(default_factory=list)


class Grammar:
    """Grows sentences of an exact length and translates them."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon

    def sentence(self, length: int, random: Random) -> tuple[list[str], Target]:
        """A sentence of `length` >= 3 source words, and its translation."""
        self.random = random
        self.clauses = [(self._draw("conjunction"), self._clause(0))]
        self.phrases: list[Phrase] = []
        self.open: list[Clause] = []
        self._enter(self.clauses[0][1])
        missing = length - 3
        while missing:
            missing -= self._grow(missing)
        words: list[str] = []
        target: Target = []
        for number, (conjunction, clause) in enumerate(self.clauses):
            if number:
                target.append(self._one(words, conjunction))
            target += self._say_clause(clause, words)
        return words, target

    # Growth: each step adds what still fits.

    def _grow(self, missing: int) -> int:
        """Add one constituent of at most `missing` words; returns how many it had."""
        random = self.random
        choice = random.random()
        if choice < 0.12 and missing >= 4:
            self.clauses.append((self._draw("conjunction"), self._clause(0)))
            return self._enter(self.clauses[-1][1]) + 1
        if choice < 0.34 and missing >= 4:
            phrase = random.choice(self.phrases)
            if phrase.relative is None and phrase.depth < DEPTH:
                # The pronoun, a verb and an object: 'that sees the dog'.
                phrase.relative = Clause(None, self._draw("verb"), pronoun=self._draw("relative"))
                phrase.relative.object = self._phrase(phrase.depth + 1)
                self.open.append(phrase.relative)
                return 4
        if choice < 0.56 and missing >= 2:
            clause = random.choice(self.open)
            if clause.object is None:
                clause.object = self._phrase(0)
                return 2
            # Of main clauses alone: behind a relative clause nobody could tell whose adjunct it is.
            if not clause.pronoun and len(clause.adjuncts) < 2 and missing >= 3:
                clause.adjuncts.append((self._draw("preposition"), self._phrase(1)))
                return 3
        if choice < 0.7:
            clause = random.choice(self.open)
            if not clause.particle:
                clause.particle = self.lexicon.particle[clause.verb]
                return 1
            if not clause.adverb:
                clause.adverb = self._draw("adverb")
                return 1
        # Always fits; of two phrases the one with fewer adjectives, so that they don't pile up on one noun.
        phrase = min(
            random.choice(self.phrases), random.choice(self.phrases), key=lambda p: len(p.adjectives)
        )
        phrase.adjectives.append(self._draw("adjective"))
        return 1

    def _draw(self, kind: str) -> str:
        return self.lexicon.draw(kind, self.random)

    def _clause(self, depth: int) -> Clause:
        return Clause(self._new_phrase(depth), self._draw("verb"))

    def _enter(self, clause: Clause) -> int:
        assert clause.subject is not None
        self.open.append(clause)
        self.phrases.append(clause.subject)
        return 3

    def _phrase(self, depth: int) -> Phrase:
        self.phrases.append(self._new_phrase(depth))
        return self.phrases[-1]

    def _new_phrase(self, depth: int) -> Phrase:
        definite = self.random.random() < 0.5
        return Phrase(
            self._draw("definite" if definite else "indefinite"), definite, self._draw("noun"), depth
        )

    # Saying it: source words are appended to `words` from left to right; the target is returned.

    def _one(self, words: list[str], word: str) -> tuple[str, tuple[int, ...]]:
        words.append(word)
        return self.lexicon.target[word][0], (len(words) - 1,)

    def _say_clause(self, clause: Clause, words: list[str]) -> Target:
        target = (
            self._say_phrase(clause.subject, words) if clause.subject else [self._one(words, clause.pronoun)]
        )
        verb = [len(words)]
        words.append(clause.verb)
        key = clause.verb
        if clause.particle:
            verb.append(len(words))
            words.append(clause.particle)
            key = f"{clause.verb} {clause.particle}"
        adverb = [self._one(words, clause.adverb)] if clause.adverb else []
        if clause.object:
            target += self._say_phrase(clause.object, words)
        for preposition, phrase in clause.adjuncts:
            said = self._one(words, preposition)
            target += [*self._say_phrase(phrase, words), said]
        return target + adverb + [(word, tuple(verb)) for word in self.lexicon.target[key]]

    def _say_phrase(self, phrase: Phrase, words: list[str]) -> Target:
        article = len(words)
        if phrase.definite:
            words.append(phrase.article)
            target: Target = []
        else:
            target = [self._one(words, phrase.article)]
        adjectives = [self._one(words, word) for word in phrase.adjectives]
        noun = len(words)
        words.append(phrase.noun)
        forms = self.lexicon.target[("definite " if phrase.definite else "") + phrase.noun]
        target += [(form, (noun,)) for form in forms]
        if phrase.definite:
            target[-1] = (forms[-1], (article, noun))
        target += reversed(adjectives)
        return target + self._say_clause(phrase.relative, words) if phrase.relative else target
