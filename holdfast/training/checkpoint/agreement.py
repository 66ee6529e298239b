"""Exchange between ranks: every rank sends a few plain values and receives those of all. No pickle, no GPU."""

import os
from typing import Any

import torch
import torch.distributed as dist

from holdfast.training.checkpoint.format.message import pack, unpack


class Circle:
    """All ranks of the job, in a process group of their own, so that they never wait behind the training's
    collectives."""

    def __init__(self) -> None:
        together = dist.is_available() and dist.is_initialized()
        others = os.environ.get("WORLD_SIZE", "")
        if not together and others.isdecimal() and int(others) > 1:  # otherwise each would act as rank 0 of one
            raise RuntimeError(
                f"a launcher started {others} ranks (WORLD_SIZE), and torch.distributed is not initialised: call "
                "init_process_group before Checkpoint"
            )
        self.rank = dist.get_rank() if together else 0
        self.world = dist.get_world_size() if together else 1
        self._group: Any = dist.new_group(backend="gloo") if together and self.world > 1 else None

    def share(self, value: object) -> list[Any]:
        """The values of all ranks, in rank order."""
        raw = pack(value)
        if self._group is None:
            return [unpack(raw)]
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.world)]
        dist.all_gather(sizes, torch.tensor([len(raw)]), group=self._group)
        longest = int(max(sizes))
        mine = torch.zeros(longest, dtype=torch.uint8)
        mine[: len(raw)] = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
        theirs = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.world)]
        dist.all_gather(theirs, mine, group=self._group)
        return [unpack(bytes(one[: int(size)].numpy())) for one, size in zip(theirs, sizes, strict=True)]

    def broadcast(self, content: torch.Tensor, owner: int) -> torch.Tensor:
        """The owner's tensor on all ranks; the others pass one of the same size."""
        if self._group is not None:
            content = content.clone() if self.rank == owner else content  # gloo writes into the tensor it is given
            dist.broadcast(content, owner, group=self._group)
        return content

    def all(self, answer: bool) -> bool:
        return all(self.share(answer))
