"""Replays a suspicious step here and on the next rank: transient fault, hardware or data?

Every rank computes its own batch again, then that of its left neighbour. If the same device gives other bits than the
first time, the fault is transient. A device that disagrees with both of its neighbours is faulty. If all agree, the
data is the cause. Under data parallelism the parameters are equal everywhere, so only the batch is sent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch

from holdfast.training.checkpoint.agreement import Circle
from holdfast.training.checkpoint.format.encoding import Encoded, decode, encode
from holdfast.training.checkpoint.parts import Random

Compute = Callable[[Any], torch.Tensor]  # takes a batch, returns loss, gradient norm or both; must not change the model


class ReplayCause(StrEnum):
    TRANSIENT = "transient"
    PERSISTENT = "persistent"
    DATA = "the data did it"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Replayed:
    cause: ReplayCause
    ranks: tuple[int, ...]  # ranks with another result; empty if there are none
    what: str
    step: int = -1  # the step that was computed again
    since: int = -1  # the first step whose checkpoints are not trusted; -1: none

    @property
    def suspect(self) -> bool:
        return self.since >= 0

    def sentence(self) -> str:
        who = f"rank{'s' if len(self.ranks) > 1 else ''} {', '.join(map(str, self.ranks))}: " if self.ranks else ""
        return f"{who}{self.cause} at step {self.step}: {self.what}; {self.advice()}"

    def advice(self) -> str:
        """Untrusted checkpoints and what to do, in one sentence."""
        back = f"checkpoints of steps {self.since} to {self.step} are suspect: use an earlier one"
        match self.cause:
            case ReplayCause.TRANSIENT:
                return f"{back}; the machine continues; test it if this happens again"
            case ReplayCause.PERSISTENT:
                return f"{back}, and take the machine out of service for a test"
            case ReplayCause.DATA:
                return f"no checkpoint is suspect: go back to one before step {self.step} and skip this batch"
        return "no checkpoint is proven right or wrong: run the step on another machine"


def replay(circle: Circle, compute: Compute, batch: object, observed: torch.Tensor, before: dict[str, Any]) -> Replayed:
    """Replays the step, on all ranks together. `before` is `Random().state_dict()` from the start of the step, for
    dropout."""
    first = _bits(observed)
    again = _bits(_run(compute, batch, before))
    reported = circle.share([_pack(batch), _pack(before)])
    left = (circle.rank - 1) % circle.world
    theirs = _bits(_run(compute, _unpack(reported[left][0]), _unpack(reported[left][1])))
    rows = circle.share([first, again, theirs])
    return judge([(row[0], row[1]) for row in rows], [rows[(rank + 1) % circle.world][2] for rank in range(len(rows))])


def judge(own: Sequence[tuple[bytes, bytes]], elsewhere: Sequence[bytes]) -> Replayed:
    """Compares results. `own`: first and second result of each rank; `elsewhere`: the same batch on the rank to its
    right."""
    world = len(own)
    accidents = tuple(rank for rank, (first, again) in enumerate(own) if first != again)
    if accidents:
        return Replayed(ReplayCause.TRANSIENT, accidents, "the same device gave another result the second time")
    if world == 1:
        return Replayed(
            ReplayCause.UNKNOWN, (), "the result is the same again; there is no other device to compare with"
        )
    apart = [rank for rank in range(world) if own[rank][1] != elsewhere[rank]]
    if not apart:
        return Replayed(ReplayCause.DATA, (), "every device computes the same from this batch")
    liars = tuple(rank for rank in apart if (rank - 1) % world in apart and world > 2)
    if len(liars) == 1:
        return Replayed(ReplayCause.PERSISTENT, liars, "both neighbours compute something else from the same batch")
    pairs = tuple(sorted({one for rank in apart for one in (rank, (rank + 1) % world)}))
    return Replayed(ReplayCause.PERSISTENT, pairs, "they disagree about the same batch, and no third one decides")


def _run(compute: Compute, batch: Any, before: dict[str, Any]) -> torch.Tensor:
    here = Random()
    now = here.state_dict()
    here.load_state_dict(before)
    try:
        return compute(batch)
    finally:
        here.load_state_dict(now)


def _bits(value: torch.Tensor) -> bytes:
    return value.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def _pack(value: object) -> list[Any]:
    encoded: Encoded = encode(value)
    rows = [[str(tensor.dtype), list(tensor.shape), str(tensor.device), _bits(tensor)] for tensor in encoded.tensors]
    return [encoded.tree, rows]


def _unpack(packed: list[Any]) -> Any:
    from holdfast.training.checkpoint.format.encoding import DTYPES

    tree, rows = packed
    tensors = []
    for dtype, shape, device, raw in rows:
        flat = torch.frombuffer(bytearray(raw), dtype=torch.uint8) if raw else torch.empty(0, dtype=torch.uint8)
        tensors.append(flat.view(DTYPES[dtype]).reshape(shape).to(_like(device)))
    return decode(tree, tensors)


def _like(device: str) -> torch.device:
    """Moves the batch from its rank's GPU to ours."""
    return torch.device("cuda", torch.cuda.current_device()) if device.startswith("cuda") else torch.device("cpu")
