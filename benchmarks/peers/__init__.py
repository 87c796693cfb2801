"""The published toolkits beside ours: each trains and searches with one configuration on the same text.

A peer is installed into an environment of its own (benchmarks/peers/README.md) and driven by its own
commands; none is imported here, and none is needed: what is not installed is left out.

    text = prepare(data, folder, pythons)                  # once: the same tokens and vocabularies for all
    for peer in find(Path("envs")):
        if peer.takes(setting):
            trained = peer.train(setting, text, folder, updates=40, warm=10, seed=1)
            found = peer.search(setting, text, folder, beam=5, batch=64, length=20, sentences=512)

A target token is a word or the end mark, never padding or the start mark, in every figure.
"""

from __future__ import annotations

from peers.base import Peer
from peers.finding import KINDS, find, named
from peers.records import Searched, Setting, Text, Trained, Window
from peers.text import prepare

__all__ = [
    "KINDS",
    "Peer",
    "Searched",
    "Setting",
    "Text",
    "Trained",
    "Window",
    "find",
    "named",
    "prepare",
]
