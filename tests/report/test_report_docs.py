"""docs/report.md describes the verb as it is."""

import re

from attnlab.report.options import parser
from attnlab.report.scores import COLUMNS


def test_every_option_is_described_and_no_other(repository):
    text = (repository / "docs" / "report.md").read_text(encoding="utf-8")
    table = text.partition("## Options")[2].partition("## Files")[0]
    told = set(re.findall(r"`(--[\w-]+)", re.sub(r"\| `attnlab.*|\| `--\w+ [^|]*\|\n", "", table)))
    known = {name for action in parser()._actions for name in action.option_strings if name.startswith("--")}
    assert known - {"--help"} == told


def test_defaults_are_those_of_the_verb(repository):
    text = (repository / "docs" / "report.md").read_text(encoding="utf-8")
    options = parser().parse_args(["x"])
    for name, said in (
        ("samples", "draws of the bootstrap, {} by"),
        ("trials", "test, {} by"),
        ("level", "tests, {} by"),
    ):
        assert said.format(getattr(options, name)) in text
    assert f"`{options.out}` by default" in text


def test_examples_of_columns_are_those_that_are_read(repository):
    text = (repository / "docs" / "report.md").read_text(encoding="utf-8")
    assert "\n" + "\t".join(COLUMNS) + "\n" in text
