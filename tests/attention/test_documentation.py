"""The lines that docs/attention.md quotes stand where it says."""

import ast
import re
from pathlib import Path

import pytest

from attnlab.model import FanIn

QUOTE = re.compile(
    r"^```python\n# (?P<file>\S+): (?P<name>\w+)\n(?P<lines>.*?)^```$", re.MULTILINE | re.DOTALL
)
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "attention.md"
QUOTES = [match.groupdict() for match in QUOTE.finditer(DOCUMENT.read_text(encoding="utf-8"))]


def test_every_block_of_the_document_is_a_quote():
    assert len(QUOTES) == DOCUMENT.read_text(encoding="utf-8").count("```python") >= 15


@pytest.mark.parametrize("quote", QUOTES, ids=[q["name"] for q in QUOTES])
def test_the_quoted_lines_are_in_the_class_or_function_named(quote, repository):
    source = (repository / quote["file"]).read_text(encoding="utf-8")
    nodes = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == quote["name"]
    ]
    assert len(nodes) == 1, f"{quote['file']} has no {quote['name']}"
    there = [line.strip() for line in source.splitlines()[nodes[0].lineno - 1 : nodes[0].end_lineno]]
    for line in quote["lines"].splitlines():
        assert line in there, f"{quote['name']}: {line}"


def test_the_spread_of_the_embeddings_is_the_one_it_names():
    assert f"embeddings N(0, {FanIn().embedding_std}²)" in DOCUMENT.read_text(encoding="utf-8")
