"""The answers of the checklist, a list of lines each, from what the records say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attnlab.report.evidence import Evidence
from attnlab.report.inventory import (
    UNKNOWN,
    Inventory,
    counted,
    differing_versions,
    get,
    hours,
    plural,
    span,
)
from attnlab.results import Record

PACKAGES = (
    "python", "attnlab", "torch", "pytorch-lightning", "hydra-core", "datasets", "tokenizers", "sacrebleu",
    "numpy", "scipy", "statsmodels",
)  # fmt: skip
_SETTINGS = (
    ("tokeniser", ("tokenizer", "_target_")),
    ("tokeniser size asked for", ("tokenizer", "size")),
    ("joint vocabulary", ("tokenizer", "joint")),
    ("optimiser", ("optim", "optimizer", "_target_")),
    ("learning rate", ("optim", "lr")),
    ("schedule", ("optim", "schedule", "_target_")),
    ("label smoothing", ("optim", "label_smoothing")),
    ("dropout of the model", ("model", "dropout")),
    ("gradient clipping", ("trainer", "gradient_clip_val")),
    ("precision", ("trainer", "precision")),
    ("tokens of a batch", ("data", "batch_tokens")),
    ("sentences of a batch", ("data", "batch_sentences")),
    ("epochs at most", ("trainer", "max_epochs")),
    ("updates at most", ("trainer", "max_steps")),
    ("beam", ("search", "beam_size")),
    ("length penalty", ("search", "length_penalty")),
)
_AUTHORS = "the paper must say it"


def left(remark: str) -> str:
    """What only the authors know."""
    return f"{UNKNOWN}; {_AUTHORS}; {remark}"


def _or(text: str, remedy: str) -> str:
    """The answer, with the remedy where a part of it is not recorded."""
    return f"{text}; {remedy}" if UNKNOWN in text else text


def _listed(values: Mapping[str, str], remedy: str) -> list[str]:
    """One line each, and one for all that are not recorded."""
    lines = [f"{name}: {value}" for name, value in values.items() if value != UNKNOWN]
    unknown = [name for name, value in values.items() if value == UNKNOWN]
    return [*lines, f"{', '.join(unknown)}: {UNKNOWN}; {remedy}"] if unknown else lines


def creators(known: Inventory) -> list[str]:
    """B1: sources of the data with their versions."""
    lines = [_or(f"data: {known.told('data', 'source')}", "data.dir or another data option records it")]
    lines.append(
        _or(f"revision: {known.told('data', 'revision')}", "data.revision records it, where a set has one")
    )
    lines.append("program: attnlab; metrics by sacrebleu (Post 2018); versions under C4")
    return [*lines, f"whose data that is: {UNKNOWN}; cite those who published it"]


def licences(known: Inventory) -> list[str]:
    """B2: the recorded licence of each source."""
    pairs = {
        (_named(get(record, "data", "source")), get(record, "data", "licence")) for record in known.records
    }
    lines = [
        _or(f"{source}: {licence or UNKNOWN}", "data.licence=... records it")
        for source, licence in sorted(pairs, key=str)
    ]
    return [*lines, f"licences of the packages: {UNKNOWN}; pip-licenses lists them"]


def domains(known: Inventory) -> list[str]:
    """B5: languages."""

    def pair(languages: Any) -> str:
        both = languages.values() if isinstance(languages, dict) else [languages]
        return " to ".join(map(str, both))

    return [
        _or(
            f"languages: {known.told('data', 'languages', form=pair)}",
            "data.source and data.target record them",
        ),
        f"domain, and who wrote it: {UNKNOWN}; {_AUTHORS}",
    ]


def splits(known: Inventory) -> list[str]:
    """B6: pairs, words, tokens, unknown pieces, what was left out, overlap with training, fingerprints."""
    lines: dict[str, None] = {}
    for record in known.records:
        data = record.get("data") or {}
        for name, split in sorted((data.get("splits") or {}).items()):
            pairs = split.get("pairs")
            number = f"pairs {UNKNOWN}" if pairs is None else plural(int(pairs), "pair")
            parts = [f"{_named(data.get('source'))}, {name}: {number}"]
            for kind, form in (("words", ","), ("tokens", ","), ("unknown", ".2%")):
                if sides := split.get(kind):
                    parts.append(f"{kind} {_side(sides, 'source', form)} / {_side(sides, 'target', form)}")
            if dropped := {why: n for why, n in (split.get("dropped") or {}).items() if n}:
                parts.append("left out " + ", ".join(f"{n:,} {why}" for why, n in sorted(dropped.items())))
            if shared := (data.get("overlap") or {}).get(name):
                parts.append(f"also in training {shared.get('pairs')} pairs, {shared.get('sources')} sources")
            if mark := (data.get("fingerprints") or {}).get(name):
                parts.append(f"fingerprint {mark}")
            lines["; ".join(parts)] = None
    return sorted(lines) or [f"{UNKNOWN}; a run of this version records data.splits"]


def _side(sides: Mapping[str, Any], name: str, form: str) -> str:
    value = sides.get(name)
    return "-" if value is None else format(value, form)


def compute(known: Inventory) -> list[str]:
    """C1: parameters, device hours, failed runs, machines, memory."""
    whole = "{:,.0f}".format
    total = span(known.values("parameters", "total"), whole)
    attention = span(known.values("parameters", "attention"), whole)
    cost = f"finished runs: {len(known.records)}, device hours {hours(known.values('train', 'device_s'))}"
    wall = span(known.values("train", "wall_s"), lambda seconds: f"{seconds / 60:.1f} min")
    memory = span(known.values("train", "peak_memory"), lambda size: f"{size / 2**30:.2f} GiB")
    remedy = "a finished run records parameters, train and machine"
    lines = [_or(f"parameters: {total}; of them attention: {attention}", remedy)]
    lines.append(_or(f"{cost}; wall time of one: {wall}", remedy))
    if known.failed:
        lost = hours([get(record, "train", "wall_s") for record in known.failed])
        lines.append(f"runs that failed or were stopped: {len(known.failed)}, wall time {lost}")
    ended = sum(known.lost.get(name, 0) for name in ("failed", "interrupted"))
    if ended and not known.failed:
        lines.append(
            f"runs that failed or were stopped: {ended}; their time: {UNKNOWN} here; failed.json has it"
        )
    lines.append(f"trials before these runs: {UNKNOWN}; a record is counted only if it is among the folders")
    parts = ("device", "count", "cpu", "cores", "memory", "system")
    lines.append(_or(f"machines: {counted(_machine(record, parts) for record in known.records)}", remedy))
    return [
        *lines,
        _or(f"peak memory: {memory}", remedy),
        f"energy: {UNKNOWN}; a meter such as codecarbon would tell",
    ]


def _machine(record: Record, parts: Sequence[str]) -> str | None:
    found = {name: get(record, "machine", name) for name in parts}
    if all(value is None for value in found.values()):
        return None
    device = f"{found['count'] or 1} x {found['device']}" if found["device"] else UNKNOWN
    cores = f" ({found['cores']} cores)" if found["cores"] else ""
    memory = f", {found['memory'] / 2**30:.1f} GiB" if found["memory"] else ""
    return f"{device}; {found['cpu'] or UNKNOWN}{cores}{memory}; {found['system'] or UNKNOWN}"


def setting(known: Inventory) -> list[str]:
    """C2: the settings that a table of them has, and how the checkpoint was chosen."""
    lines = _listed(
        {title: known.told("config", *path, null="none") for title, path in _SETTINGS},
        "a run records its whole configuration",
    )
    monitor = known.told("config", "callbacks", "monitor")
    patience = known.told("config", "callbacks", "patience", form="{} validations".format, null="none")
    best = span(known.values("train", "best_step"), "{:,.0f}".format)
    remedy = "a finished run records them"
    lines.append(_or(f"checkpoint: the best by {monitor}; patience: {patience}", remedy))
    lines.append(_or(f"updates until the checkpoint: {best}", remedy))
    lines.append("every setting of every run: field `config` of its result.json, and the page's rows")
    lines.append(f"how the values were chosen, and what else was tried: {UNKNOWN}; {_AUTHORS}")
    return lines


def statistics(known: Inventory, evidences: Sequence[Evidence]) -> list[str]:
    """C3: seeds, lost seeds, intervals and tests as they were made."""
    seeds = span([float(number) for number in known.seeds], "{:.0f}".format)
    lines = [f"seeds of a cell: {seeds}; cells of several: mean and sample standard deviation (n - 1)"]
    if any(number < 2 for number in known.seeds):
        lines.append(f"spread over seeds of cells with one seed: {UNKNOWN}; more seeds (seed=1,2,3) tell")
    lost = ", ".join(f"{number} {name}" for name, number in sorted(known.lost.items()) if number)
    lines.append(f"seeds without a score: {lost or 'none'}")
    notes = [evidence.note_on_tests for evidence in evidences if evidence.note_on_tests]
    lines += dict.fromkeys(notes)
    made = [evidence for evidence in evidences if any(e.low is not None for e in evidence.bleu.rows.values())]
    lines += dict.fromkeys(
        f"intervals: {100 * one.level:g} %, bootstrap over sentences, and over seeds where a cell has "
        f"several; {one.samples:,} draws from seed {one.seed}"
        for one in made
    )
    if not made:
        lines.append(f"intervals: {UNKNOWN}; attnlab evaluate RUN writes the statistics that they need")
    if not notes:
        lines.append(f"tests: {UNKNOWN}; they need two rows whose runs have sentence statistics")
    return lines


def packages(known: Inventory) -> list[str]:
    """C4: signatures of the metrics, versions, and where versions differ."""
    lines = []
    for metric in ("bleu", "chrf", "ter"):
        found = {
            get(test, metric, "signature")
            for record in known.records
            for test in (record.get("test") or {}).values()
        }
        told = ", ".join(sorted(str(one) for one in found if one)) or UNKNOWN
        lines.append(_or(f"{metric}: {told}", f"metrics.{metric} computes it"))
    lines += _listed(
        {name: known.told("versions", name) for name in PACKAGES}, "a run records every package installed"
    )
    differ = differing_versions(known.records)
    return [*lines, "versions that differ among the runs: " + ("; ".join(differ) or "none")]


def reproduction(known: Inventory) -> list[str]:
    """NeurIPS 4: commands, settings, seeds and commits that are recorded."""
    commands = sum(bool(record.get("command")) for record in known.records)
    configs = sum(bool(record.get("config")) for record in known.records)
    total = len(known.records)
    return [
        f"commands recorded: {commands} of {total} runs; complete settings: {configs} of {total}",
        f"seeds: {known.told('seed')}",
        "attnlab reproduce RUN trains a record's cell again and compares the two",
        *_code(known),
    ]


def opened(known: Inventory) -> list[str]:
    """NeurIPS 5: commits, and where the data comes from."""
    return [
        *_code(known),
        f"where the code is published: {UNKNOWN}; {_AUTHORS}",
        _or(f"data, with fingerprints under B6: {known.told('data', 'source')}", "data.dir=... records it"),
    ]


def _code(known: Inventory) -> list[str]:
    dirty = {True: "with uncommitted changes", False: "without uncommitted changes"}

    def state(record: Record) -> str | None:
        commit = get(record, "code", "commit")
        return commit and f"{commit} {dirty.get(get(record, 'code', 'dirty'), 'changes ' + UNKNOWN)}"

    return [
        _or(f"code: commit {counted(map(state, known.records))}", "run it from a git checkout to record it")
    ]


def _named(source: Any) -> str:
    return str(source) if source else f"data source {UNKNOWN}"
