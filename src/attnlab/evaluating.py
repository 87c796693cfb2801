"""An evaluation of a finished run: its name, what is decoded and scored, and its record beside the run's."""

from __future__ import annotations

import hashlib
import itertools
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnlab import provenance, results
from attnlab.altered import GROUPS, WEIGHTS, Variant, faults, settings, variants
from attnlab.errors import UserError

LONGEST = 120
"""Characters of a name made from overrides; file systems stop at 255 bytes."""


def evaluate(
    folder: Path | str,
    overrides: Sequence[str] = (),
    *,
    name: str | None = None,
    device: str | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Evaluates a finished run with other data, search, metrics or weights; returns the evaluation's record.

    Args:
        folder: the run folder.
        overrides: as on the command line, such as `["data.test=[test_2017]", "search.beam_size=1"]`, with one
            `attention.override` at most.
        name: of the evaluation, a new one; by default made from the overrides, and numbered where there is
            one of that name.
        device: where to decode; by default the first GPU, or the CPU.
        command: for the record.

    Raises:
        UserError: no finished run, an override of something else, an evaluation of that name, or unreadable
            data.
    """
    if len(variants(overrides)) > 1:
        raise UserError(f"{WEIGHTS}: `evaluate` gives one record; ask for one at a time")
    ((record, _),) = placed(Path(folder), overrides, name=name, device=device, command=command)
    return record


def placed(
    folder: Path,
    overrides: Sequence[str],
    *,
    name: str | None,
    device: str | None,
    command: str | None,
    progress: bool = False,
) -> Iterator[tuple[dict[str, Any], Path]]:
    """`evaluate` for each of `variants(overrides)`, the model loaded once.

    Gives the record and where it was written: the folder, whose name with `.json` is the record.
    """
    if not (folder / results.FILES[results.DONE]).is_file():
        raise UserError(
            f"{folder}: no finished run is here (result.json is missing); train it to its end first"
        )
    wanted = variants(overrides)
    names = [name if len(wanted) == 1 or name is None else f"{name}-{one.tampered}" for one in wanted]
    for each in names:
        _check_name(folder, each)
    from attnlab import build
    from attnlab.loading import load

    run = load(folder, device)
    chosen, config = settings(run.config, wanted[0].settings)
    wrong = [fault for group in GROUPS for fault in faults(config, chosen, group)]
    if wrong:
        raise UserError("; ".join(wrong))
    attention = run.model.decoder.attention
    if wanted[0].tampered is not None and attention is None:
        raise UserError(f"{folder}: this model has no attention to tamper with; leave {WEIGHTS} out")
    search, scorer = build.build_search(config), build.build_metrics(config)
    data = build.build_data(config, tokenizers=folder / "tokenizer")
    if not data.corpus.test:
        raise UserError("data.test=[]: there is nothing to evaluate; name a test set")
    data.prepare_data()
    data.setup("test")
    for one, given in zip(wanted, names, strict=True):
        claimed = _claimed(folder, given, title(one.overrides))
        try:
            with _tampered(attention, one.tampered):
                record = _scored(folder, claimed, run, config, data, search, scorer, one, command, progress)
            results.write_evaluation(record, folder, claimed)
        except BaseException:  # half an evaluation would keep its name from the next one
            shutil.rmtree(folder / results.EVALUATIONS / claimed, ignore_errors=True)
            raise
        yield record, folder / results.EVALUATIONS / claimed


@contextmanager
def _tampered(attention: Any, option: str | None) -> Iterator[None]:
    """The weights of a model are overridden meanwhile."""
    if option is None:
        yield
        return
    from attnlab.attention import OVERRIDES

    attention.override = OVERRIDES[option]
    try:
        yield
    finally:
        attention.override = None


def _check_name(folder: Path, name: str | None) -> None:
    if name is None:
        return
    # `..` would be the run's own folder
    if not re.fullmatch(r"[\w+-][\w.+-]*", name) or len(name.encode()) > 2 * LONGEST:
        raise UserError(
            f"--name {name}: use letters, digits, '.', '_', '+' and '-', no '.' in front, "
            f"{LONGEST} characters at most"
        )
    if _taken(folder, name):
        raise _there(folder, name)


def _taken(folder: Path, name: str) -> bool:
    place = folder / results.EVALUATIONS
    return (place / f"{name}.json").exists() or (place / name).exists()


def _there(folder: Path, name: str) -> UserError:
    place = folder / results.EVALUATIONS / name
    return UserError(
        f"{place}: there is an evaluation of this name; choose another --name, or remove it first"
    )


def _claimed(folder: Path, name: str | None, stem: str) -> str:
    """A new name, its folder made so that no other process takes it: the given one, or a free one."""
    for number in itertools.count(1):
        tried = name or (stem if number == 1 else f"{stem}-{number}")
        if not _taken(folder, tried):
            try:
                (folder / results.EVALUATIONS / tried).mkdir(parents=True)
            except FileExistsError:
                pass
            except OSError as error:
                raise UserError(
                    f"{folder}: the evaluation can't be written ({error.strerror}); make the run writable"
                ) from error
            else:
                return tried
        if name is not None:
            raise _there(folder, name)
    raise AssertionError


def _scored(
    folder: Path,
    name: str,
    run: Any,
    config: dict[str, Any],
    data: Any,
    search: Any,
    scorer: Any,
    variant: Variant,
    command: str | None,
    progress: bool,
) -> dict[str, Any]:
    """Decodes and scores the test sets into `evaluations/<name>/`; returns the record."""
    from attnlab.evaluation import evaluate_set

    test: dict[str, Any] = {}
    for each in data.corpus.test:
        scored = evaluate_set(
            each,
            folder / results.EVALUATIONS / name / each,
            model=run.model,
            data=data,
            search=search,
            search_settings=config["search"],
            scorer=scorer,
            device=run.device,
            matrices=config["callbacks"].get("attention_matrices"),
            progress=progress,
            label=each if variant.tampered is None else f"{each}, {WEIGHTS}={variant.tampered}",
        )
        assert scored is not None  # there is one process
        test[each] = scored.result
    original = results.read(folder / results.FILES[results.DONE])
    return results.build_evaluation(
        cell_id=original["cell_id"],
        seed=original["seed"],
        overrides=variant.overrides,
        command=command,
        **({} if variant.tampered is None else {"attention_override": variant.tampered}),
        checkpoint={"file": "checkpoints/best.ckpt", "step": run.step},
        config={group: config[group] for group in GROUPS},
        machine=provenance.machine(provenance.device_name(run.device)),
        data=data.describe(),
        test=test,
    )


def title(overrides: Sequence[str]) -> str:
    """A folder's name from overrides; `again` without any."""
    words = [re.sub(r"[^\w.+-]+", "_", item.lower()).strip("_.") for item in overrides]
    name = "-".join(words) or "again"
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{hashlib.sha256(' '.join(overrides).encode()).hexdigest()[:8]}"
    return name
