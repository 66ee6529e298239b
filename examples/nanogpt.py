"""A loop in the style of nanoGPT: random blocks of a text, AdamW, one file. After a kill at any step it continues with
the same bits.

    python examples/nanogpt.py --dir /tmp/nanogpt --steps 40
    holdfast run -- torchrun --nproc-per-node=4 examples/nanogpt.py --dir /tmp/nanogpt --steps 40

torch.randint draws the batches, so `Random()` alone restores the order of the data.
"""

import math
import os

import torch
import torch.distributed as dist
from outcome import arguments, finish, maybe_die
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from holdfast.training import Checkpoint, Random

BLOCK, BATCH, WIDTH = 16, 4, 32
TEXT = torch.tensor(list(b"It keeps fleets of GPUs productive. " * 50))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(128, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.block = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.1, batch_first=True)
        self.head = nn.Linear(WIDTH, 128)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        hidden = self.token(text) + self.place(torch.arange(BLOCK))
        return self.head(self.block(hidden, src_mask=nn.Transformer.generate_square_subsequent_mask(BLOCK)))


def get_batch() -> tuple[torch.Tensor, torch.Tensor]:
    starts = torch.randint(len(TEXT) - BLOCK - 1, (BATCH,))
    return (
        torch.stack([TEXT[at : at + BLOCK] for at in starts]),
        torch.stack([TEXT[at + 1 : at + BLOCK + 1] for at in starts]),
    )


def main() -> None:
    options = arguments(__doc__)
    rank = int(os.environ.get("RANK", 0))
    torch.manual_seed(1337)
    model: nn.Module = Model()
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        dist.init_process_group("gloo")
        model = DistributedDataParallel(model)
        torch.manual_seed(1337 + rank)  # ranks draw different batches
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ckpt = Checkpoint(options.dir, replicas=options.replicas)
    state = {"model": model, "optimizer": optimizer, "random": Random()}
    step = ckpt.load(state) or 0
    while step < options.steps:
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * (0.1 + 0.9 * (1 + math.cos(math.pi * step / options.steps)) / 2)
        inputs, targets = get_batch()
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        ckpt.save(step, state)
        if rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)  # `holdfast run` reads progress from such lines
        maybe_die(options, step)
    finish(options, model, step)
    ckpt.close()
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
