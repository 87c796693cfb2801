"""`attnlab check` refuses no class without fault, whatever its style, and names subtle faults by their cause."""

import sys
from pathlib import Path

import pytest

from attnlab import contract
from attnlab.contract import __main__ as verb

#: class of sound.py and its options
SOUND = [
    *([name] for name in ("FourTimes", "Asserts", "TwoLayer", "Concatenated", "Cosine", "CosineByTorch")),
    *([name] for name in ("LowRank", "Heads", "Spectral", "WeightNormed", "RunningSum", "Aliases", "Single")),
    *([name] for name in ("SingleAndBack", "Roots", "Distance", "ByPlace", "Sigmoid")),
    *(["Bilinear", f"units={units}"] for units in (1, 32, 64, 512)),
    *(["Scaled", f"units={units}"] for units in (32, 512)),
    *(["MLP", f"units={units}"] for units in (32, 512)),
    *(["Recurrent", f"kind={kind}", "layers=2"] for kind in ("GRU", "LSTM", "RNN")),
    *([name] for name in ("Temperature", "Sharpened", "ThreeBest", "Behind", "One", "FirstFour", "Gate")),
    *([name, "half_width=3"] for name in ("EvenPlaces", "LearntWidth", "SingleInside")),
]
#: class of subtle.py: the clause that it breaks, and words of the line
FAULTS = {
    "FirstStateAlone": ("states ignored", "all positions have the same score"),
    "OffByOne": ("wrong place", "position 2 does not move with its state h_2, but with h_1"),
    "OneAhead": ("wrong place", "position 1 does not move with its state h_1, but with h_2"),
    "BackToFront": ("wrong place", "position 1 does not move with its state h_1, but with h_7"),
    "LastStateIgnored": ("states ignored", "position 7 does not move with its state h_7"),
    "HalfDetached": (
        "gradients",
        "HalfDetached.W: the gradient of this parameter is not that of the formula",
    ),
    "HalfDetachedStates": ("gradients", "the gradient of the states is not that of the formula"),
    "DetachedInAWindow": ("gradients", "the gradient of the states is not that of the formula"),
    "CosineWithoutQueryGradient": ("gradients", "no gradient reaches the query"),
    "QueryAdds": ("query ignored", "the query adds the same to every position's score"),
    "PlaceAmongKeys": ("wrong place", "changes with its place among the keys"),
    "ByCount": ("no mask", "changes with how many keys there are"),
    "SoftmaxOfKeys": ("wrong axis", "normalised over the positions, axis 1"),
    "KeysOfUnitColumns": ("wrong axis", "normalised over the positions, axis 1"),
    "MeanInTraining": ("wrong axis", "in training, a sentence's scores change with the other sentences"),
    "KeepsElsewhere": ("state kept", "a tensor of the batch is still there"),
    "CachedByShape": ("state kept", "CachedByShape.cache: holds a tensor of the batch"),
    "MadeInForward": ("gradients", "MadeInForward.v: is made by the first batch"),
    "SizeUnknown": ("interface", "SizeUnknown.W.weight: has no size until the first batch"),
    "DeepInADict": ("gradients", "DeepInADict.parts: is no parameter"),
    "LogOfAny": ("not finite", "bound what you divide by, and what stands under a root or a logarithm"),
    "HalfByName": ("half precision", "computes in 16 bits what is given in float32"),
    "SingleOnly": ("half precision", "works in float32 alone"),
    "WholeScores": ("wrong type", "gives scores of torch.int64"),
    "TooLarge": ("half precision", "keep all values below its largest, 65504"),
    "OneTokenSqueezed": ("wrong shape", "gives [1, 8] for states [1, 1, 12]"),
    "Raises": ("error", "KeyError: 'nothing here' (subtle.py, line "),
    "Leaves": ("error", "SystemExit: 0 (subtle.py, line "),
    "LengthsChanged": ("in place", "positions: changes the lengths"),
    "StepsChanged": ("in place", "positions: changes the steps"),
    "ScoresChanged": ("in place", "on_scores: changes the scores"),
    "RandomPlaces": ("state kept", "the same question has another answer the second time"),
    "PlacesOnTheCPU": ("device", "give device=query.device"),
    "QueryDetached": ("gradients", "no gradient reaches the query, although the weights depend on it"),
    "HalfOfTheWidth": ("gradients", "the gradient of the query is not that of the formula"),
    "WeightsDetached": ("gradients", "no gradient reaches the scores, although the weights depend on it"),
    "ScoresIgnored": ("scores ignored", "the scorer has no say"),
    "SoftmaxOfScores": ("no mask", "the weights change with the scores of padding"),
    "OverTheSteps": ("wrong axis", "sum to 1 over the steps"),
    "PlacesAsNumbers": ("wrong type", "first is of torch.float64"),
    "HidesAll": ("nothing inside", "hides all places of a step"),
    "LocalOfOne": ("interface", "LocalOfOne.local: is 1"),
}


@pytest.fixture
def checked(monkeypatch, capsys):
    """From arguments to exit status, standard output and standard error."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attnlab check", *arguments])
        status = verb.main()
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize("arguments", SOUND, ids=" ".join)
def test_a_class_without_fault_is_not_refused(checked, arguments):
    name, *options = arguments
    status, out, err = checked(f"sound:{name}", *options)
    assert (status, err) == (0, ""), out
    kind = "SCORER" if " of a scorer" in out else "WINDOW"
    stages = getattr(contract, kind)
    assert [line.strip() for line in out.splitlines()[1:]] == [
        words for stage in stages for _, words in stage
    ]


@pytest.mark.parametrize("name", FAULTS)
def test_a_subtle_fault_is_refused_by_its_cause_alone(checked, name):
    clause, words = FAULTS[name]
    status, out, err = checked(f"subtle:{name}")
    fault, *rest = out.splitlines()
    assert (status, err) == (1, "")
    assert fault.startswith(f"{clause}: subtle:{name}") and words in fault
    assert rest[:1] in ([], ["not checked before that is mended:"])
    assert all(line.startswith("  ") for line in rest[1:])


@pytest.mark.parametrize(
    ("module", "table"), [("sound", {call[0] for call in SOUND}), ("subtle", set(FAULTS))]
)
def test_every_class_of_the_file_is_checked(module, table):
    source = (Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    assert {line[6:].partition("(")[0] for line in source.splitlines() if line[:6] == "class "} == table
