"""`attnlab check` names the faults planted in outside scorers and windows, and finds none in our own."""

import subprocess
import sys
from pathlib import Path

import pytest

from attnlab import contract
from attnlab.contract import __main__ as verb

from ..attention.grid import SCORERS, WINDOWS

#: class of faulty.py: the clause that it breaks, and words of the line
FAULTS = {
    "OwnSoftmax": ("no mask", "OwnSoftmax.forward: its scores sum to 1 over the positions"),
    "Centred": ("no mask", "Centred.prepare: a position's key changes with the positions after it"),
    "CentredInForward": ("no mask", "forward: a position's score changes with the keys of others"),
    "SoftmaxOverQueries": ("wrong axis", "sum to 1 over the queries"),
    "SoftmaxOverSentences": ("wrong axis", "sum to 1 over the sentences"),
    "QueriesMixed": ("wrong axis", "a query's scores change with the other queries"),
    "Transposed": ("wrong axis", "forward: gives [3, 7, 5] for"),
    "KeysTransposed": ("wrong axis", "prepare: gives [7, 3, 8] for states [3, 7, 12]"),
    "Standardised": ("wrong axis", "prepare: a sentence's keys change with the other sentences"),
    "BatchNormed": ("state kept", "norm.running_mean: changes in training"),
    "Remembers": ("state kept", "Remembers.last"),
    "Keeps": ("state kept", "Keeps.seen"),
    "InPlace": ("in place", "changes the keys that it was given"),
    "StatesIgnored": ("states ignored", "all positions have the same score"),
    "PlacesUndeclared": ("states ignored", "a score by position alone sets max_length"),
    "PlacesTooFew": ("max_length", "fails on a source of 130 tokens"),
    "LimitOfWords": ("max_length", "is '40'"),
    "QueryIgnored": ("query ignored", "use the query"),
    "ExtraAxis": ("wrong shape", "gives [3, 5, 7, 1]"),
    "GlobalOnly": ("wrong shape", "fails on query [3, 5, 1, 8] and keys [3, 5, 2, 8]"),
    "EqualSizesUnsaid": ("sizes", "raise ValueError in __init__"),
    "Detached": ("gradients", "no gradient reaches the states"),
    "NoGradient": ("gradients", "the scores have no gradient at all"),
    "UnusedParameter": ("gradients", "UnusedParameter.bias"),
    "PlainTensor": ("gradients", "PlainTensor.W: is no parameter"),
    "WrongGradient": ("gradients", "not that of the formula"),
    "ZeroDivided": ("empty sentence", "NaN or an infinite score"),
    "RootOfZero": ("empty sentence", "NaN or an infinite gradient"),
    "Coarse": ("half precision", "bfloat16 is "),
    "OnTheCPU": ("device", "give device=states.device"),
    "EveryStep": ("work at every step", "3072 operations of a step on 16 keys"),  # 2 N H K
    "NoForward": ("interface", "define forward(query, keys)"),
    "NoScorer": ("interface", "is no torch.nn.Module"),
    "OwnSizes": ("interface", "takes no query_dim and no key_dim"),
    "NoSuper": ("interface", "call super().__init__ first"),
    "NoMask": ("no mask", "a place outside the sentence is inside"),
    "Spread": ("no mask", "on_weights: padding gets a weight"),
    "BeyondTheEnd": ("nothing inside", "step 7"),  # one token, D = 5: t - 5 > 1
    "FromOne": ("wrong place", "count places from 1, first from 0"),
    "AsWideAsTheSource": ("wide", "6001 for 3000"),
    "Unannounced": ("interface", "gives places although local is False"),
    "CentreDetached": ("gradients", "this parameter gets no gradient"),
    "DividesByZero": ("empty sentence", "on_weights: NaN"),
    "Doubled": ("sum", "weights sum to 2"),
    "MeanOfSteps": ("wrong axis", "change with the other steps"),
    "LongestSentence": ("wrong axis", "change with the other sentences"),
    "Squeezed": ("wrong shape", "centre is [4, 40, 1], not [4, 40]"),
}
OPTIONS = {"BeyondTheEnd": ["half_width=5"]}


@pytest.fixture
def checked(monkeypatch, capsys):
    """From arguments to exit status, standard output and standard error."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attnlab check", *arguments])
        try:
            status = verb.main()
        except SystemExit as left:  # argparse, of an option that there is not
            status = int(left.code or 0)
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_refused_by_name_in_one_line(checked, name):
    clause, words = FAULTS[name]
    status, out, err = checked(f"faulty:{name}", *OPTIONS.get(name, []))
    assert (status, err) == (1, "")
    fault, *rest = out.splitlines()
    assert fault.startswith(f"{clause}: faulty:{name}") and words in fault
    assert "; " in fault  # a remedy
    assert rest[:1] in ([], ["not checked before that is mended:"])
    assert all(line.startswith("  ") for line in rest[1:])


def test_two_faults_of_one_stage_are_two_lines(checked):
    status, out, _ = checked("faulty:SinglePrecision")
    assert status == 1
    assert [line.partition(":")[0] for line in out.splitlines()[:2]] == ["half precision", "device"]
    assert "faulty.py, line " in out


def test_every_fault_of_the_file_is_looked_for():
    source = (Path(__file__).parent / "faulty.py").read_text(encoding="utf-8")
    classes = {line[6:].partition("(")[0].rstrip(":") for line in source.splitlines() if line[:6] == "class "}
    assert classes - {"_Wrong"} == {*FAULTS, "Cosine", "Bilinear", "SinglePrecision"}


@pytest.mark.parametrize("arguments", [["Cosine"], ["Bilinear", "units=5"]])
def test_one_without_fault_keeps_the_contract(checked, arguments):
    name, *options = arguments
    status, out, err = checked(f"faulty:{name}", *options)
    assert (status, err) == (0, "")
    title, *lines = out.splitlines()
    equal = " (only where decoder and encoder have one size)" if name == "Cosine" else ""
    assert title == f"faulty:{name} keeps the contract of a scorer{equal}. Checked:"
    assert [line.strip() for line in lines] == [words for stage in contract.SCORER for _, words in stage]


@pytest.mark.parametrize("name", [*SCORERS, *WINDOWS])
def test_the_frameworks_own_break_nothing(name):
    """All but the last stage, which test_contract.py runs for each scorer under each window."""
    made = (SCORERS.get(name) or WINDOWS[name])[0]
    subject = contract.Subject(name, made)
    try:
        subject.module = subject.again(*(subject.sizes if name in SCORERS else subject.sizes[:1]))
    except ValueError:
        subject.sizes = (8, 8)
        subject.module = subject.again(8, 8)
    outcome = contract.check(subject, (contract.SCORER if name in SCORERS else contract.WINDOW)[:-1])
    assert not outcome.broken and not outcome.left


def test_a_window_is_joined_with_scorers(checked):
    status, out, _ = checked("attnlab.attention:LocalPRenorm", "half_width=3")
    assert status == 0
    assert out.startswith("attnlab.attention:LocalPRenorm keeps the contract of a window. Checked:\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["faulty"], "names no class; give it as mymodule:MyScorer"),
        (["faulty.py:Cosine"], "is a file; name the module"),
        (["./faulty:Cosine"], "is a file; name the module"),
        (["nowhere:Cosine"], "no module nowhere in the current folder"),
        (["faulty:Cosin"], "faulty has no class Cosin; there are: AsWideAsTheSource"),
        (["faulty:Bilinear"], "needs units: attnlab check faulty:Bilinear units=VALUE"),
        (["faulty:Bilinear", "units"], "units: give the constructor's arguments as KEY=VALUE"),
        (["faulty:Bilinear", "units=5", "unitz=5"], "unitz: faulty:Bilinear takes no such argument"),
        (["faulty:Bilinear", "units=5", "key_dim=5"], "key_dim=5: is given by the framework"),
        (["faulty:Bilinear", "units=5", "units=6"], "units=6: units is given twice"),
        (["faulty:Bilinear", "units=-3"], "refuses its arguments: RuntimeError: "),
        (["faulty:Bilinear", "units=abc"], "refuses its arguments: TypeError: "),
        (["faulty:Cosin\n", "x=1"], "has no class Cosin; "),
        ([], "name a class, as mymodule:MyScorer (attnlab check --help)"),
        (["faulty:Cosine", "--bogus"], "unrecognized arguments: --bogus (attnlab check --help)"),
        (
            ["attnlab.attention:LocalM", "half_width=0"],
            "refuses its arguments: ValueError: window.half_width=0",
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(checked, arguments, words):
    status, out, err = checked(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("attnlab: ") and err.count("\n") == 1
    assert words in err


def test_a_module_that_fails_is_one_line(checked, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "failing_one.py").write_text("\n1 / 0\n")
    (tmp_path / "importing_one.py").write_text("import no_such_package_at_all\n")
    assert "ZeroDivisionError: division by zero (failing_one.py, line 2)" in checked("failing_one:A")[2]
    assert "imports no_such_package_at_all, which is not installed" in checked("importing_one:A")[2]
    (tmp_path / "misspelt_one.py").write_text("x = 1\nclass A(:\n")
    assert "SyntaxError: invalid syntax (misspelt_one.py, line 2); mend it" in checked("misspelt_one:A")[2]
    (tmp_path / "dynamic_one.py").write_text("def __getattr__(name):\n    raise RuntimeError(name)\n")
    assert "dynamic_one has no class A; it has no classes of its own" in checked("dynamic_one:A")[2]


def test_the_help_needs_no_torch():
    run = "import sys; sys.argv = ['attnlab check', '--help']\nfrom attnlab.contract.__main__ import main\n"
    run += "try:\n    main()\nfinally:\n    assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "attnlab check MODULE:CLASS [KEY=VALUE ...]" in done.stdout


def test_the_command_finds_a_module_of_the_current_folder(command):
    (command.folder / "mine.py").write_text(
        "from attnlab.attention import General\n"
        "class Mine(General):\n"
        "    def forward(self, query, keys):\n"
        "        return (query @ keys.mT).softmax(-1)\n"
    )
    done = command("check", "mine:Mine", PYTHONSAFEPATH="1")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("no mask: mine:Mine.forward: ")
    assert done.stderr == ""
