"""Which toolkits are at hand."""

from __future__ import annotations

from pathlib import Path

from peers.base import Peer
from peers.eole import Eole
from peers.fairseq import Fairseq
from peers.joeynmt import JoeyNMT
from peers.opennmt import OpenNMT

KINDS: tuple[type[Peer], ...] = (OpenNMT, Eole, JoeyNMT, Fairseq)


def named(word: str) -> Peer:
    """The peer of `NAME=ENVIRONMENT`; NAME begins with the peer's kind, such as `opennmt` or `eole-0.6`.

    Raises:
        ValueError: no such kind, or no interpreter there.
    """
    name, _, folder = word.partition("=")
    environment = Path(folder).expanduser()
    for kind in KINDS:
        if name.lower().startswith(kind.kind):
            if not folder or not (environment / "bin" / "python").exists():
                raise ValueError(f"{word}: no bin/python there; give NAME=ENVIRONMENT")
            return kind(environment, None if name.lower() == kind.kind else name)
    raise ValueError(f"{word}: NAME must begin with one of {', '.join(kind.kind for kind in KINDS)}")


def find(folder: Path | None) -> list[Peer]:
    """The peers whose environments lie in `folder` under the names of their kinds, and are installed."""
    if folder is None:
        return []
    found = [kind(folder / kind.kind) for kind in KINDS if (folder / kind.kind / "bin" / "python").exists()]
    return [peer for peer in found if peer.version() != "unknown"]
