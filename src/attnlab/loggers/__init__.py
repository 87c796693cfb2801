"""Where the numbers of a run go besides its record: `metrics.jsonl` always, the others by choice.

A logger is made by `partial(folder=..., facts=...)` from `conf/logger/*.yaml`. It is a Lightning logger. One
that has more methods is told more, on rank 0:

- `begin()`: before the training;
- `log_samples(samples, step)`: just before the row of a validation, as many of its translations as the
  logger's `samples` says, where they may be shown (`data.show_samples`);
- `log_evaluation(name, result, examples)`: each scored test set;
- `log_translations(name, sources, hypotheses, references)`: its text, where it may be shown;
- `close(exit_code)`: at the very end of the run, however it ends.
"""

from attnlab.loggers.base import Example, Facts, Sample, flat, scalars
from attnlab.loggers.files import MetricsFile, csv, tensorboard
from attnlab.loggers.weights_and_biases import WandbLogger

__all__ = [
    "Example",
    "Facts",
    "MetricsFile",
    "Sample",
    "WandbLogger",
    "csv",
    "flat",
    "scalars",
    "tensorboard",
]
