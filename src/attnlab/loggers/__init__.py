"""Where the numbers of a run go besides its record: `metrics.jsonl` always, the others by choice.

A logger is made by `partial(folder=..., facts=...)` from `conf/logger/*.yaml`. It is a Lightning logger; one
that also has `log_evaluation(name, result, examples)` is shown each scored test set, one that has
`begin()` is started before the training, and one that has `close(exit_code)` is closed at the very end of the
run, however the run ends.
"""

from attnlab.loggers.base import Example, Facts, flat, scalars
from attnlab.loggers.files import MetricsFile, csv, tensorboard
from attnlab.loggers.weights_and_biases import WandbLogger

__all__ = ["Example", "Facts", "MetricsFile", "WandbLogger", "csv", "flat", "scalars", "tensorboard"]
