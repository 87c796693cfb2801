"""The rules of docs/architecture.md that a reader of the source could break without noticing."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import attnlab
from attnlab.sweep.compose import conf_dir

PACKAGE = Path(attnlab.__file__).parent
AXES = ("encoder", "scorer", "decoder", "window", "model/readout", "model/initialise")
LARGEST = 320  # lines of a file


def sources(*parts: str) -> list[Path]:
    """The files of a package, or of all of them with Hydra's plugins."""
    if parts:
        return sorted(PACKAGE.joinpath(*parts).rglob("*.py"))
    return sorted([*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "hydra_plugins" / "attnlab").rglob("*.py")])


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def foreign(folder: str, *allowed: str) -> set[str]:
    """What a package imports beside the standard library and what it may."""
    found = {module for path in sources(folder) for module in imported(path)}
    return {
        module
        for module in found
        if module.partition(".")[0] not in sys.stdlib_module_names
        and not any(module == name or module.startswith(f"{name}.") for name in allowed)
    }


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        ("attention", ["torch", "jaxtyping", "attnlab.attention"]),
        ("model", ["torch", "jaxtyping", "attnlab.attention", "attnlab.model"]),
        (
            "search",
            [
                "torch",
                "numpy",
                "jaxtyping",
                *(f"attnlab.{p}" for p in ("attention", "model", "search", "errors")),
            ],
        ),
        ("metrics", ["numpy", "scipy", "statsmodels", "sacrebleu", "attnlab.metrics", "attnlab.errors"]),
    ],
)
def test_a_package_imports_what_the_table_of_modules_allows(folder: str, allowed: list[str]) -> None:
    assert sources(folder)
    assert foreign(folder, *allowed) == set()


def test_metrics_open_no_files() -> None:
    for path in sources("metrics"):
        assert not {"pathlib", "os", "io"} & set(imported(path)), path
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert "open" not in names, path


def test_nothing_compares_with_the_name_of_a_variant() -> None:
    names = {path.stem for axis in AXES for path in (conf_dir() / axis).glob("*.yaml")}
    assert {"dot", "local_p", "fixed_vector", "maxout"} <= names
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare | ast.MatchValue):
                words = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
                assert not words & names, f"{path}:{node.lineno}"


def test_the_softmax_over_the_source_and_instantiate_are_called_in_one_module_each() -> None:
    def calling(pattern: str) -> set[str]:
        return {path.name for path in sources() if re.search(pattern, path.read_text(encoding="utf-8"))}

    assert calling(r"(?<!log_)softmax\(.*-1\)|\.Softmax\(") == {"attention.py"}
    assert calling(r"\binstantiate\(") == {"build.py"}


def test_no_file_is_longer_than_a_reader_takes_in() -> None:
    long = {path.name: n for path in sources() if (n := len(path.read_text().splitlines())) > LARGEST}
    assert long == {}


def test_every_module_is_in_the_table_of_modules(repository: Path) -> None:
    text = (repository / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("## Modules")[2].partition("## Contracts")[0]
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", table)) - {"tests/test_architecture.py"}
    top = [p for p in PACKAGE.iterdir() if not p.name.startswith("__")]
    there = {f"{p.name}/" if p.is_dir() else p.name for p in top if p.is_dir() or p.suffix == ".py"}
    assert there <= named, there - named
    for name in named:
        assert (PACKAGE / name).exists() or (PACKAGE.parent / name).exists(), name
