"""One rank's objective: `python objective.py RANK STORE` prints it. Rank 0 has 1 token, rank 1 has 9."""

import sys

import torch
from torch import distributed

from attnlab import ranks
from attnlab.training import objective

rank, store = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
loss, tokens = ((4.0, 1.0), (9.0, 9.0))[rank]
sums = ranks.total(torch.tensor([loss, tokens], dtype=torch.float64))
print(float(objective(torch.tensor(loss), sums)), ranks.gathered([rank]), ranks.collected([rank]), flush=True)
distributed.destroy_process_group()
