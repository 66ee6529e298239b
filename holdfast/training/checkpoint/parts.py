"""Parts of a training state that are easily forgotten: random generators, the place in the data, sharded models."""

import random
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import torch
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

Batch = TypeVar("Batch")


class Random:
    """The generators of Python, NumPy, torch and every visible GPU."""

    def state_dict(self) -> dict[str, Any]:
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        return {
            "python": random.getstate(),
            "numpy": np.random.get_state(),
            "torch": torch.get_rng_state(),
            "cuda": cuda,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        random.setstate(state["python"])
        np.random.set_state(state["numpy"])
        torch.set_rng_state(state["torch"])
        if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(state["cuda"])


class Position:
    """The place in the data: `for batch in position.over(loader)` goes on behind the last batch that was saved.

    The loader must give the same order again for the same epoch; `epoch` is there to seed its shuffling.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.batch = 0

    def over(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        """The rest of this epoch; then the position stands at the start of the next one."""
        seen = self.batch
        for at, batch in enumerate(loader):
            if at >= seen:
                self.batch = at + 1
                yield batch
        self.epoch, self.batch = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "batch": self.batch}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.epoch, self.batch = state["epoch"], state["batch"]


class Parallel:
    """A model under DDP or FSDP2 with its optimizer; each rank keeps its own shards. Same world size at load."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._model, self._optimizer = model, optimizer

    def state_dict(self) -> dict[str, Any]:
        model, optimizer = get_state_dict(self._model, self._optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        set_state_dict(
            self._model, self._optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
        )
