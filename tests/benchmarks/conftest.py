"""The benchmarks are scripts, not a package: their folder goes where a script's own folder would be."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
