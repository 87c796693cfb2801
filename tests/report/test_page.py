"""The report's page as text: what is in the file, what cannot get out of its data, and what it may load."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from attnlab.report import page
from attnlab.report.figures import styles
from attnlab.report.page import embedded, render

from .page_payloads import HOSTILE, payload

HERE = Path(page.__file__).parent
LONGEST = 250  # lines of a script that a reader takes in
MEBI = 2**20


class Elements(HTMLParser):
    """Every element with its attributes, and the text of the scripts, by HTML's own rules."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self._within = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
            self._within = True

    def handle_endtag(self, tag):
        self._within = self._within and tag != "script"

    def handle_data(self, data):
        if self._within:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)


def data_of(html):
    [text] = [text for attributes, text in Elements(html).scripts if attributes.get("id") == "data"]
    return json.loads(text)


def test_the_data_comes_through_the_page_unchanged_whatever_it_holds():
    given = payload(hostile=True)
    assert data_of(render(given)) == given


@pytest.mark.parametrize("text", [*HOSTILE, "</SCRIPT >", "<!--<script>", "]]>", "\u2029"])
def test_embedded_text_neither_ends_its_element_nor_opens_another(text):
    found = embedded({text: [text]})
    assert not re.search(r"[<>&\u2028\u2029]", found)
    assert json.loads(found) == {text: [text]}


def test_a_number_that_json_has_no_word_for_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        embedded({"bleu": float("nan")})


def test_the_same_payload_gives_the_same_bytes():
    assert render(payload(4, 2)) == render(payload(4, 2))


def test_hostile_text_makes_no_element_of_the_page():
    plain, hostile = (Elements(render(payload(hostile=bad))).found for bad in (False, True))
    policy = [
        attributes.pop("content")
        for found in (plain, hostile)
        for _, attributes in found
        if "http-equiv" in attributes
    ]
    assert len(policy) == 2
    assert [tag for tag, _ in plain] == [tag for tag, _ in hostile]
    assert not any(name.startswith("on") for _, attributes in hostile for name in attributes)


def test_nothing_of_the_page_is_asked_of_a_server():
    for tag, attributes in Elements(render(payload())).found:
        addresses = [
            value for name, value in attributes.items() if name in ("src", "href", "action", "data", "poster")
        ]
        assert all(value.startswith(("data:", "#")) for value in addresses), (tag, attributes)
    styles = "".join(path.read_text(encoding="utf-8") for path in (HERE / "css").iterdir())
    assert "url(" not in styles
    assert "@import" not in styles


def test_the_policy_allows_the_scripts_of_the_page_by_hash_and_no_other():
    parsed = Elements(render(payload()))
    [policy] = [attributes["content"] for tag, attributes in parsed.found if attributes.get("http-equiv")]
    scripts = [text for attributes, text in parsed.scripts if "type" not in attributes]
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts
    }
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert set(rules["script-src"].split()) == hashes
    assert len(scripts) == 1 + len(page.LIBRARIES) + len(page.SCRIPTS)


def test_every_script_and_style_of_the_package_is_in_the_page():
    assert {path.stem for path in (HERE / "js").iterdir()} == {*page.SCRIPTS, "early"}
    assert {path.stem for path in (HERE / "css").iterdir()} == set(page.STYLES)


def test_text_reaches_the_page_as_text_nodes_alone():
    for path in (HERE / "js").iterdir():
        source = path.read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", source
        ), path


def test_cells_look_as_in_the_figures():
    script = (HERE / "js" / "look.js").read_text(encoding="utf-8")
    symbols = re.search(r"const SYMBOLS = \{(.*?)\n  \};", script, re.DOTALL)[1]
    assert tuple(re.findall(r"^    (\w+):", symbols, re.MULTILINE)) == styles.MARKERS
    theme = (HERE / "css" / "theme.css").read_text(encoding="utf-8")
    light = re.findall(r"--series-\d: light-dark\((#\w+),", theme)
    assert [colour.upper() for colour in light] == list(styles.COLOURS)


def test_scripts_are_short_enough_to_read():
    long = {
        path.name: n
        for path in (HERE / "js").iterdir()
        if (n := len(path.read_text().splitlines())) > LONGEST
    }
    assert long == {}
    wide = {
        path.name for path in (HERE / "js").iterdir() if max(map(len, path.read_text().splitlines())) > 150
    }
    assert wide == set()  # not minified


def test_the_libraries_are_the_files_that_their_list_names_with_their_licences():
    listed = (HERE / "vendor" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+)` \|.*\| (\d+\.\d+\.\d+) \|.*`([0-9a-f]{64})` \|$", listed, re.MULTILINE)
    assert {name for name, _, _ in rows} == {f"{name}.js" for name in page.LIBRARIES}
    html = render(payload(2, 1))
    for name, version, digest in rows:
        content = (HERE / "vendor" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        assert f"v{version} Copyright" in content[:120].decode()
        licence = (HERE / "vendor" / f"{name.partition('.')[0]}.LICENSE").read_text(encoding="utf-8")
        assert "Permission to use, copy, modify" in licence
        assert licence in html


def test_a_hundred_runs_stay_below_five_megabytes_and_a_thousand_are_written():
    assert len(render(payload(34, 3)).encode()) < 5 * MEBI
    thousand = payload(334, 3)
    assert sum(len(row["runs"]) for row in thousand["comparisons"][0]["rows"]) > 1000
    assert len(data_of(render(thousand))["comparisons"][0]["rows"]) == 336
