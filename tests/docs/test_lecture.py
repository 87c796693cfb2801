"""docs/lecture.ipynb, executed as a reader does, and what it says about its own outputs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "lecture.ipynb"
#: of the installed wheel, where CI has made one
PYTHON = os.environ.get("ATTNLAB_NOTEBOOK_PYTHON") or sys.executable
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def cells(path: Path = NOTEBOOK) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def test_it_is_kept_without_outputs() -> None:
    """They would be numbers without a record, and other bytes at every run."""
    code = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert len(code) > 8
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_its_own_scorer_is_that_of_the_documentation() -> None:
    (text,) = ["".join(c["source"]) for c in cells() if "%%writefile" in "".join(c["source"])]
    mine = re.search(r"class Distance.*?(?=\n\nclass )", text, re.DOTALL)
    documented = (NOTEBOOK.parent / "own_parts.md").read_text(encoding="utf-8")
    assert mine is not None
    body = [line.partition("#")[0].strip() for line in mine.group().splitlines() if line.strip()]
    assert len(body) <= 10  # with its docstring
    for line in body:
        assert line in documented


@pytest.mark.slow
def test_it_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        "PATH": os.pathsep.join([str(Path(PYTHON).parent), os.environ["PATH"]]),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "jupyter"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }
    done = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", EXECUTE, str(NOTEBOOK), "out.ipynb"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outputs = [output for cell in cells(tmp_path / "out.ipynb") for output in cell.get("outputs", [])]
    text = "".join("".join(output.get("text", "")) for output in outputs)
    kinds = {kind for output in outputs for kind in output.get("data", {})}

    for numbers in ("-0.3634,  0.1092, -0.4023", "0.2804, 0.4499, 0.2697", "0.4041, 0.8208, 0.1499"):
        assert numbers in text
    assert "a dot product needs equal sizes" in text
    bleu = {name: float(score) for name, score in re.findall(r"(\w+) +BLEU +([\d.]+)", text)}
    assert bleu["post_combine"] > 80 > 40 > bleu["fixed_vector"]
    assert {"image/svg+xml", "image/png"} <= kinds
    aer = re.search(r"gold links: ([\d.]+)", text)
    assert aer is not None and float(aer.group(1)) < 0.3
    assert "my_scorer:Distance keeps the contract of a scorer." in text
    assert "no mask: my_scorer:Shares.forward: its scores sum to 1 over the positions" in text
