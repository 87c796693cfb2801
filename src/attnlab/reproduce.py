"""`attnlab reproduce RECORD`: run a record's cell again, and say whether the numbers agree."""

import argparse
import logging
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from attnlab import agreement, provenance, results
from attnlab.ending import Console, Parser, told
from attnlab.errors import UserError
from attnlab.sweep import compose, identity, state

_FOLDER = "ATTNLAB_REPRODUCED"  # the folder, for further ranks, which run this command again


def settings(record: Mapping[str, Any], overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The settings that run a record's cell again.

    Without loggers beside `metrics.jsonl`, and with the record's number of threads. Options that are newer
    than the record and change no cell are as they are now.

    Args:
        record: of a finished run.
        overrides: `key=value` each, of what is no part of a cell.

    Raises:
        UserError: an override names nothing, or makes another cell.
    """
    with compose.composing():
        now = identity.plain(hydra.compose("config"))
    if not isinstance(record["config"], Mapping):
        raise UserError("the record's field 'config' must be an object with its settings")
    config: Any = OmegaConf.create({**record["config"], "logger": {}, "rerun": False})
    for path in sorted(identity.IGNORED):
        new = OmegaConf.select(OmegaConf.create(now), path)
        if new is not None and OmegaConf.select(config, path, default="absent") == "absent":
            OmegaConf.update(config, path, new)
    threads = (record.get("machine") or {}).get("threads")
    if OmegaConf.select(config, "trainer.threads") is None and threads:
        OmegaConf.update(config, "trainer.threads", threads)
    for item in overrides:
        key, equals, _ = item.partition("=")
        if not equals or OmegaConf.select(config, key, default="absent") == "absent":
            raise UserError(
                f"{item}: the record has no such setting; write key=value, such as trainer.threads=1"
            )
        try:
            OmegaConf.update(config, key, OmegaConf.select(OmegaConf.from_dotlist([item]), key))
        except OmegaConfBaseException as error:
            raise UserError(f"{item}: {' '.join(str(error).split())}") from error
    values: Any = OmegaConf.to_container(config, resolve=True)
    before = dict(record["config"])
    if identity.digest(values) != identity.digest(before) or _seeds(values) != _seeds(before):
        raise UserError(
            f"{' '.join(overrides)}: makes another cell than the record's; only what says where or how fast a"
            " run is may differ, such as trainer.accelerator, trainer.threads, data.dir, data.cache_dir"
        )
    return {**values, "study": "reproduced", "cell": dict(record["cell"]), "overrides": list(overrides)}


def _seeds(values: Mapping[str, Any]) -> list[Any]:
    return [values.get(name) for name in ("seed", "seed_init", "seed_order")]


def data_differs(record: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """The splits whose text is another one now.

    Raises:
        UserError: the text cannot be read.
    """
    from attnlab.build import build_corpus

    corpus = build_corpus(config)
    before = record["data"]["fingerprints"]
    return [name for name in corpus.splits if before.get(name) != corpus.fingerprint(name)]


def reproduce(
    path: Path, out: Path | None = None, overrides: Sequence[str] = (), tolerance: float | None = None
) -> bool:
    """Runs the cell of a record again, prints what agrees and what differs, and tells whether all agrees.

    Args:
        path: a `result.json`, or a run folder.
        out: the new run folder; by default a new one under `outputs/reproduced`.
        overrides: as for `settings`.
        tolerance: how far numbers may lie apart, as a share of the larger; by default 0 where the numbers
            must be equal, and `agreement.TOLERANCE` elsewhere.

    Raises:
        UserError: no finished run, other data, a setting that cannot be trained here.
    """
    record = results.read(path)
    if record["status"] != results.DONE:
        raise UserError(f"{path} is of a run that failed: there are no numbers to reproduce")
    config = settings(record, overrides)
    config["command"] = shlex.join(["attnlab", "reproduce", str(path), *overrides])
    first = state.rank() == 0
    if not first:
        _run(config, Path(os.environ[_FOLDER]))
        return True
    _rehearse(path, config)
    changed = data_differs(record, config)
    if changed:
        raise UserError(
            f"{path}: the data is not that of the record ({', '.join(changed)}): nothing was trained; get the"
            f" text that it names ({record['data']['source']}, {record['data']['revision'] or 'no revision'})"
        )
    around = agreement.surroundings(record, _machine(config))
    for line in around.lines:
        print(line)
    allowed = tolerance if tolerance is not None else 0.0 if around.same else agreement.TOLERANCE
    print(f"tolerance: {allowed:g}" + (", the numbers must be equal" if allowed == 0 else ""), flush=True)
    folder = out or _fresh(Path("outputs") / "reproduced" / record["cell_id"] / identity.seed_name(config))
    state.refuse_finished(folder)
    os.environ[_FOLDER] = str(folder.resolve())
    print(f"trains in {folder}", flush=True)
    new = _run(config, folder)
    source = path if path.is_dir() else path.parent
    compared = agreement.compare(record, new, allowed, source / "test", folder / "test")
    for line in compared.lines:
        print(line)
    print("reproduced" if compared.agrees else "NOT reproduced")
    return compared.agrees


def _rehearse(path: Path, config: Mapping[str, Any]) -> None:
    """Refuses a cell that cannot be made here, before anything is left behind."""
    from attnlab.build import rehearse

    try:
        rehearse(config)
    except UserError:
        raise
    except Exception as error:  # a part of the user's own that is not here, or no longer what it was
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"{path}: its cell cannot be made here ({reason})") from error


def _machine(config: Mapping[str, Any]) -> dict[str, Any]:
    """This machine as the new record will have it."""
    import torch

    trainer = config["trainer"]
    on_cpu = trainer.get("accelerator") == "cpu" or not torch.cuda.is_available()
    devices = trainer.get("devices")
    count = devices * trainer.get("num_nodes", 1) if isinstance(devices, int) and devices > 0 else None
    return provenance.machine("cpu" if on_cpu else None, count, trainer.get("threads"))


def _run(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    from attnlab.run import run_cell

    with state.locked(folder):
        return run_cell(config, folder)


def _fresh(folder: Path) -> Path:
    """The folder, or `<name>-2` and so on where there is one; made, so that nobody else takes it."""
    number, path = 1, folder
    while True:
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            number += 1
            path = folder.with_name(f"{folder.name}-{number}")
        except OSError as error:
            raise UserError(f"{path}: cannot be written to ({error.strerror}); give --out DIR") from error


def main() -> int:
    """The command."""
    return told(_main)


def _main() -> int:
    parser = Parser(
        prog="attnlab reproduce",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Run a record's cell again, and say whether the numbers agree: exit status 0,\n"
        "else 1. Reads the record and the data that it names, and refuses other data\n"
        "before anything is trained; writes a run folder of its own.",
        epilog="examples:\n"
        "  attnlab reproduce outputs/runs/CELL/seed1\n"
        "  attnlab reproduce records/CELL/seed1/result.json trainer.accelerator=cpu data.dir=corpora/de-en",
    )
    parser.add_argument("record", type=Path, help="result.json, or the run folder")
    parser.add_argument("overrides", nargs="*", help="key=value of what is no part of the cell")
    parser.add_argument("--out", type=Path, help="the new run folder (default: under outputs/reproduced)")
    parser.add_argument(
        "--tolerance",
        type=float,
        help="share of the larger number by which two may differ (default: 0 on the same CPU with the same "
        f"versions and code, else {agreement.TOLERANCE:g})",
    )
    given = parser.parse_intermixed_args()
    logging.basicConfig(format="%(message)s", level=logging.WARNING, handlers=[Console(sys.stdout)])
    return 0 if reproduce(given.record, given.out, given.overrides, given.tolerance) else 1


if __name__ == "__main__":
    sys.exit(main())
