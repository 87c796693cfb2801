"""`attnlab prepare ...`: beforehand what needs a network, or is shared by cells; nothing is trained.

Takes what `attnlab train` takes. The cells are those of the plan; of those that read the same text in the
same way one is enough.
"""

import json
import logging
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf.errors import OmegaConfBaseException

from attnlab.ending import told
from attnlab.errors import UserError
from attnlab.sweep import compose, identity, plan

_HELP = """attnlab prepare [GROUP=OPTION,...] [KEY=VALUE] [--config-dir DIR]: fetch and encode what cells read

Takes what `attnlab train`, `attnlab train -m` and `attnlab train study=NAME` take, and trains nothing. Reads
the text of the cells, fetched into the cache of `datasets` (HF_HOME) where it is not at hand; writes
tokenisers and encoded text to data.cache_dir. Cells that find them there need no network. A second time there
is nothing to do.

  attnlab prepare data=multi30k tokenizer=word,bpe
  attnlab prepare study=NAME
"""
_FLAGS = ("-m", "--multirun")


def prepare(configs: Iterable[Mapping[str, Any]]) -> list[Path]:
    """Prepares the data of each of these, in this process; says a line for each.

    Args:
        configs: plain, resolved settings.

    Returns:
        What is new in the caches: folders of tokenisers, encoded text and counts.

    Raises:
        UserError: text that cannot be read or fetched, a cache that cannot be written.
    """
    wanted = distinct(configs)
    made: list[Path] = []
    for number, config in enumerate(wanted, 1):
        from attnlab.build import build_data  # imports torch: not before there is something to prepare

        data = build_data(config)
        where = f"[{number}/{len(wanted)}] {data.corpus.origin}"
        print(f"{where}: {', '.join(data.corpus.splits)} ...", flush=True)
        began, before = time.monotonic(), _entries(data.corpus.cache)
        data.prepare_data()
        new = sorted(_entries(data.corpus.cache) - before)
        made += new
        facts = data.describe()
        sizes = " and ".join(str(one["size"]) for one in facts["tokenizers"].values())
        pairs = sum(split["pairs"] for split in facts["splits"].values())
        done = f"{len(new)} new in {data.corpus.cache}" if new else "nothing to do"
        print(f"{where}: {pairs} pairs, vocabularies of {sizes}; {done}, {time.monotonic() - began:.1f} s")
    return made


def distinct(configs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first of those that have the same settings of data and tokeniser."""
    found: dict[str, Mapping[str, Any]] = {}
    for config in configs:
        unused = identity.unused(config)
        parts = {name: config.get(name) for name in ("data", "tokenizer") if name not in unused}
        found.setdefault(json.dumps(parts, sort_keys=True, default=str), config)
    return list(found.values())


def _entries(cache: Path) -> set[Path]:
    """What has its final name in a cache; what is being made has a longer one."""
    return {path for path in cache.glob("*/*") if path.is_dir() and "." not in path.name}


def cells(loader: ConfigLoader, overrides: Sequence[str]) -> list[dict[str, Any]]:
    """The settings of every cell of a command line, finished ones among them.

    Raises:
        UserError: the command line cannot be composed, or a cell cannot be trained.
    """
    import datasets  # noqa: F401 - first with a network: the plan looks at text without one

    try:
        master = loader.load_configuration("config", list(overrides), RunMode.MULTIRUN)
        asked = list(master.hydra.overrides.task)
        planned = plan.of_sweep(loader, master, asked, here=False)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise UserError(compose.reason(error, loader, "config", list(overrides))) from error
    if planned.faults:
        raise UserError("; ".join(planned.faults))
    return [cell.values for cell in planned.cells if cell.values]


def main() -> int:
    """The command."""
    return told(_main)


def _main() -> int:
    arguments = [item for item in sys.argv[1:] if item not in _FLAGS]
    if {"-h", "--help"} & set(arguments):
        print(_HELP, end="")
        return 0
    overrides: list[str] = []
    while arguments:
        item = arguments.pop(0)
        flag, _, place = item.partition("=")
        if flag in ("--config-dir", "-cd"):
            place = place or (arguments.pop(0) if arguments else "")
            overrides.append(f"hydra.searchpath=['file://{Path(place).resolve()}']")
        elif item.startswith("-"):
            raise UserError(f"prepare has no {item}, but --config-dir DIR and what it trains (--help)")
        else:
            overrides.append(item)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    with compose.composing() as loader:
        wanted = cells(loader, overrides)
    prepare(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
