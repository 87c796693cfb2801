"""How often the tests of attnlab.metrics call equal systems different, and unequal ones.

Simulated systems (tests/metrics/simulated.py) whose true quality is known are compared many times, each time
on a new test set with new seeds. Beside the two tests stand what they would say over sentences alone, the
shuffling of hypotheses among all runs (Clark et al. 2011) and the p-value of sacrebleu's paired bootstrap.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "metrics"), str(HERE.parent / "src")]

from simulated import World  # noqa: E402 - the path first

from attnlab.metrics import bleu_score, compare, draws  # noqa: E402
from attnlab.metrics.bootstrap import resample  # noqa: E402
from attnlab.metrics.seeds import SENTENCES_ONLY, tail  # noqa: E402

SCORE = bleu_score()
LEVEL = 0.05
SHUFFLED = 10  # worlds for one in which runs are shuffled too


class Case(NamedTuple):
    """Two systems: seeds of either, standard deviations over seeds in points, and what sets them apart."""

    seeds: tuple[int, int]
    deviation: tuple[float, float]
    own: float = 0.0
    points: float = 0.0


EQUAL = [
    *(Case((runs, runs), (sd, sd), own) for own in (0.0, 0.5) for sd in (0.0, 0.4) for runs in (1, 2, 3, 5)),
    *(Case((runs, runs), (0.2, 0.6), 0.5) for runs in (2, 3, 5)),
    *(Case(seeds, (0.4, 0.4), 0.5) for seeds in ((1, 3), (2, 5))),
]
UNEQUAL = [Case((runs, runs), (0.4, 0.4), 0.5, points) for points in (1.0, 2.0) for runs in (1, 2, 3, 5)]


def shuffled(a: np.ndarray, b: np.ndarray, rng: np.random.Generator, trials: int) -> float:
    """p of shuffling each sentence's hypotheses among all runs of both systems (Clark et al. 2011)."""
    both = np.concatenate([a, b])
    runs, n = both.shape[:2]
    here = float(SCORE(a.sum(1)).mean() - SCORE(b.sum(1)).mean())
    count = 0
    for _ in range(trials):
        order = rng.random((runs, n)).argsort(0)
        scores = SCORE(np.take_along_axis(both, order[:, :, None], 0).sum(1))
        count += abs(scores[: len(a)].mean() - scores[len(a) :].mean()) >= abs(here)
    return (count + 1) / (trials + 1)


def once(case: Case, n: int, samples: int, seed: int) -> dict[str, bool]:
    """Which of the tests call the two systems of one new world different at 5 %."""
    rng = np.random.default_rng([seed, *map(ord, repr(case))])
    world = World(n, rng)
    a = world.system(case.seeds[0], seed_points=case.deviation[0], own=case.own, points=case.points)
    b = world.system(case.seeds[1], seed_points=case.deviation[1], own=case.own)
    fixed = seed % 20  # twenty drawings, kept, not one for each world
    test = compare({"a": a, "b": b}, SCORE, baseline="b", samples=samples, trials=samples, seed=fixed)[0]
    one, two = resample([a, b], SCORE, draws(n, samples, fixed))
    moved = one.samples.mean(1) - two.samples.mean(1)
    sizes = np.abs(moved)
    beyond = int((sizes - sizes.mean() > abs(test.delta)).sum())  # sacrebleu.significance._paired_bs_test
    found = {
        "bootstrap": test.p_bootstrap < LEVEL,
        "randomisation": test.p_randomisation < LEVEL,
        "interval without 0": not test.low <= 0 <= test.high,
        "sentences alone": tail(moved - moved.mean(), test.delta, SENTENCES_ONLY) < LEVEL,
        "sacrebleu's p": (beyond + 1) / (samples + 1) < LEVEL,
    }
    if seed % SHUFFLED == 0:  # it takes longer than all the others
        found["shuffled among runs"] = shuffled(a, b, rng, 99) < LEVEL
    return found


def table(cases: list[Case], worlds: int, n: int, samples: int) -> list[str]:
    """One line a case: the share of worlds, in percent, in which each test called the two different."""
    lines: list[str] = []
    for case in cases:
        found = [once(case, n, samples, seed) for seed in range(worlds)]
        if not lines:
            names = " | ".join(found[0])
            lines += [
                f"| seeds | sd over seeds | own | points | {names} |",
                "|---" * (4 + len(found[0])) + "|",
            ]
        shares = " | ".join(
            f"{100 * np.mean([each[name] for each in found if name in each]):.1f}" for name in found[0]
        )
        deviation = " / ".join(f"{sd:g}" for sd in dict.fromkeys(case.deviation))
        seeds = " / ".join(map(str, case.seeds))
        lines.append(f"| {seeds} | {deviation} | {case.own:g} | {case.points:g} | {shares} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=600, help="test sets a case")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--samples", type=int, default=400, help="draws and trials of a test")
    parser.add_argument("--note", type=Path, help="where the tables are written")
    options = parser.parse_args()
    start = time.monotonic()
    size = (options.worlds, options.sentences, options.samples)
    equal, unequal = table(EQUAL, *size), table(UNEQUAL, max(options.worlds // 2, 1), *size[1:])
    margin = 196 * (LEVEL * (1 - LEVEL) / options.worlds) ** 0.5
    text = NOTE.format(
        worlds=options.worlds,
        sentences=options.sentences,
        samples=options.samples,
        margin=margin,
        wide=margin * SHUFFLED**0.5,
        equal="\n".join(equal),
        unequal="\n".join(unequal),
        day=datetime.now(UTC).date(),
        minutes=(time.monotonic() - start) / 60,
        python=platform.python_version(),
        numpy=version("numpy"),
        command=" ".join(["python benchmarks/false_positives.py", *sys.argv[1:]]),
    )
    if options.note:
        options.note.write_text(text, encoding="utf-8")
    else:
        print(text)


NOTE = """# How often equal systems are called different

At a level of 5 % a test should call 5 in 100 pairs of equal systems different: fewer \
wastes runs, more is false findings. {worlds} simulated pairs a line, each on a new test set of {sentences} \
sentences with new seeds; {samples} draws and trials a test. Percent of pairs; a true 5.0 shows as \
5.0 ± {margin:.1f} (the shuffling, on a tenth of the pairs: ± {wide:.1f}).

- **seeds**: of the first and of the second system.
- **sd over seeds**: true standard deviation of the quality of a system's runs, in points of BLEU.
- **own**: how far each system has sentences of its own that suit it; 0 is one system trained twice.
- **points**: true difference of the systems, in points of BLEU.
- **bootstrap**, **randomisation**: `p_bootstrap` and `p_randomisation` of `attnlab.metrics.compare`; \
its **interval**.

For comparison:

- **sentences alone**: the paired bootstrap of the mean over the seeds, with seeds not counted as random.
- **sacrebleu's p**: the formula of its paired bootstrap, which takes one side only.
- **shuffled among runs**: Clark et al. (2011), as MultEval has it.

## Equal systems

{equal}

With one seed each no test can know how far seeds differ: where they do, the lines with 1 / 1 seeds say how \
often a difference between two runs is taken for one between two systems. Two seeds are \
the fewest that help.

## Unequal systems

The share that is found (the power), over half as many pairs.

{unequal}

{day}; {minutes:.0f} minutes on one core; Python {python}, numpy {numpy}; `{command}`.
"""


if __name__ == "__main__":
    main()
