"""From `mymodule:MyScorer units=32` to a subject."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from typing import Any

import yaml
from torch import nn

from attnlab.contract.broken import Broken, H, K, Subject, told
from attnlab.errors import UserError

USAGE = "attnlab check mymodule:MyScorer [KEY=VALUE ...]"


def found(name: str) -> type:
    """The class of `module:Class`, or of `module.Class` as `_target_` has it.

    Raises:
        UserError: it is not there, or cannot be imported.
    """
    module, colon, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    if not (module and colon and attribute):
        raise UserError(f"{name}: names no class; give it as mymodule:MyScorer")
    if attribute == "py" or module.endswith(".py") or "/" in module:
        raise UserError(f"{name}: is a file; name the module in the current folder: mymodule:MyScorer")
    try:
        there: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module and not module.startswith(f"{error.name}."):
            raise UserError(f"{name}: {module} imports {error.name}, which is not installed") from error
        where = "the current folder, on PYTHONPATH or installed"
        raise UserError(f"{name}: no module {module} in {where}; run this where {module}.py lies") from error
    except (Exception, SystemExit) as error:
        raise UserError(f"{name}: {module} cannot be imported: {told(error)}; mend it") from error
    made = vars(there).get(attribute)
    if not isinstance(made, type):
        classes = sorted(n for n, v in vars(there).items() if isinstance(v, type) and v.__module__ == module)
        file = getattr(there, "__file__", None) or "built in"
        listed = f"there are: {', '.join(classes)}" if classes else "it has no classes of its own"
        raise UserError(f"{name}: {module} has no class {attribute}; {listed} ({file})")
    return made


def options(made: type, given: Sequence[str], sizes: Sequence[str], title: str) -> dict[str, Any]:
    """The constructor's own arguments, out of KEY=VALUE.

    Raises:
        UserError: one is unknown, missing, or no KEY=VALUE.
        Broken: the constructor does not take the sizes by name.
    """
    values = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not (key.isidentifier() and equals):
            raise UserError(f"{item}: give the constructor's arguments as KEY=VALUE ({USAGE})")
        if key in values:
            raise UserError(f"{item}: {key} is given twice; give it once")
        try:
            values[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            values[key] = value
    if not issubclass(made, nn.Module):
        kinds_of = "attnlab.attention.Scorer or attnlab.attention.Window"
        raise Broken("interface", title, "is no torch.nn.Module", f"inherit from {kinds_of}")
    parameters = inspect.signature(made).parameters
    kinds = inspect.Parameter
    loose = any(p.kind is kinds.VAR_KEYWORD for p in parameters.values())
    named = {n for n, p in parameters.items() if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}
    lacking = [size for size in sizes if size not in named and not loose]
    if lacking:
        what = f"takes no {' and no '.join(lacking)}"
        raise Broken(
            "interface", f"{title}.__init__", what, f"start it as __init__(self, {', '.join(sizes)})"
        )
    own = sorted(named - set(sizes))
    for key in values:
        if key in sizes:
            raise UserError(
                f"{key}={values[key]}: is given by the framework, as {' and '.join(sizes)}; leave it out"
            )
        if key not in named and not loose:
            raise UserError(f"{key}: {title} takes no such argument; it takes {', '.join(own) or 'none'}")
    missing = [n for n in own if parameters[n].default is kinds.empty and n not in values]
    if missing:
        example = " ".join(f"{n}=VALUE" for n in missing)
        raise UserError(f"{title} needs {', '.join(missing)}: attnlab check {title} {example}")
    return values


#: unequal sizes, tried in turn: multiples of 4 and 5, of 8, of 3 and 12, for what is split into so many parts
UNEQUAL = ((H, K), (20, 40), (16, 64), (60, 120), (128, 256))
REFUSED = (ValueError, AssertionError)


def scorer(made: type, values: dict[str, Any], title: str) -> Subject:
    """A scorer as a subject, with unequal sizes if it takes any.

    Raises:
        Broken: it cannot be constructed.
        UserError: it refuses a value.
    """
    subject = Subject(title, lambda h, k: made(query_dim=h, key_dim=k, **values))
    return _made(subject, [*UNEQUAL, *((h, h) for h, _ in UNEQUAL)], bool(values))


def window(made: type, values: dict[str, Any], title: str) -> Subject:
    """A window as a subject. Raises as `scorer`."""
    subject = Subject(title, lambda h: made(query_dim=h, **values))
    return _made(subject, [(h,) for h, _ in UNEQUAL], bool(values))


def _made(subject: Subject, sizes: list[tuple[int, ...]], own: bool) -> Subject:
    """The subject, of the first sizes that its class does not refuse; `own`: it was given values."""
    first: Exception | None = None
    for some in sizes:
        try:
            subject.module = subject.again(*some).eval()
        except REFUSED as error:
            first = first or error
        except Broken:
            raise
        except (Exception, SystemExit) as error:
            if own and isinstance(error, TypeError | RuntimeError) and "keyword" not in str(error):
                raise _refuses(subject.title, error) from error
            raise _not_made(subject.title, error) from error
        else:
            subject.sizes = (some[0], some[-1] if len(some) > 1 else K)
            return subject
    assert first is not None
    raise _refuses(subject.title, first) from first


def _refuses(title: str, error: BaseException) -> UserError:
    return UserError(f"{title}: refuses its arguments: {told(error)}; give other values ({USAGE})")


def _not_made(title: str, error: BaseException) -> Broken:
    early = "before Module.__init__" in str(error) or "missing" in str(error)
    call = "call super().__init__ first, with the sizes, and inherit from attnlab.attention"
    taken = "unexpected keyword" in str(error)
    take = "take query_dim, and key_dim in a scorer, by name"
    remedy = call if early else take if taken else "see what raised it"
    return Broken("interface", f"{title}.__init__", f"fails: {told(error)}", remedy)
