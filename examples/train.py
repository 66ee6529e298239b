"""Trains a language model of 3 million parameters under DDP on CPUs or GPUs, and continues after the last saved step
when a rank dies.

    python examples/train.py --dir /tmp/run --steps 200
    torchrun --nproc-per-node=4 examples/train.py --dir /tmp/run --steps 200
    holdfast run -- torchrun --nproc-per-node=4 examples/train.py --dir /tmp/run --steps 200

The text is synthetic: random guesses have a loss of ln 256 = 5.55, and the best possible loss is ln 4 = 1.39.
Every number is reproducible: two runs of the same length end with the same bits.
`--node-per-rank` treats each rank as a node with its own keeper, to test several nodes on one machine.
"""

import argparse
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.distributed as dist
import xxhash
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from holdfast.training import Checkpoint, Guard, Position, Progress, Random

VOCABULARY = 256
CONTEXT = 32
FOLLOWERS = 4  # letters that may follow each letter, so that the best loss is ln 4
TELL_SAVED_EVERY = 10


class Model(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.place = nn.Embedding(CONTEXT, width)
        block = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.1, batch_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        length = text.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=text.device)
        hidden = self.embed(text) + self.place(torch.arange(length, device=text.device))
        return self.head(self.blocks(hidden, mask=mask, is_causal=True))


def batches(rank: int, epoch: int, count: int, size: int) -> Iterator[torch.Tensor]:
    """Text in which four letters may follow each letter; the same for the same rank and epoch."""
    follow = torch.randint(VOCABULARY, (VOCABULARY, FOLLOWERS), generator=torch.Generator().manual_seed(1))
    for at in range(count):
        source = torch.Generator().manual_seed((rank * 1009 + epoch) * 100_003 + at)
        text = torch.randint(VOCABULARY, (size, CONTEXT + 1), generator=source)
        for place in range(1, CONTEXT + 1):
            text[:, place] = follow[text[:, place - 1], text[:, place] % FOLLOWERS]
        yield text


def main() -> None:
    options = _options()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    if "RANK" not in os.environ:  # started without torchrun: the only rank
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank = dist.get_rank()
    if options.node_per_rank:
        os.environ["HOLDFAST_NODE"] = f"node{rank}"
    torch.manual_seed(7)
    # DDP regroups gradients after its first step, and another grouping changes the rounding. This setting keeps the
    # grouping, so that a resumed run sums in the same order as an uninterrupted one.
    model = DistributedDataParallel(Model(options.width, options.layers), find_unused_parameters=True)
    torch.manual_seed(rank)  # dropout differs between ranks
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    position = Position()
    state = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "random": Random(), "position": position}
    checkpoint = Checkpoint(
        options.dir,
        replicas=options.replicas,
        every_steps=options.every_steps,
        storage_every=options.storage_every,
        gpu_bytes=options.gpu_bytes,
    )
    step = checkpoint.load(state) or 0
    _journal(options, rank, {"at": step, "from": checkpoint.loaded_from})
    progress = Progress(options.job, step=step)
    progress.watch(model, checkpoint)
    guard = Guard(model, optimizer, checkpoint=checkpoint, progress=progress)
    while step < options.steps:
        for text in position.over(batches(rank, position.epoch, options.epoch, options.batch)):
            with progress.step(tokens=text.numel()):
                loss = nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                scheduler.step()
                progress.note(loss=loss)
            step += 1
            guard.step(step, loss=loss)
            with progress.saving():
                checkpoint.save(step, state)
            if step % TELL_SAVED_EVERY == 0:
                progress.saved(_committed(checkpoint))
            _journal(options, rank, {"step": step, "loss": loss.item()})
            if rank == 0:
                # `holdfast run` reads progress from such lines
                print(f"step {step} loss {loss.item():.4f}", flush=True)
            if step == options.steps:
                break
    if rank == 0:
        _write(options, model, optimizer, step)
    guard.close()
    progress.close()
    checkpoint.close()
    dist.destroy_process_group()


def _committed(checkpoint: Checkpoint) -> int:
    """The newest step that survives the loss of a node; -1 if there is none or no keeper answers."""
    try:
        return int(checkpoint.status()["committed"])
    except OSError:
        return -1


def _journal(options: argparse.Namespace, rank: int, row: dict[str, object]) -> None:
    with open(Path(options.dir) / f"journal.{rank}", "a") as journal:
        journal.write(json.dumps(row) + "\n")


def _write(options: argparse.Namespace, model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    """The final state of the run: a fingerprint of all parameters and of the optimizer state."""
    print_of = xxhash.xxh3_128()
    for tensor in model.parameters():
        print_of.update(tensor.detach().cpu().numpy().tobytes())
    for moments in optimizer.state_dict()["state"].values():
        for name in sorted(moments):
            print_of.update(moments[name].cpu().numpy().tobytes())
    count = sum(tensor.numel() for tensor in model.parameters())
    result = {"step": step, "parameters": count, "fingerprint": print_of.hexdigest()}
    (Path(options.dir) / "result.json").write_text(json.dumps(result) + "\n")
    print(json.dumps(result))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--job", default="example")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every-steps", type=int, default=1)
    parser.add_argument("--storage-every", type=int, default=0)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--gpu-bytes", type=int, default=0, help="of another GPU's memory for each rank's newest copy")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epoch", type=int, default=50, help="batches in an epoch")
    parser.add_argument("--node-per-rank", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
