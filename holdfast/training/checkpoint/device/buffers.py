"""The keeper's GPU memory: one buffer per rank, on another GPU than the rank's where possible.

A trainer's allocation is freed when it dies, so the keeper allocates. The trainer opens the memory by a handle of the
CUDA runtime and copies into it from GPU to GPU. The keeper then takes the copy to host memory, from where it is treated
like any other copy. The data on the GPU remains there as the nearest copy of the newest step.
"""

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from holdfast.training.checkpoint.device import pages as device_pages
from holdfast.training.checkpoint.device.runtime import CudaError, Runtime, open_runtime
from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.shard_store import Copy
from holdfast.training.checkpoint.keeper.wire import Message

LOG = logging.getLogger(__name__)
UNIT = 2 << 20  # smaller allocations share a block, and a handle would open the whole block
WORD = 8

NOT_USED = "it is not used, copies go to host memory"

Sums = Sequence[tuple[int, int, int]]  # of each part: offset, size in bytes, sum of its words


@dataclass(slots=True)
class Buffer:
    pointer: int
    size: int
    handle: bytes
    device: int
    gpu: str
    owner: str  # the rank's own GPU
    step: int = -1  # step in the buffer; -1 while it is written
    row: list[object] = field(default_factory=list)


class Shelf:
    def __init__(self, troubles: dict[str, str]) -> None:
        self._troubles = troubles
        self._runtime: Runtime | None = None
        self._buffers: dict[int, Buffer] = {}
        self._failed: dict[int, str] = {}
        self._lock = threading.Lock()

    def greet(self, rank: int) -> None:
        """Registers a new process of this rank: operations that failed for the last one may be tried again."""
        with self._lock:
            self._troubles.pop(about(rank), None)
            if self._failed.pop(rank, None) is not None:
                self._give_back(rank)

    def lend(self, rank: int, size: int, budget: int, owner: str) -> Message:
        """The handle of a buffer for this rank's next copy. The previous content is also in host memory, and is
        dropped here."""
        with self._lock:
            try:
                buffer = self._buffer_for(rank, size, budget, owner)
            except CudaError as error:
                self._troubles[about(rank)] = f"{NOT_USED}: {error}"
                raise
            buffer.step = -1
            return {"handle": buffer.handle, "gpu": buffer.gpu, "size": buffer.size}

    def _buffer_for(self, rank: int, size: int, budget: int, owner: str) -> Buffer:
        if rank in self._failed:
            raise CudaError(self._failed[rank])
        buffer = self._buffers.get(rank)
        if buffer is None or buffer.size < size or buffer.owner != owner:
            return self._allocate(rank, size, budget, owner)
        return buffer

    def take(self, rank: int, step: int, size: int, sums: Sums, pages: Pages) -> None:
        """Takes the copy to host memory and verifies that it equals the rank's data.

        After a failure the buffer stays allocated: the rank has it open, and memory that another process has open must
        not be freed.
        """
        buffer = self._buffers.get(rank)
        if buffer is None or self._runtime is None:
            raise CudaError(f"step {step} of rank {rank} is not in GPU memory")
        try:
            self._runtime.use(buffer.device)
            device_pages.lock(self._runtime, pages)
            self._runtime.copy(device_pages.address_of(pages.map), buffer.pointer, min(size, buffer.size))
            self._runtime.wait()
            _compare(sums, pages)
        except CudaError as error:
            self._failed[rank] = f"step {step} of rank {rank} was lost on GPU {buffer.gpu}: {error}"
            raise CudaError(self._failed[rank]) from error

    def landed(self, copy: Copy) -> None:
        buffer = self._buffers[copy.rank]
        buffer.step, buffer.row = copy.step, copy.row()

    def fetch(self, rank: int, step: int) -> Message:
        buffer = self._buffers.get(rank)
        if buffer is None or buffer.step != step:
            raise CudaError(f"step {step} of rank {rank} is not in GPU memory")
        return {"handle": buffer.handle, "gpu": buffer.gpu}

    def rewind(self, step: int) -> None:
        """Drops copies after this step, from which the job starts again: they belong to a run that has ended."""
        for buffer in self._buffers.values():
            buffer.step = buffer.step if buffer.step <= step else -1

    def steps(self) -> dict[int, int]:
        """The step in each rank's buffer."""
        return {rank: buffer.step for rank, buffer in self._buffers.copy().items() if buffer.step >= 0}

    def rows(self) -> list[list[object]]:
        return [buffer.row for _, buffer in sorted(self._buffers.copy().items()) if buffer.step >= 0]

    def clear(self) -> None:
        """Frees all buffers after the ranks left: another job may use the GPUs now, and host memory has all copies."""
        with self._lock:
            devices = {buffer.device for buffer in self._buffers.values()}
            self._buffers.clear()
            self._failed.clear()
            for device in devices:
                assert self._runtime is not None
                with suppress(CudaError):  # a lost device has nothing to free
                    self._runtime.use(device)
                    self._runtime.leave()

    def _allocate(self, rank: int, size: int, budget: int, owner: str) -> Buffer:
        self._give_back(rank)
        size = -(-size // UNIT) * UNIT
        if size > budget:
            raise CudaError(f"{size} bytes for rank {rank} exceed the granted {budget}")
        if self._runtime is None:
            self._runtime = open_runtime()
        device = self._device_for(rank, owner)
        self._runtime.use(device)
        gpu, free = self._runtime.bus_id(device), self._runtime.free_bytes()
        try:
            pointer = self._runtime.allocate(size)
        except CudaError as error:
            raise CudaError(f"GPU {gpu} has no {size} bytes for rank {rank}, {free} are free: {error}") from error
        self._buffers[rank] = Buffer(pointer, size, self._runtime.handle(pointer), device, gpu, owner)
        LOG.info("rank %d of GPU %s: %d bytes of GPU %s for its copies", rank, owner, size, gpu)
        return self._buffers[rank]

    def _device_for(self, rank: int, owner: str) -> int:
        """The next GPU that the rank's own can reach, so that a GPU that fails does not take its own copy with it."""
        assert self._runtime is not None
        count, own = self._runtime.count(), self._runtime.device_of(owner)
        if own is None:  # ranks that see one GPU each: the keeper sees the GPU of the rank that started it
            return rank % count
        others = [(own + step) % count for step in range(1, count)]
        return next((other for other in others if self._runtime.reaches(own, other)), own)

    def _give_back(self, rank: int) -> None:
        buffer = self._buffers.pop(rank, None)
        if buffer is not None and self._runtime is not None:
            with suppress(CudaError):  # a lost device has nothing to free
                self._runtime.free(buffer.pointer)


def about(rank: int) -> str:
    """Key of a problem, for the list of current problems."""
    return f"GPU memory of rank {rank}"


def _compare(sums: Sums, pages: Pages) -> None:
    for place, size, expected in sums:
        if _word_sum(pages, place, size) != expected:
            raise CudaError(f"the copy differs from the rank's memory at byte {place} of the copy")


def _word_sum(pages: Pages, place: int, size: int) -> int:
    """Equals `guard.hash.word_sum` of the tensor's bytes: the wrapping sum of words, with the remaining bytes as one
    more word."""
    import numpy as np  # imported only by a keeper with GPU memory

    if size == 1:
        return int(np.frombuffer(pages.map, np.int8, 1, place)[0])
    total = int(np.frombuffer(pages.map, np.int64, size // WORD, place).sum())
    rest = int.from_bytes(pages.map[place + size // WORD * WORD : place + size], "little")
    return (total + rest + (1 << 63)) % (1 << 64) - (1 << 63)
