"""What `attnlab align` says of the links it found, and the files it leaves."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnlab import metrics, results
from attnlab.align.linking import Linked
from attnlab.errors import UserError
from attnlab.loaded import Loaded
from attnlab.metrics.attention import means_of, rows_of, sharpness_by_length


def model(run: Loaded) -> dict[str, Any]:
    """Which run it was: folder, cell and seed as its record has them, checkpoint."""
    file = run.folder / results.FILES[results.DONE]
    finished = results.read(file) if file.is_file() else {}
    return {
        "run": str(run.folder),
        "cell_id": finished.get("cell_id"),
        "seed": run.config.get("seed"),
        "checkpoint": {"file": "checkpoints/best.ckpt", "step": run.step},
    }


def unknown(tokenizer: Any, lines: Sequence[str]) -> float:
    """The share of pieces that the model does not know."""
    rows = tokenizer.encode(list(lines))
    return sum(row.count(tokenizer.unk) for row in rows) / max(1, sum(map(len, rows)))


def comparable(run: Loaded, hypotheses: Sequence[str], references: Sequence[str]) -> list[bool]:
    """Whether the gold links of a reference are those of the hypothesis: it has the same words."""
    lower = run.config["data"].get("lowercase")
    return [
        hypothesis.split() == (reference.lower() if lower else reference).split()
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


def scores(found: Linked, gold: Sequence[metrics.Gold] | None, kept: Sequence[bool]) -> dict[str, Any]:
    """AER, precision and recall under both credits, over the sentences that are `kept`; null without gold.

    `counts` are |A|, |S|, |A & S|, |A & P|, summed.
    """
    if gold is None:
        return {"alignment": None}
    truth = list(itertools.compress(gold, kept))
    agreed: dict[str, Any] = {}
    for credit, links in found.links.items():
        chosen = list(itertools.compress(links, kept))
        sums = metrics.counts(chosen, truth).sum(0).tolist()
        agreed[credit] = {**metrics.agreement(chosen, truth), "counts": sums}
    return {"alignment": agreed}


def statistics(
    run: Loaded,
    lines: Sequence[str],
    found: Linked,
    gold: Sequence[metrics.Gold] | None,
    kept: Sequence[bool],
) -> dict[str, Any]:
    """Attention statistics of the chosen credit, over all sentences and by source length in words.

    The mass on gold links is over the sentences that are `kept`.
    """
    links = None
    if gold is not None:
        links = [g.possible if keep else frozenset() for g, keep in zip(gold, kept, strict=True)]
    rows = rows_of(found.matrices, links)
    lengths = [metrics.words(line) for line in lines]
    table = sharpness_by_length(rows, lengths, run.config["metrics"]["length_edges"], read=rows)
    return {**means_of(rows), "by_source_length": table}


def write(
    folder: Path, record: dict[str, Any], found: Linked, sources: Sequence[str], matrices: Path | None
) -> list[Path]:
    """Writes `align.txt`, `hyp.txt` where the run translated, `alignment.json`, and matrices if asked for.

    `matrices` gets a float32 tensor [target words, source words] for each sentence under its number in five
    digits, with a second run also `<number>.reverse` in the same orientation; its metadata has under the
    number the two lists of words as JSON, and `credit`.

    Returns:
        The paths.

    Raises:
        UserError: one of them cannot be written.
    """
    files = {"align.txt": [metrics.format_links(links) for links in found.links[record["credit"]]]}
    if record["by"] == "search":
        files["hyp.txt"] = found.targets
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in files.items():
            (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
        if matrices is not None:
            matrices.parent.mkdir(parents=True, exist_ok=True)
            _write_matrices(matrices, record["credit"], found, sources)
        results.write_json(record, folder / "alignment.json")
    except OSError as error:
        raise UserError(
            f"{error.filename or folder}: cannot be written ({error.strerror}); choose another place (--out)"
        ) from error
    written = [folder / name for name in (*files, "alignment.json")]
    return written if matrices is None else [*written, matrices]


def _write_matrices(path: Path, credit: str, found: Linked, sources: Sequence[str]) -> None:
    from safetensors.numpy import save

    tensors = {f"{n:05d}": np.ascontiguousarray(matrix) for n, matrix in enumerate(found.matrices)}
    tensors |= {f"{n:05d}.reverse": matrix for n, matrix in enumerate(found.backward)}
    words = {
        f"{n:05d}": json.dumps([source.split(), target.split()], ensure_ascii=False)
        for n, (source, target) in enumerate(zip(sources, found.targets, strict=True))
    }
    path.write_bytes(save(tensors, metadata={**words, "credit": credit}))
