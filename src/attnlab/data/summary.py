"""The facts about a run's data as a few lines for the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def lines(facts: dict[str, Any]) -> Iterator[str]:
    """One line on the corpus, one a split.

    Args:
        facts: what `TranslationData.describe` returns.
    """
    languages, sizes = facts["languages"], facts["tokenizers"]
    revision = f", revision {facts['revision']}" if facts["revision"] else ""
    yield (
        f"{languages['source']} to {languages['target']} from {facts['source']}{revision}; vocabularies "
        f"{sizes['source']['size']:,} and {sizes['target']['size']:,}"
    )
    for name, split in facts["splits"].items():
        parts = [
            f"{split['pairs']:,} pairs",
            "words " + _sides(split["words"], "{:,}"),
            "tokens " + _sides(split["tokens"], "{:,}"),
            "unknown " + _sides(split["unknown"], "{:.2%}"),
        ]
        if dropped := sum(split["dropped"].values()):
            parts.append(f"dropped {dropped:,} ({reasons(split['dropped'])})")
        if any(split["empty"].values()):
            parts.append("empty lines " + _sides(split["empty"], "{:,}"))
        if name in facts["overlap"]:
            shared = facts["overlap"][name]
            parts.append(f"also in training: {shared['pairs']:,} pairs, {shared['sources']:,} sources")
        if split.get("edition"):
            parts.append(split["edition"])
        yield f"{name}: " + "; ".join(parts)


def reasons(dropped: Mapping[str, int]) -> str:
    """Why pairs were left out: `2 blank, 1 too long`."""
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in dropped.items() if count)


def warnings(facts: dict[str, Any], limit: float) -> Iterator[str]:
    """One line a split and side of which more than `limit` of the pieces are unknown."""
    for name, split in facts["splits"].items():
        for side, share in split["unknown"].items():
            if share > limit:
                yield (
                    f"{name}, {side}: {share:.0%} of the pieces are unknown; is the text tokenised or "
                    f"encoded unlike the training text? (data.unknown_limit={limit:g})"
                )


def shortfall(facts: Mapping[str, Any], asked: int | None) -> Iterator[str]:
    """One line where the text gave fewer pieces than were asked for.

    Args:
        facts: what `TranslationData.describe` returns.
        asked: `Recipe.asked`.
    """
    sizes = {side: made["size"] for side, made in facts["tokenizers"].items()}
    if asked is not None and min(sizes.values()) < asked:
        number = " / ".join(f"{size:,}" for size in dict.fromkeys(sizes.values()))
        yield (
            f"tokenizer.size={asked} was asked for, but the training text gives {number} pieces; "
            "use these, or give more text"
        )


def remedy(dropped: Mapping[str, int]) -> str:
    """What to do where no training pair is left, by the reasons why they were left out."""
    steps = []
    if dropped.get("blank"):
        steps.append("give text with words on both sides of a pair")
    if dropped.get("too_long"):
        steps.append("raise data.max_train_length")
    return " or ".join(steps)


def _sides(values: dict[str, float], form: str) -> str:
    return " / ".join(form.format(values[side]) for side in ("source", "target"))
