"""Four small trainings that are killed by bench/training_kills.py: each call is one rank, and each rank is a node.

A training goes on until the file `stop` in its folder names its last step. It notes each load and each step in
`journal.RANK`, and at its end a fingerprint of parameters, optimizer and random numbers in `result.RANK`.
"""

# mypy: disable-error-code="no-untyped-call,import-not-found,import-untyped,misc"

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import xxhash
from torch import nn

EXAMPLES = Path(__file__).parents[1] / "examples"
PAUSE_SECONDS = 0.02  # of each step: deaths come in all parts of it
NEVER = 1_000_000


def digest(value: Any, into: Any) -> None:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            into.update(str(key).encode())
            digest(value[key], into)
    elif isinstance(value, list | tuple):
        for part in value:
            digest(part, into)
    elif isinstance(value, torch.Tensor):
        local = value.to_local() if hasattr(value, "to_local") else value
        into.update(local.detach().cpu().contiguous().numpy().tobytes())
    else:
        into.update(repr(value).encode())


class Notes:
    """A rank's journal, and the step at which it ends."""

    def __init__(self, folder: Path, rank: int) -> None:
        self.folder, self.rank = folder, rank
        self._journal = open(folder / f"journal.{rank}", "a", buffering=1)  # noqa: SIM115 - open as long as the rank

    def loaded(self, step: int) -> None:
        self._journal.write(json.dumps({"at": step}) + "\n")

    def step(self, step: int) -> bool:
        """Whether this was the last one."""
        self._journal.write(json.dumps({"step": step}) + "\n")
        time.sleep(PAUSE_SECONDS)
        try:
            return step >= int((self.folder / "stop").read_text())
        except FileNotFoundError:
            return False

    def finish(self, step: int, *parts: Any) -> None:
        found = xxhash.xxh3_128()
        digest(parts, found)
        (self.folder / f"result.{self.rank}").write_text(json.dumps({"step": step, "fingerprint": found.hexdigest()}))


def begin(folder: str) -> tuple[Path, Notes, int]:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(7)
    return Path(folder), Notes(Path(folder), rank), rank


def nanogpt(folder: str) -> None:
    from nanogpt import Model, get_batch
    from torch.nn.parallel import DistributedDataParallel

    from holdfast.training import Checkpoint, Random

    place, notes, rank = begin(folder)
    model = DistributedDataParallel(Model())
    torch.manual_seed(1337 + rank)  # ranks draw different batches
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    state = {"model": model, "optimizer": optimizer, "random": Random()}
    ckpt = Checkpoint(place, replicas=2)
    step = ckpt.load(state) or 0
    notes.loaded(step)
    last = False
    while not last:
        inputs, targets = get_batch()
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        ckpt.save(step, state)
        last = notes.step(step)
    notes.finish(step, model.state_dict(), optimizer.state_dict(), torch.get_rng_state())
    ckpt.close()


def fsdp2(folder: str) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    from holdfast.training import Checkpoint, Parallel, Random

    place, notes, rank = begin(folder)
    model: Any = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 16))
    for part in (model[0], model[3], model):
        fully_shard(part, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(rank)
    both = Parallel(model, optimizer)
    state = {"both": both, "random": Random()}
    ckpt = Checkpoint(place, replicas=2)
    step = ckpt.load(state) or 0
    notes.loaded(step)
    last = False
    while not last:
        given = torch.randn(4, 16)
        optimizer.zero_grad()
        (model(given) - given).pow(2).mean().backward()
        optimizer.step()
        step += 1
        ckpt.save(step, state)
        last = notes.step(step)
    notes.finish(step, both.state_dict(), torch.get_rng_state())
    ckpt.close()


def hf_trainer(folder: str) -> None:
    from hf_trainer import Model
    from transformers import Trainer, TrainerCallback, TrainingArguments

    from holdfast.training import Checkpoint
    from holdfast.training.checkpoint.callbacks import resume, transformers

    place, notes, rank = begin(folder)
    memory = place / "memory" / str(rank)  # of this node
    settings = TrainingArguments(
        output_dir=str(memory), max_steps=NEVER, per_device_train_batch_size=4, learning_rate=1e-2,
        lr_scheduler_type="constant", save_strategy="steps", save_steps=2, save_total_limit=1,
        report_to=[], disable_tqdm=True, use_cpu=True, logging_strategy="no",
    )  # fmt: skip

    class Noting(TrainerCallback):
        def on_train_begin(self, arguments: Any, state: Any, control: Any, **more: Any) -> None:
            notes.loaded(state.global_step)

        def on_step_end(self, arguments: Any, state: Any, control: Any, **more: Any) -> None:
            control.should_training_stop = notes.step(state.global_step)

    inputs = torch.randn(60, 8, generator=torch.Generator().manual_seed(2))
    data = [{"x": row, "labels": row.sum()} for row in inputs]
    ckpt = Checkpoint(place, replicas=2)
    model = Model()
    trainer = Trainer(model=model, args=settings, train_dataset=data, callbacks=[transformers(ckpt), Noting()])
    trainer.train(resume_from_checkpoint=resume(ckpt, memory))
    notes.finish(
        trainer.state.global_step, model.state_dict(), trainer.optimizer.state_dict()["state"], torch.get_rng_state()
    )
    ckpt.close()


def lightning(folder: str) -> None:
    import lightning.pytorch as pl
    from lightning.pytorch.strategies import DDPStrategy
    from lightning_module import Module
    from torch.utils.data import DistributedSampler, TensorDataset
    from torchdata.stateful_dataloader import StatefulDataLoader

    from holdfast.training import Checkpoint
    from holdfast.training.checkpoint.callbacks import LIGHTNING_FILE, resume
    from holdfast.training.checkpoint.callbacks import lightning as callback

    place, notes, rank = begin(folder)
    inputs = torch.randn(60, 8, generator=torch.Generator().manual_seed(2))
    data = TensorDataset(inputs, inputs.sum(1))
    loader = StatefulDataLoader(data, batch_size=4, sampler=DistributedSampler(data, dist.get_world_size(), rank))

    class Noting(pl.Callback):
        def on_train_start(self, trainer: Any, module: Any) -> None:
            notes.loaded(trainer.global_step)

        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            trainer.should_stop = notes.step(trainer.global_step)

    ckpt = Checkpoint(place, replicas=2)
    module = Module()
    memory = place / "memory" / str(rank)  # of this node
    restored = resume(ckpt, memory)
    trainer = pl.Trainer(
        max_steps=NEVER, min_steps=1, callbacks=[callback(ckpt, memory, every_steps=2), Noting()],
        logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=memory, accelerator="cpu", devices=1, num_nodes=dist.get_world_size(),
        strategy=DDPStrategy(process_group_backend="gloo"),
    )  # fmt: skip
    trainer.fit(module, loader, ckpt_path=f"{restored}/{LIGHTNING_FILE}" if restored else None)
    notes.finish(
        trainer.global_step, module.state_dict(), trainer.optimizers[0].state_dict()["state"], torch.get_rng_state()
    )
    ckpt.close()


JOBS: dict[str, Callable[[str], None]] = {
    "hf_trainer": hf_trainer, "lightning": lightning, "nanogpt": nanogpt, "fsdp2": fsdp2,
}  # fmt: skip
NEEDS = {
    "hf_trainer": ["torch._dynamo", "transformers.trainer", "accelerate", "hf_trainer"],
    "lightning": ["torch._dynamo", "lightning.pytorch", "torchdata.stateful_dataloader", "lightning_module"],
    "nanogpt": ["torch._dynamo", "nanogpt"],
    "fsdp2": ["torch._dynamo", "torch.distributed.fsdp"],
}


def as_rank(job: str, folder: str, environ: dict[str, str]) -> None:
    """In a new process."""
    os.environ.clear()
    os.environ.update(environ)
    log = os.open(Path(folder) / f"log.{environ['RANK']}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    torch.set_num_threads(1)
    sys.path.insert(0, str(EXAMPLES))
    JOBS[job](folder)
    dist.destroy_process_group()


gc.freeze()  # imported last by the process that ranks are forked from: they share these pages and never look at them
