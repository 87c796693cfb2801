"""Records as a run would write them, made in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnlab import results, segments

from . import recorded


@pytest.fixture(name="make")
def _make():
    return recorded.make


@pytest.fixture
def save(tmp_path):
    """Writes records below a folder, one run folder each, and gives that folder back."""

    def _save(*records, under="runs") -> Path:
        top = tmp_path / under
        for number, record in enumerate(records):
            results.write(record, top / record["cell_id"] / str(number) / f"seed{record['seed']}")
        return top

    return _save


@pytest.fixture
def measured(tmp_path):
    """Writes records with the statistics of their sentences below a folder, and gives that folder back."""

    def _measured(*runs, under="runs") -> Path:
        top = tmp_path / under
        for record, statistics in runs:
            folder = top / record["cell_id"] / f"seed{record['seed']}"
            results.write(record, folder)
            (name,) = record["test"]
            segments.write(folder / "test" / name, statistics)
        return top

    return _measured


@pytest.fixture
def grid(make):
    records = [
        make(scorer=scorer, decoder=decoder, seed=seed, bleu=bleu + seed)
        for bleu, scorer in enumerate(("dot", "general", "additive"), 30)
        for decoder in ("input_feeding", "post_combine")
        for seed in (1, 2)
    ]
    return [
        *records,
        make(scorer=None, window=None, decoder="fixed_vector", scores=(30.0, 25.0, 20.0, 12.0, 5.0)),
    ]
