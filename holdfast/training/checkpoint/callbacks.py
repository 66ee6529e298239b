"""Checkpoints for trainers that write their own: what Hugging Face's Trainer or Lightning saves goes to the keepers.

    ckpt = Checkpoint(dir="/checkpoints/llama")
    trainer = Trainer(..., callbacks=[transformers(ckpt)])
    trainer.train(resume_from_checkpoint=resume(ckpt, "/dev/shm/llama"))

Let the trainer write to a folder in memory (/dev/shm): the copy that survives is the keepers'.
"""

import mmap
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from holdfast.training.checkpoint.checkpoint import Checkpoint

RESTORED = "restored"


class Files:
    """The files of a folder, as a part of a state. On each node the first rank has them, the others none."""

    holds_data_position = True  # as far as the trainer that wrote them does

    def __init__(self, folder: str | Path, mine: bool | None = None) -> None:
        self.folder = Path(folder)
        self._mine = int(os.environ.get("LOCAL_RANK", 0)) == 0 if mine is None else mine

    def state_dict(self) -> dict[str, torch.Tensor]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file()) if self._mine else []
        return {str(path.relative_to(self.folder)): _mapped(path) for path in paths}

    def load_state_dict(self, files: dict[str, torch.Tensor]) -> None:
        """The folder then holds these files and no others."""
        if not self._mine:
            return
        draft = self.folder.with_name(f"{self.folder.name}.draft-{os.getpid()}")
        shutil.rmtree(draft, ignore_errors=True)
        for name, content in files.items():
            path = (draft / name).resolve()
            if not path.is_relative_to(draft.resolve()):
                raise ValueError(f"{name}: not a file of the folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.numpy().tobytes())
        shutil.rmtree(self.folder, ignore_errors=True)
        draft.rename(self.folder)

    def load_resharded(self, states: Sequence[dict[str, torch.Tensor]], rank: int, world: int) -> None:
        """What the ranks' nodes wrote together: a trainer with another number of ranks reads what it finds."""
        self.load_state_dict({name: content for state in reversed(states) for name, content in state.items()})


def resume(ckpt: Checkpoint, folder: str | Path) -> str | None:
    """Bring back the newest files that all ranks can have; their folder for the trainer, or None for a start."""
    files = Files(Path(folder) / RESTORED)
    files.folder.parent.mkdir(parents=True, exist_ok=True)
    found = ckpt.load({"files": files}) is not None
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()  # the first rank of the node has written them
    return str(files.folder) if found else None


def transformers(ckpt: Checkpoint) -> Any:
    """For Hugging Face's Trainer: each of its saves goes to the keepers too."""
    from transformers import TrainerCallback

    class CheckpointCallback(TrainerCallback):  # type: ignore[misc]
        def on_save(self, arguments: Any, state: Any, control: Any, **more: Any) -> None:
            folder = Path(arguments.output_dir) / f"checkpoint-{state.global_step}"
            ckpt.save(state.global_step, {"files": Files(folder)})

    return CheckpointCallback()


def lightning(ckpt: Checkpoint, folder: str | Path, every_steps: int = 1) -> Any:
    """For PyTorch Lightning: writes its checkpoint to the folder every so many steps, and hands it to the keepers."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback  # what it was called before

    class CheckpointCallback(Callback):  # type: ignore[misc]
        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
            step = trainer.global_step
            if step and step % every_steps == 0:
                trainer.save_checkpoint(Path(folder) / "newest" / LIGHTNING_FILE)
                ckpt.save(step, {"files": Files(Path(folder) / "newest")})

    return CheckpointCallback()


LIGHTNING_FILE = "lightning.ckpt"


def _mapped(path: Path) -> torch.Tensor:
    size = path.stat().st_size
    if not size:
        return torch.empty(0, dtype=torch.uint8)
    with open(path, "rb") as file:
        return torch.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY), dtype=torch.uint8)
