"""Checkpoints for trainers that write their own: hands the files of Hugging Face's Trainer or Lightning to the keepers.

    memory = memory_folder("/checkpoints/llama")
    arguments = TrainingArguments(output_dir=str(memory), ...)
    ckpt = Checkpoint(dir="/checkpoints/llama")
    trainer = Trainer(..., args=arguments, callbacks=[transformers(ckpt)])
    trainer.train(resume_from_checkpoint=resume(ckpt, memory))

The trainer writes to a folder in memory; the keepers' copies survive the loss of a node.
"""

import mmap
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from holdfast.runtime.job_secret import only_mine
from holdfast.training.checkpoint.agreement import Circle
from holdfast.training.checkpoint.checkpoint import Checkpoint
from holdfast.training.checkpoint.keeper.site import job_name, memory_path, node_name, socket_path
from holdfast.training.checkpoint.loaders import set_epoch
from holdfast.training.checkpoint.parts import Random

RESTORED = "restored"
LIGHTNING_FILE = "lightning.ckpt"
CHUNK_BYTES = 64 << 20  # chunk of a file that is sent to a node without it


class Files:
    """The files of a folder as a part of a state. The first rank of each node has them, the others none."""

    holds_data_position = True  # as reproducible as the trainer that wrote them

    def __init__(self, folder: str | Path, mine: bool | None = None) -> None:
        self.folder = Path(folder)
        self.mine = int(os.environ.get("LOCAL_RANK", 0)) == 0 if mine is None else mine

    def state_dict(self) -> dict[str, torch.Tensor]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file()) if self.mine else []
        return {str(path.relative_to(self.folder)): _mapped(path) for path in paths}

    def load_state_dict(self, files: dict[str, torch.Tensor]) -> None:
        """Makes the folder contain exactly these files."""
        if not self.mine:
            return
        draft = self.folder.with_name(f"{self.folder.name}.draft-{os.getpid()}")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name, content in files.items():
            with open(_inside(draft, name), "wb") as file:
                file.write(content.numpy().data)
        shutil.rmtree(self.folder, ignore_errors=True)
        draft.rename(self.folder)

    def load_resharded(self, states: Sequence[dict[str, torch.Tensor]], rank: int, world: int) -> None:
        """Merges the files of all saved ranks: a trainer with another number of ranks selects what it needs."""
        self.load_state_dict({name: content for state in reversed(states) for name, content in state.items()})

    def complete(self, circle: Circle) -> None:
        """Copies the files that only other nodes have, because most trainers write on the first node alone."""
        content = self.state_dict()
        listed = circle.share([self.mine, {name: len(one) for name, one in content.items()}])
        first_ranks = [sizes for mine, sizes in listed if mine]
        owners = {name: rank for rank, (_, sizes) in reversed(list(enumerate(listed))) for name in sizes}
        for name in sorted(name for name in owners if any(name not in sizes for sizes in first_ranks)):
            self._copy(circle, name, owners[name], listed[owners[name]][1][name], content.get(name))

    def _copy(self, circle: Circle, name: str, owner: int, size: int, content: torch.Tensor | None) -> None:
        wanted = self.mine and content is None
        with open(_inside(self.folder, name) if wanted else os.devnull, "wb") as file:
            for start in range(0, size, CHUNK_BYTES):
                count = min(CHUNK_BYTES, size - start)
                part = content[start : start + count] if circle.rank == owner and content is not None else None
                part = circle.broadcast(part if part is not None else torch.empty(count, dtype=torch.uint8), owner)
                file.write(part.numpy().data)


def _inside(folder: Path, name: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"{name}: not a file of the folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def memory_folder(dir: str | Path, job: str = "") -> Path:
    """A folder in memory (/dev/shm) for the files that trainers of this job write on this node; `dir` and `job` as for
    `Checkpoint`.

    It is removed when the node's keeper ends; `holdfast job clean` removes that of a killed keeper.
    """
    folder = memory_path(socket_path(job_name(job, Path(dir)), Path(dir), node_name()))
    folder.mkdir(mode=0o700, exist_ok=True)
    # everyone may write to /dev/shm, so a folder of this name that belongs to another user is refused
    only_mine(folder)
    return folder


def resume(ckpt: Checkpoint, folder: str | Path) -> str | None:
    """Restores the newest files that all ranks can load. Returns the folder for the trainer; None: start from the
    beginning."""
    files = Files(Path(folder) / RESTORED)
    files.folder.parent.mkdir(parents=True, exist_ok=True)
    if ckpt.load({"files": files}) is None:
        return None
    files.complete(ckpt.circle)
    ckpt.circle.share(None)  # the first rank of the node has written them
    return str(files.folder)


def transformers(ckpt: Checkpoint) -> Any:
    """Callback for Hugging Face's Trainer: hands each of its saves to the keepers too."""
    from transformers import TrainerCallback

    class CheckpointCallback(TrainerCallback):  # type: ignore[misc]
        def on_save(self, arguments: Any, state: Any, control: Any, **more: Any) -> None:
            ckpt.circle.share(None)  # each rank writes its own files into the folder
            folder = Path(arguments.output_dir) / f"checkpoint-{state.global_step}"
            ckpt.save(state.global_step, {"files": Files(folder)})

    return CheckpointCallback()


def lightning(ckpt: Checkpoint, folder: str | Path, every_steps: int = 1) -> Any:
    """Callback for PyTorch Lightning: writes its checkpoint to the folder every `every_steps` steps, and hands it to
    the keepers.

    Lightning does not store random numbers. Each rank's generators go into a file next to its checkpoint.
    """
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback  # the former name of the package

    class CheckpointCallback(Callback):  # type: ignore[misc]
        loader_states: Any = None  # generators from the checkpoint, until they are loaded
        saved_step = step_before = 0

        def on_load_checkpoint(self, trainer: Any, module: Any, checkpoint: dict[str, Any]) -> None:
            self.loader_states = checkpoint["loops"]["fit_loop"]["state_dict"].get("combined_loader")

        def on_train_start(self, trainer: Any, module: Any) -> None:  # no batch is drawn before this hook
            loop, states, self.loader_states = trainer.fit_loop, self.loader_states, None
            loaders = loop._combined_loader.flattened if loop._combined_loader else []
            if not all(hasattr(loader, "state_dict") for loader in loaders):
                ckpt.report("data", LOADER_WITHOUT_STATE)
            if states:  # Lightning creates the iterator before it sets the epoch of the sampler
                for loader in loaders:
                    set_epoch(loader, loop.epoch_progress.current.processed)
                loop._combined_loader._load_state_dicts(states)
                iter(loop._data_fetcher)
            self.saved_step = self.step_before = trainer.global_step
            if trainer.ckpt_path:
                _load_generators(_generators_path(Path(trainer.ckpt_path).parent, trainer.global_rank))

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
            # global_step counts the steps of all optimizers, and is constant while gradients are accumulated
            due = trainer.global_step // every_steps > self.saved_step // every_steps
            accumulated = trainer.global_step != self.step_before
            self.step_before = trainer.global_step
            # with a checkpoint of an epoch's last batch Lightning counts the epoch twice, so save one step later
            if due and accumulated and (not trainer.is_last_batch or trainer.num_training_batches == 1):
                newest = Path(folder) / "newest"
                trainer.save_checkpoint(newest / LIGHTNING_FILE)
                _save_generators(_generators_path(newest, trainer.global_rank))
                ckpt.circle.share(None)
                ckpt.save(trainer.global_step, {"files": Files(newest)})
                self.saved_step = trainer.global_step

    return CheckpointCallback()


LOADER_WITHOUT_STATE = (
    "Lightning cannot store the position in a DataLoader without state_dict: after a load the epoch starts again in "
    "another order; use torchdata's StatefulDataLoader"
)


def _generators_path(folder: Path, rank: int) -> Path:
    return folder / f"generators-{rank}.pt"


def _save_generators(path: Path) -> None:
    state = Random().state_dict()
    name, keys, *rest = state["numpy"]
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({**state, "numpy": [name, torch.from_numpy(keys.astype(np.int64)), *rest]}, path)


def _load_generators(path: Path) -> None:
    """Loads the generators of this rank. A rank without saved ones keeps its own."""
    if path.exists():
        state = torch.load(path, weights_only=True)
        name, keys, *rest = state["numpy"]
        Random().load_state_dict({**state, "numpy": (name, keys.numpy().astype(np.uint32), *rest)})


def _mapped(path: Path) -> torch.Tensor:
    size = path.stat().st_size
    if not size:
        return torch.empty(0, dtype=torch.uint8)
    with open(path, "rb") as file:
        return torch.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY), dtype=torch.uint8)
