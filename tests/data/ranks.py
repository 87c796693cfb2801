"""Two epochs and a test on one or two processes: `python ranks.py DEVICES FOLDER` writes what each rank saw."""

import json
import sys
import warnings
from pathlib import Path

import pytorch_lightning as pl
import torch

import attnlab.data.datamodule as datamodule
from attnlab.data import FilesCorpus, TranslationData, Words

worked = []


class Seen(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen = {"train": [], "validation": [], "test": []}

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_train_epoch_start(self):
        self.seen["train"].append([])

    def training_step(self, batch):
        self.seen["train"][-1].append(batch.index.tolist())
        return self.weight * batch.target.sum()

    def validation_step(self, batch):
        self.seen["validation"].append(batch.index.tolist())

    def test_step(self, batch):
        self.seen["test"].append(batch.index.tolist())


def counted(name):
    inner = getattr(datamodule, name)

    def count(*arguments, **options):
        worked.append(name)
        return inner(*arguments, **options)

    setattr(datamodule, name, count)


def main(devices, folder):
    counted("encode")
    corpus = FilesCorpus(
        dir=str(folder), source="de", target="en", batch_sentences=3, cache_dir=str(folder / "cache")
    )
    data = TranslationData(corpus, Words(min_frequency=1), seed_order=7)
    module = Seen()
    trainer = pl.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=devices,
        strategy="ddp" if devices > 1 else "auto",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    data.prepare_data()  # on every rank: the lock sees to it that one works
    data.setup("fit")
    trainer.fit(module, datamodule=data)
    trainer.test(module, datamodule=data, verbose=False)
    plan = data.train_dataloader().batch_sampler.plan(0)
    found = {
        "seen": module.seen,
        "plan": plan,
        "worked": len(worked),
        "facts": data.describe()["fingerprints"],
    }
    Path(folder / f"{devices}-{trainer.global_rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main(int(sys.argv[1]), Path(sys.argv[2]))
