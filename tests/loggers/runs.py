"""A run that loggers are told of, and what stands in for W&B online."""

from dataclasses import replace

from attnlab.loggers import Facts

FACTS = Facts(
    cell={"encoder": "bilstm", "scorer": "dot", "decoder": "post_combine", "window": "global"},
    cell_id="dot-post_combine-global-bilstm-0a1b2c3d",
    seed=3,
    study="grid",
    config={"optim": {"lr": 0.001}, "encoder": {"hidden_size": 8}, "data": {"test": ["test"]}, "seed": 3},
)

RESULT = {
    "search": {"beam_size": 5},
    "bleu": {"score": 31.5, "signature": "nrefs:1"},
    "chrf": None,
    "ter": {"score": 50.0, "signature": "nrefs:1"},
    "perplexity": 7.25,
    "n": 30,
    "by_source_length": [
        {"lo": 0, "hi": 10, "n": 20, "bleu": 40.0, "ci": [35.0, 45.0], "mark": None},
        {"lo": 11, "hi": 20, "n": 0, "bleu": None, "ci": None, "mark": "empty"},
        {"lo": 21, "hi": None, "n": 10, "bleu": 20.0, "ci": None, "mark": "few"},
    ],
    "by_reference_length": [{"lo": 0, "hi": None, "n": 30, "bleu": 31.5, "ci": None, "mark": None}],
    "alignment": {
        "predicted": {"aer": 0.25},
        "input": {"aer": 0.5},
        "search": {"predicted": {"aer": 0.125, "n": 3}},  # unlike the settings above, scores
    },
}

SHOWN = replace(FACTS, config={**FACTS.config, "data": {"show_samples": True}})
"""A run whose sentences may be shown."""


class Server:
    """Stands in for W&B online: keeps the rows of a run over attempts."""

    def __init__(self):
        self.rows, self.asked, self.summary = [], [], {}

    def init(self, **options):
        self.asked.append((options["id"], options["resume"]))
        self.settings = options["settings"]
        self.starting_step = len(self.rows)
        return self

    def log(self, row):
        self.rows.append(row)

    def define_metric(self, *args, **options):
        pass

    def finish(self, exit_code):
        pass
