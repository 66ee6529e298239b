"""Parts of a training state that are easy to forget: random generators, sharded models and their optimizers."""

import gc
import logging
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from holdfast.training.checkpoint.saved_position import generator_states, set_generator_states

LOG = logging.getLogger("holdfast.checkpoint")


class Random:
    """The generators of Python, NumPy, torch and every visible GPU."""

    def state_dict(self) -> dict[str, Any]:
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        return {**generator_states(), "cuda": cuda}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        set_generator_states(state)
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count != len(state["cuda"]):
            LOG.warning("random numbers: saved with %d visible GPUs, now %d; theirs differ", len(state["cuda"]), count)
        elif count:
            torch.cuda.set_rng_state_all(state["cuda"])

    def load_resharded(self, states: Sequence[dict[str, Any]], rank: int, world: int) -> None:
        """Ranks that existed keep their own generators; a new rank must not repeat the numbers of another."""
        self.load_state_dict(states[rank % len(states)])
        if rank >= len(states):
            seed = (int(torch.randint(2**62, ())) + rank) % 2**63
            random.seed(seed)
            np.random.seed(seed % 2**32)
            torch.manual_seed(seed)


def forgotten_scaler(parts: Iterable[object]) -> str:
    """A message if mixed precision is in use and none of these parts holds its loss scale; "" otherwise.

    Only for states with an optimizer: a trainer that saves files keeps the scale in them.
    """
    parts = list(parts)
    if not any(isinstance(part, torch.optim.Optimizer | Parallel) for part in parts):
        return ""
    if any(isinstance(part, torch.amp.GradScaler) or _is_scale(part) for part in parts):
        return ""
    if not any(issubclass(type(one), torch.amp.GradScaler) and one._scale is not None for one in gc.get_objects()):
        return ""
    return (
        "a GradScaler is in use and the state does not hold it: after a load the loss scale has its initial "
        "value, and steps are skipped or rounded differently; put the scaler into the state"
    )


def _is_scale(part: object) -> bool:
    """Whether the value is the `state_dict` of a gradient scaler."""
    return isinstance(part, dict) and "_growth_tracker" in part


class Parallel:
    """A model under DDP, FSDP2 or tensor parallelism with its optimizer; each rank saves its own shards."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.model, self.optimizer = model, optimizer

    def state_dict(self) -> dict[str, Any]:
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
