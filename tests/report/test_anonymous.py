"""Who made a report, and where, is gone from it; what it says stays."""

import html
import json
import string
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attnlab.report import compare
from attnlab.report.__main__ import main
from attnlab.report.anonymous import _NOBODY as NOBODY
from attnlab.report.anonymous import NAME, Scrubber, anonymise, scrub

NAMES = st.text(string.ascii_lowercase + "äß", min_size=3, max_size=10).filter(
    lambda name: name not in NOBODY
)
SECRETS = st.fixed_dictionaries(dict.fromkeys(("user", "host", "entity", "project"), NAMES)).filter(
    lambda names: len(set(names.values())) == 4
)


def hints(names):
    """Where names are given away."""
    user, host, entity = names["user"], names["host"], names["entity"]
    return {
        "command": f"attnlab train data.dir=/home/{user}/corpora/bible logger.wandb.entity={entity}",
        "machine": {"hostname": f"{host}.cluster.example", "cpu": "Intel(R) Xeon(R)"},
        "config": {"logger": {"wandb": {"entity": entity, "project": names["project"]}}},
    }


# Each is a text around the names, as commands, messages, other formats and addresses hold them.
PLACES = {
    "posix": "cannot read /home/{user}/data/x.de (line 3)",
    "mac": "/Users/{user}/My Corpus/train.de",
    "quoted": "No such file: '/srv/{host}/My Corpus/{user}.de'",
    "list": "PATH=/home/{user}/bin:/opt/{host}/bin",
    "flag": "gcc -I/home/{user}/include",
    "windows": r"C:\Users\{user}\AppData\x",
    "windows in JSON": r'{{"dir": "C:\\Users\\{user}\\data"}}',
    "share": r"\\{host}\{user}\x",
    "file URL": "file:///home/{user}/x.txt",
    "file URL, quoted": "file:///home/{quoted}/x.txt",
    "mail": "written by {user}@{host}.example.org",
    "remote": "git@github.com:{user}/attnlab.git",
    "remote by https": "pip install git+https://github.com/{user}/attnlab.git@main",
    "ssh": "ssh://{user}@{host}:2222/srv/x, then rsync {user}@{host}:runs/ .",
    "W&B": "https://wandb.ai/{entity}/{project}/runs/1a2b3c and wandb.ai/{entity}/{project}",
    "own server": "https://wandb.{host}.example/{entity}/{project}",
    "override": "logger.wandb.entity={entity} +logger.wandb.project={project}",
    "bare": "run of {user} on {host} for {entity}, {project}",
    "name in a name": "{user}_scorer-{host}/out/{entity}-{project}",
    "upper": "{upper} said",
    "YAML": "user: {user}\nhostname: {host}\n",
    "tilde": "~{user}/runs/x",
}


@settings(deadline=None, max_examples=150)
@given(names=SECRETS, place=st.sampled_from(sorted(PLACES)))
def test_no_name_survives_wherever_it_stands(names, place):
    known = {**names, "quoted": quote(names["user"]), "upper": names["user"].upper()}
    text = PLACES[place].format(**known)
    # A name that is a word of the text around it would be found there.
    assume(not any(name in PLACES[place].lower() for name in names.values()))
    told = hints(names)
    scrubber = Scrubber(told, machine=False)
    forms = [text, json.dumps(text), json.dumps({"a": json.dumps([text])}), html.escape(text)]
    outputs = [
        *(scrubber(form) for form in forms),
        json.dumps(scrubber({"x": [text, (text,)], text: {text}}), default=list),
        json.dumps(scrubber(told)),
    ]
    words = ("intel(r) xeon(r)", "attnlab", "corpora", "hostname", "machine", "command", "config", "logger")
    assume(not any(name in word for name in names.values() for word in words))
    for output in outputs:
        for name in names.values():
            for form in (name, quote(name), json.dumps(name)[1:-1]):
                assert form.lower() not in output.lower().replace(NAME, ""), (output, name)


@pytest.mark.parametrize(
    "text",
    [
        "experiments/demo/records/dot-post_combine-global-bilstm-db32f580/seed1/result.json",
        "../runs/x ./a/b",
        "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
        "98.85 ± 0.12, 21.0/23.1, -0.5, 1e-09, 12.3k, 3 / 4",
        "tokens/s, n/a, and/or, he/she",
        "</s> <b>x</b> <br /> & 1 < 2 > 0",
        "Linux-6.18.44-x86_64-with-glibc2.36, Intel(R) Xeon(R) Processor, NVIDIA H200",
        "2026-11-29T21:40:15+00:00",
        "13073d54582827567f36321b8f4c8ce071f2f4bc",
        "attnlab train experiment=demo decoder=post_combine scorer=additive optim.lr=0.002",
        "https://arxiv.org/abs/1508.04025, https://github.com/joeynmt/joeynmt, http://www.w3.org/2000/svg",
        "several; see https://opus.nlpl.eu/opus-100.php",
        r"\toprule a & b \\ \midrule \textbf{1.0}$^{\dagger}$ & -- \\" + "\n\\bottomrule",
        "fallen @@ apart @-@ again",
        "seeds: 1 2 3; failed 4; user study, host of problems",
    ],
)
def test_what_the_report_says_stays(text):
    told = {"hostname": "node17", "user": "alice", "logger": {"wandb": {"entity": "acme"}}}
    assert Scrubber(told, machine=False)(text) == text


def test_values_of_other_types_and_shapes_stay():
    value = {"a": [1, 2.5, None, True], "b": ("x/y", {"c": 0}), "project": "attnlab", "entity": None}
    found = Scrubber(machine=False)(value)
    assert found == value and type(found["b"]) is tuple and found["a"][3] is True


def test_keys_that_become_alike_are_kept_apart():
    found = Scrubber(machine=False)({"/home/ada/a": 1, "/home/ada/b": 2})
    assert sorted(found.values()) == [1, 2]


def test_accounts_that_are_nobodys_are_no_words_to_be_taken_out():
    value = {"user": "root", "hostname": "localhost", "x": "the root of test, al et al.", "owner": "al"}
    assert scrub(value)["x"] == value["x"]
    assert scrub(value)["user"] == scrub(value)["owner"] == NAME
    assert scrub("/root/al/x") == "[path]"


def test_this_machine_is_known(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "lovelace")
    monkeypatch.setattr("socket.gethostname", lambda: "engine7.example.org")
    monkeypatch.setattr(Path, "home", lambda: Path("/somewhere/adahome"))
    text = scrub("lovelace, engine7, engine7.example.org, adahome")
    assert set(text.replace(NAME, "").split(", ")) == {""}


def test_a_user_without_an_entry_and_without_a_home_is_no_error(monkeypatch):
    def fail(*_):
        raise KeyError("uid not found")

    def homeless(*_):
        raise RuntimeError

    monkeypatch.setattr("getpass.getuser", fail)
    monkeypatch.setattr(Path, "home", homeless)
    assert scrub("a") == "a"


def test_a_name_with_a_blank_goes_in_both_parts():
    scrubber = Scrubber(r"C:\Users\Ada Lovelace\x", machine=False)
    assert scrubber("by Ada Lovelace, Lovelace and ada") == f"by {NAME}, {NAME} and {NAME}"
    assert scrubber(r"see C:\Users\Ada Lovelace\x now") == "see [path] now"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        # Without any hint who is who: what they look like must do.
        ("cat /data/x.de, /etc/y", "cat [path], [path]"),
        ("mail ada.l@uni.example.org now", "mail [email] now"),
        ("git@git.example.org:ada/x.git", "[url]"),
        ("ssh://ada@engine7:22/x", "[url]"),
        ("see http://10.0.0.5:8080/x.", "see [url]."),
        ("https://github.com/ada/x.git", "[url]"),
        ("https://ada:secret@github.com/google/x", "[url]"),
        ("wandb.ai/acme/secret", "[url]"),
        (r"\\engine7\share\x", "[path]"),
        ("~ada/runs/x", "[path]"),
        (r"D:\data\x", "[path]"),
        ("file:///srv/x%20y.txt", "[path]"),
        ("logger.wandb.entity=acme", f"logger.wandb.entity={NAME}"),
        ("{'host': 'gpu'}", f"{{'host': '{NAME}'}}"),
    ],
)
def test_what_looks_like_a_place_or_an_account_goes_by_its_looks(text, clean, monkeypatch):
    monkeypatch.setattr("attnlab.report.anonymous._learn", lambda value, key="": [])
    assert Scrubber(machine=False)(text) == clean


def test_a_report_is_cleaned_in_every_row(make):
    dirty = make(scorer="dot", overrides=["data.dir=/home/babbage/x"], settings={"note": "babbage's"})
    dirty["machine"]["hostname"] = "engine7"
    dirty["config"]["data"] = {"dir": "/home/babbage/bible", "licence": "ask babbage@example.org"}
    other = make(scorer="general", settings={"note": "engine7"})
    report = compare([(Path("/home/babbage/runs/1"), dirty), (Path("runs/2"), other)])
    report.notes.append("left out: /home/babbage/runs/3: broken")
    before = report.comparisons[0].rows[0].runs[0].test["bleu"]
    clean, scrubber = anonymise(report)
    rows = clean.comparisons[0].rows
    said = repr([[row.config, row.settings, row.key, [run[1:4] for run in row.runs]] for row in rows])
    said += repr(clean[1:]) + scrubber("babbage on engine7")
    assert "babbage" not in said and "engine7" not in said and "/home" not in said
    assert rows[0].runs[0].test["bleu"] == before
    assert "left out: [path]: broken" in clean.notes
    assert [row.cell["scorer"] for row in rows] == ["dot", "general"]


def test_no_file_of_an_anonymous_report_tells_who_made_it(make, save, tmp_path, capsys):
    dirty = make(
        scorer="dot",
        overrides=["data.dir=/home/babbage/bible", "logger.wandb.entity=lovelaces"],
        settings={"note": "for babbage on engine7"},
        logger={"wandb": {"entity": "lovelaces", "project": "difference"}},
    )
    dirty["machine"] |= {"hostname": "engine7", "cpu": "cpu of engine7"}
    dirty["data"] |= {"source": "files in babbage", "licence": "ask babbage@engine7.example.org"}
    broken = make(scorer="concat", error=OSError("/home/babbage/x: no space on engine7"))
    top = save(dirty, make(scorer="general", settings={"note": "difference"}), broken, under="babbage/runs")
    out = tmp_path / "out"
    assert main([str(top), "--anonymous", "--anchors", "--samples", "0", "--out", str(out)]) == 0
    capsys.readouterr()
    files = sorted(path for path in out.rglob("*") if path.is_file())
    assert {".md", ".csv", ".tex", ".html", ".svg", ".png", ".pdf"} <= {path.suffix for path in files}
    for path in files:
        said = path.read_bytes().lower()
        for name in (b"babbage", b"engine7", b"lovelaces", b"/home", str(tmp_path).lower().encode()):
            assert name not in said, (path.name, name)
