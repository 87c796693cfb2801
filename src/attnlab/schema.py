"""The fields that a record must have. Standard library only; docs/results.md explains them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attnlab.errors import UserError

SCHEMA = 1
DONE, FAILED = "done", "failed"

_BASE: dict[str, Any] = {
    "schema": {},
    "status": {},
    "ended": {},
    "cell": {"encoder": {}, "scorer": {}, "decoder": {}, "window": {}},
    "factors": {},
    "cell_id": {},
    "seed": {},
    "overrides": {},
    "command": {},
    "config": {},
    "code": {"commit": {}, "dirty": {}},
    "versions": {},
    "machine": {"cpu": {}, "memory": {}, "device": {}, "count": {}},
}
_TEST: dict[str, Any] = {
    "search": {},
    "bleu": {"score": {}, "signature": {}},
    "chrf": {},
    "ter": {},
    "perplexity": {},
    "length_ratio": {},
    "n": {},
    "empty": {},
    "truncated": {},
    "by_source_length": {},
    "by_reference_length": {},
    "alignment": {},
    "attention": {},
}
_DATA: dict[str, Any] = {
    "languages": {},
    "licence": {},
    "source": {},
    "revision": {},
    "fingerprints": {},
    "splits": {},
}
REQUIRED: dict[str, dict[str, Any]] = {
    DONE: {
        **_BASE,
        "data": {**_DATA, "overlap": {}},
        "parameters": {"total": {}, "attention": {}},
        "train": {
            "updates": {},
            "best_step": {},
            "tokens_per_s": {},
            "wall_s": {},
            "device_s": {},
            "peak_memory": {},
        },
        "val": {"bleu": {}, "loss": {}, "signature": {}, "step": {}},
        "test": {"*": _TEST},
    },
    FAILED: {**_BASE, "error": {"type": {}, "message": {}}, "train": {"wall_s": {}}},
    "evaluation": {
        "schema": {},
        "ended": {},
        "cell_id": {},
        "seed": {},
        "overrides": {},
        "command": {},
        "checkpoint": {},
        "code": {"commit": {}, "dirty": {}},
        "versions": {},
        "machine": {"cpu": {}, "memory": {}, "device": {}, "count": {}},
        "data": _DATA,
        "test": {"*": _TEST},
    },
}
"""The fields each kind of record must have; `*` stands for every key. A field may be null, not absent."""

_NUMBER, _TEXT, _OBJECT, _LIST = (int, float), (str,), (Mapping,), (list, tuple)
_CALLED: dict[Any, str] = {_NUMBER: "a number", _TEXT: "a text", _OBJECT: "an object", _LIST: "a list"}
_COSTS = ("updates", "best_step", "tokens_per_s", "wall_s", "device_s", "peak_memory")
_TYPES: dict[str, tuple[type, ...]] = {
    **{f"cell.{axis}": _TEXT for axis in ("encoder", "scorer", "decoder", "window")},
    **dict.fromkeys(("factors", "config", "versions", "data.fingerprints", "data.splits"), _OBJECT),
    **{f"train.{name}": _NUMBER for name in _COSTS},
    **{f"parameters.{name}": _NUMBER for name in ("total", "attention")},
    **{f"test.*.{name}": _OBJECT for name in ("chrf", "ter", "alignment", "attention")},
    **{f"test.*.{name}": _NUMBER for name in ("perplexity", "length_ratio")},
    **{f"test.*.{name}": _NUMBER for name in ("bleu.score", "n")},
    "test.*.bleu.signature": _TEXT,
    **{f"test.*.{name}": _LIST for name in ("by_source_length", "by_reference_length")},
}
"""What a field holds where it is not null; true and false are no numbers."""


def check(record: Mapping[str, Any], kind: str | None = None, where: str = "the record") -> None:
    """Checks that every required field is there.

    `kind` is a key of `REQUIRED`; by default the record's own `status`.

    Raises:
        UserError: a field is missing or holds what it cannot, or the schema is another one.
    """
    if not isinstance(record, Mapping):
        raise UserError(f"{where} holds no record: a JSON object is expected")
    if "schema" in record and record["schema"] != SCHEMA:
        raise UserError(
            f"{where} has schema {record['schema']}; this version of attnlab reads schema {SCHEMA}"
        )
    kind = kind or str(record.get("status"))
    if kind not in REQUIRED:
        raise UserError(f"{where} has status '{kind}': 'done' or 'failed' is expected in field 'status'")
    _require(record, REQUIRED[kind], "", where)
    for path, types in _TYPES.items():
        for value in _values(record, path.split(".")):
            if value is not None and (not isinstance(value, types) or isinstance(value, bool)):
                raise UserError(f"{where}: field '{path}' must be {_CALLED[types]}")


def _values(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """The values at a path, `*` standing for every key; none where a part of it is absent or null."""
    if not path:
        yield value
    elif isinstance(value, Mapping):
        inner = value.values() if path[0] == "*" else [value[path[0]]] if path[0] in value else []
        for item in inner:
            yield from _values(item, path[1:])


def _require(value: Any, fields: Mapping[str, Any], path: str, where: str) -> None:
    if not fields:
        return
    if not isinstance(value, Mapping):
        raise UserError(f"{where}: field '{path}' must be an object with {', '.join(fields)}")
    if "*" in fields:
        for key, item in value.items():
            _require(item, fields["*"], f"{path}.{key}", where)
        return
    for name, inner in fields.items():
        below = f"{path}.{name}" if path else name
        if name not in value:
            raise UserError(f"{where}: field '{below}' is missing")
        _require(value[name], inner, below, where)
