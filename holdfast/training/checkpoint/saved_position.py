"""A saved position in the data: its fields, defaults for older versions, and the random generators of a process."""

import random
from copy import deepcopy
from typing import Any

import numpy as np
import torch

States = dict[str, Any]
EMPTY: dict[str, Any] = {
    "epoch": 0,
    "batch": 0,
    "samples": 0,
    "before": 0,
    "batch_size": 1,
    "began": {},
    "warm": False,
    "own": {},
    "own_now": {},
    "print": "",
    "data": "",
    "seeds": {},
    "problem": "",
}


def checked_position(state: Any) -> tuple[dict[str, Any], str]:
    """A saved position with all fields; fields that an older version did not save get defaults. Raises ValueError."""
    if not isinstance(state, dict) or not {"epoch", "batch"} <= state.keys():
        raise ValueError("not a position in the data")
    older = ""
    if missing := [name for name in EMPTY if not isinstance(state.get(name), type(EMPTY[name]))]:
        known = {name: value for name, value in state.items() if name not in missing}
        for name in missing:  # earlier versions lacked fields, or had the loader's generators in a list
            if name in state and not (name in ("own", "own_now") and isinstance(state[name], list)):
                raise ValueError(f"not a position in the data: {name} is a {type(state[name]).__name__}")
        state = {**deepcopy(EMPTY), **known}
        older = (
            "an older version of Holdfast saved this step, without all that the loader draws from: data may come in "
            "another order until the end of this epoch"
        )
    state = {"loader": None, **state}
    if min(state[name] for name in ("epoch", "batch", "samples", "before", "batch_size")) < 0:
        raise ValueError("not a position in the data: a negative number")
    if state["began"]:
        now = generator_states()
        try:
            set_generator_states(state["began"])
        finally:
            set_generator_states(now)
    return state, older


def generator_states() -> States:
    """The generators of this process that a loader may draw from on the CPU."""
    return {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}


def set_generator_states(states: States) -> None:
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
