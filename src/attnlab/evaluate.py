"""`attnlab evaluate RUN [OVERRIDES]`: decode and score again, beside the record and without touching it."""

from __future__ import annotations

import argparse
import copy
import hashlib
import itertools
import logging
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnlab import check, provenance, results
from attnlab.ending import told
from attnlab.errors import UserError

GROUPS = ("data", "search", "metrics")
"""What can be changed: the model is what it is."""
LONGEST = 120
"""Characters of a name made from overrides; file systems stop at 255 bytes."""
BOUND = ("lowercase", "source_eos")
"""Options of `data` that the model was trained with: its tokenisers and its encoder know nothing else."""
LIMITS = ("batch_tokens", "batch_sentences")
"""Options of `data` that say how large a batch is."""
LOADING = (*LIMITS, "workers", "cache_dir")
"""Options of `data` that say nothing about the text: another source of text is loaded as the run's was."""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = argparse.ArgumentParser(
        prog="attnlab evaluate",
        description="Decode and score test sets again from the best checkpoint of a finished run. Writes "
        "RUN/evaluations/NAME.json and NAME/<set>/; result.json stays as it is.",
        epilog="example: attnlab evaluate outputs/runs/CELL/seed1 data.test=[test_2017] search.beam_size=1",
    )
    made.add_argument("run", type=Path, help="run folder, .../seed<k>")
    made.add_argument(
        "overrides",
        nargs="*",
        help=f"options of {', '.join(GROUPS)}, as for train: KEY=VALUE or GROUP=OPTION",
    )
    made.add_argument("--name", help="of the evaluation (default: made from the overrides)")
    made.add_argument("--device", help="such as cpu or cuda:1 (default: a GPU where there is one)")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """The verb; returns the exit status."""
    return told(lambda: _evaluate(sys.argv[1:] if arguments is None else list(arguments)))


def _evaluate(given: list[str]) -> int:
    options = parser().parse_intermixed_args(given)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    record, place = _placed(
        options.run,
        options.overrides,
        name=options.name,
        device=options.device,
        command=shlex.join(["attnlab", "evaluate", *given]),
    )
    for name, test in record["test"].items():
        scores = [f"BLEU {test['bleu']['score']:.2f} ({test['bleu']['signature']})"]
        scores += [f"{k} {test[k]['score']:.2f}" for k in ("chrf", "ter") if test.get(k)]
        print(f"{name}: {', '.join(scores)}, {test['n']} sentences")
    print(f"record: {place.parent / f'{place.name}.json'}")
    print(f"hypotheses: {', '.join(str(place / each / 'hyp.txt') for each in record['test'])}")
    return 0


def evaluate(
    folder: Path | str,
    overrides: Sequence[str] = (),
    *,
    name: str | None = None,
    device: str | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Evaluates a finished run with other data, search or metrics; returns the evaluation's record.

    Args:
        folder: the run folder.
        overrides: as on the command line, such as `["data.test=[test_2017]", "search.beam_size=1"]`.
        name: of the evaluation, a new one; by default made from the overrides, and numbered where there is
            one of that name.
        device: where to decode; by default the first GPU, or the CPU.
        command: for the record.

    Raises:
        UserError: no finished run, an override of something else, an evaluation of that name, or unreadable
            data.
    """
    return _placed(Path(folder), overrides, name=name, device=device, command=command)[0]


def _placed(
    folder: Path, overrides: Sequence[str], *, name: str | None, device: str | None, command: str | None
) -> tuple[dict[str, Any], Path]:
    """`evaluate`, and where it was written: the folder, whose name with `.json` is the record."""
    if not (folder / results.FILES[results.DONE]).is_file():
        raise UserError(
            f"{folder}: no finished run is here (result.json is missing); train it to its end first"
        )
    if name is not None:
        # `..` would be the run's own folder
        if not re.fullmatch(r"[\w+-][\w.+-]*", name) or len(name.encode()) > 2 * LONGEST:
            raise UserError(
                f"--name {name}: use letters, digits, '.', '_', '+' and '-', no '.' in front, "
                f"{LONGEST} characters at most"
            )
        if _taken(folder, name):
            raise _there(folder, name)
    from attnlab import build
    from attnlab.loading import load

    run = load(folder, device)
    chosen, config = _settings(run.config, overrides)
    wrong = [fault for group in GROUPS for fault in _faults(config, chosen, group)]
    if wrong:
        raise UserError("; ".join(wrong))
    search, scorer = build.build_search(config), build.build_metrics(config)
    data = build.build_data(config, tokenizers=folder / "tokenizer")
    if not data.corpus.test:
        raise UserError("data.test=[]: there is nothing to evaluate; name a test set")
    data.prepare_data()
    data.setup("test")
    name = _claimed(folder, name, title(overrides))
    try:
        record = _scored(folder, name, run, config, data, search, scorer, list(overrides), command)
        results.write_evaluation(record, folder, name)
    except BaseException:  # half an evaluation would keep its name from the next one
        shutil.rmtree(folder / results.EVALUATIONS / name, ignore_errors=True)
        raise
    return record, folder / results.EVALUATIONS / name


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
    overrides: list[str],
    command: str | None,
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
        )
        assert scored is not None  # there is one process
        test[each] = scored.result
    original = results.read(folder / results.FILES[results.DONE])
    return results.build_evaluation(
        cell_id=original["cell_id"],
        seed=original["seed"],
        overrides=overrides,
        command=command,
        checkpoint={"file": "checkpoints/best.ckpt", "step": run.step},
        config={group: config[group] for group in GROUPS},
        machine=provenance.machine(provenance.device_name(run.device)),
        data=data.describe(),
        test=test,
    )


def _faults(config: dict[str, Any], chosen: dict[str, Any], group: str) -> list[str]:
    """Impossible sizes and types of a group, judged by the run's own values or the chosen option's."""
    # One of the two limits may be null, whatever the run had: the corpus says which.
    known = {key: value for key, value in chosen[group].items() if not (group == "data" and key in LIMITS)}
    return check.value_faults({group: config[group]}, {group: known})


def title(overrides: Sequence[str]) -> str:
    """A folder's name from overrides; `again` without any."""
    words = [re.sub(r"[^\w.+-]+", "_", item.lower()).strip("_.") for item in overrides]
    name = "-".join(words) or "again"
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{hashlib.sha256(' '.join(overrides).encode()).hexdigest()[:8]}"
    return name


def changed(config: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of the settings with the overrides put in: whole groups first, then single options.

    A `data` option that is named keeps the run's `BOUND` and `LOADING`.

    Raises:
        UserError: bad grammar, or a key that is no option of `GROUPS`.
    """
    return _settings(config, overrides)[1]


def _settings(config: dict[str, Any], overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings with the whole groups put in, and these with the single options too."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import OverrideParseException

    try:
        parsed = OverridesParser.create().parse_overrides(overrides=list(overrides))
    except OverrideParseException as error:
        raise UserError(
            f"{error.override}: no override; write KEY=VALUE, such as search.beam_size=1"
        ) from error
    for one in parsed:
        if one.is_sweep_override() or one.is_delete():
            raise UserError(f"{one.input_line}: an evaluation has one value an option; write KEY=VALUE")
    config = copy.deepcopy(config)
    groups = {p.key_or_group: str(p.value()) for p in parsed if "." not in p.key_or_group}
    _known(groups)
    if groups:
        fresh = _composed([f"{group}={option}" for group, option in groups.items()])
        own = config["data"]
        config.update({group: fresh[group] for group in groups})
        config["data"].update({option: own[option] for option in BOUND if option in own})
        kept = [option for option in LOADING if option in own and option in config["data"]]
        config["data"].update({option: own[option] for option in kept})
    chosen = copy.deepcopy(config)
    for item in parsed:
        if "." not in item.key_or_group:
            continue
        *above, last = item.key_or_group.split(".")
        _known([above[0]])
        node: Any = config
        for key in above:
            node = node.get(key) if isinstance(node, dict) else None
        if not isinstance(node, dict) or last not in node:
            there = (
                ", ".join(sorted(k for k in node if not k.startswith("_")))
                if isinstance(node, dict)
                else "nothing"
            )
            raise UserError(f"{item.key_or_group}: no such option; {'.'.join(above)} has {there}")
        if item.key_or_group in {f"data.{option}" for option in BOUND} and item.value() != node[last]:
            raise UserError(
                f"{item.key_or_group}={item.value()}: the run was trained with {node[last]}; an evaluation "
                "cannot change it"
            )
        node[last] = item.value()
    return chosen, config


def _known(groups: Any) -> None:
    for group in groups:
        if group not in GROUPS:
            raise UserError(
                f"{group}: an evaluation can change {', '.join(GROUPS)}; the rest is the run's own"
            )


def _composed(overrides: list[str]) -> dict[str, Any]:
    """The named options as the configuration has them."""
    import hydra
    from hydra.errors import HydraException

    from attnlab.sweep import compose, identity

    with compose.composing() as loader:
        try:
            config = identity.plain(hydra.compose("config", overrides=overrides))
        except HydraException as error:
            raise UserError(compose.reason(error, loader, "config", overrides)) from error
    return {group: config[group] for group in (o.split("=")[0] for o in overrides)}


if __name__ == "__main__":
    sys.exit(main())
