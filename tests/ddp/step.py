"""One update on one or two processes: a script, because Lightning starts the second process by running it again.

usage: python step.py DEVICES OUT [RANK0_LOSS...]: writes the weights after one step of SGD, rate 1, float64.
"""

import sys
import warnings
from functools import partial
from pathlib import Path

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from attnlab.attention import Additive, Global
from attnlab.data.batches import Batch, Collate
from attnlab.model import Combine, Encoder, InputFeeding, Seq2Seq
from attnlab.optim import Recipe
from attnlab.training import TranslationModule

# Rank 0 has one sentence of one token and rank 1 the long ones: a mean of means would be far off.
PAIRS = [([4], []), ([4, 5, 6, 7], [5, 6, 7, 8, 4]), ([6, 5, 4], [8, 7, 6, 5]), ([7, 7], [5, 5, 5])]
SHARES = {1: [[0, 1, 2, 3]], 2: [[0], [1, 2, 3]]}


class Pairs(pl.LightningDataModule):
    def train_dataloader(self):
        rows = SHARES[self.trainer.world_size][self.trainer.global_rank]
        pairs = [
            (row, torch.tensor(PAIRS[row][0]).numpy(), torch.tensor([*PAIRS[row][1], 3]).numpy())
            for row in rows
        ]
        batch = Collate(0, 0)(pairs)
        assert isinstance(batch, Batch)
        return DataLoader([batch], batch_size=None)


def main(devices, out):
    torch.manual_seed(0)
    model = Seq2Seq(
        9,
        9,
        encoder=partial(Encoder, hidden_size=6, cell="lstm", bidirectional=True),
        decoder=partial(InputFeeding, hidden_size=6, cell="gru"),
        readout=Combine,
        scorer=partial(Additive, units=5),
        window=Global,
        hidden_size=6,
        embedding_size=4,
        target_pad=0,
        start=2,
    )
    module = TranslationModule(model, Recipe(1.0, torch.optim.SGD, label_smoothing=0.1))
    trainer = pl.Trainer(
        max_steps=1,
        accelerator="cpu",
        devices=devices,
        strategy="ddp" if devices > 1 else "auto",
        precision="64-true",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.fit(module, datamodule=Pairs())
    if trainer.is_global_zero:
        torch.save(module.state_dict(), out)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main(int(sys.argv[1]), Path(sys.argv[2]))
