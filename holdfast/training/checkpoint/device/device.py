"""GPU memory tier of a rank: copies to the keeper's buffer on another GPU, and back.

The same code runs on CPU tensors: their pointers are host addresses, and the runtime determines the owner of each
pointer.
"""

import logging
import mmap
import os
from collections.abc import Callable
from typing import Any

import torch
import xxhash

from holdfast.training.checkpoint.device import pages as device_pages
from holdfast.training.checkpoint.device.buffers import NOT_USED, about
from holdfast.training.checkpoint.device.runtime import CudaError, Runtime, open_runtime
from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import Encoded
from holdfast.training.checkpoint.format.message import EncodingError
from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.peers import PeerRefused
from holdfast.training.checkpoint.keeper.wire import Message
from holdfast.training.checkpoint.keeper_client import Held, Keeper
from holdfast.training.guard.hash import word_sum

LOG = logging.getLogger(__name__)
COPYABLE = ("cpu", "cuda")


class GpuMemory:
    """Copies through GPU memory. Off unless configured, and off after the first failure; copies then go through host
    memory."""

    def __init__(self, budget_bytes: int, say: Callable[[str, str], None]) -> None:
        self.budget_bytes, self._say = budget_bytes, say
        self.trouble = ""
        self.gpu = ""  # device of the buffer
        self._owner = ""  # device of this rank
        self._runtime: Runtime | None = None
        self._opened: tuple[bytes, int, int] | None = None  # handle, pointer, size
        self._given_up = not budget_bytes
        self._lockable = True

    def put(self, keeper: Keeper, plan: shard.ShardLayout, encoded: Encoded, order: Message) -> bool:
        """Copies the state into the keeper's buffer on a GPU. Returns False if that is not possible."""
        if self._given_up or any(tensor.device.type not in COPYABLE for tensor in encoded.tensors):
            return False
        try:
            runtime = self._begin()
            self._close(smaller_than=plan.size)
            request = {"size": plan.size, "budget": self.budget_bytes, "gpu": self._owner}
            pointer = self._open(runtime, keeper.lend(request))
            sums = _copy(runtime, plan, encoded, pointer)
        # RuntimeError: no room for tensors that are not contiguous
        except (CudaError, PeerRefused, RuntimeError) as error:
            self._give_up(error, keeper.rank)
            return False
        keeper.land({**order, "sums": sums})
        return True

    def get(self, keeper: Keeper, step: int, attempt: str) -> shard.Shard | None:
        """This rank's copy of the step; None if it is not here. Its hash is checked as for every other copy."""
        rows = [Held.of(row) for row in keeper.about.get("on_gpu", [])]
        wanted = (keeper.rank, step, attempt)
        held = next((row for row in rows if (row.rank, row.step, row.attempt) == wanted), None)
        if self._given_up or held is None:
            return None
        try:
            return self._fetch(keeper, held)
        except CudaError as error:
            self._give_up(error, keeper.rank)
        except (OSError, EncodingError) as error:
            self._say("load", f"step {step} from GPU memory: {error}")
        return None

    def _fetch(self, keeper: Keeper, held: Held) -> shard.Shard:
        runtime = self._begin()
        pointer = self._open(runtime, keeper.fetch_gpu(held.step))
        buffer = mmap.mmap(-1, held.size)
        runtime.copy(device_pages.address_of(buffer), pointer, held.size)
        runtime.wait()
        if xxhash.xxh3_128_hexdigest(buffer) != held.digest:
            raise EncodingError("the bytes differ from those that were saved")
        return shard.read(buffer, held.size)

    def lock(self, pages: Pages, encoded: Encoded) -> None:
        """Page-locks host memory that a GPU will write; otherwise copies go through another buffer."""
        if self._runtime is None and self._lockable and any(tensor.is_cuda for tensor in encoded.tensors):
            try:
                self._begin()
            except CudaError as error:
                self._lockable = False
                LOG.info("host memory is not page-locked: %s", error)
        if self._runtime is not None:
            device_pages.lock(self._runtime, pages)

    def describe(self) -> Message:
        if self.trouble or not self.budget_bytes:
            why = self.trouble or "gpu_bytes was not given"
            text = f"not used, copies go to a buffer of the keeper's process in host memory: {why}"
        elif not self.gpu:
            text = "nothing was saved yet"
        else:
            text = (
                "another GPU than the rank's" if self.gpu != self._owner else "the rank's own GPU: no other is reached"
            )
        library = self._runtime.name if self._runtime else ""
        return {"where": text, "gpu": self.gpu, "budget_bytes": self.budget_bytes, "library": library}

    def _begin(self) -> Runtime:
        """Loads the runtime and selects this rank's own GPU."""
        if self._runtime is None:
            self._runtime = open_runtime()
        device = _own_device(self._runtime)
        self._runtime.use(device)
        self._owner = self._runtime.bus_id(device)
        return self._runtime

    def _open(self, runtime: Runtime, answer: Message) -> int:
        if self._opened is None or self._opened[0] != answer["handle"]:
            self._close()
            self._opened = answer["handle"], runtime.open(answer["handle"]), int(answer.get("size", 0))
        self.gpu = str(answer["gpu"])
        return self._opened[1]

    def _close(self, smaller_than: int | None = None) -> None:
        """Closes the buffer before the keeper frees it: the content of memory that is freed while open is undefined."""
        if self._opened is None or (smaller_than is not None and self._opened[2] >= smaller_than):
            return
        _, pointer, _ = self._opened
        self._opened = None
        try:
            assert self._runtime is not None
            self._runtime.close(pointer)
        except CudaError as error:
            LOG.info("a buffer of a keeper that is gone: %s", error)

    def close(self) -> None:
        self._close()

    def _give_up(self, error: Exception, rank: int) -> None:
        self._close()
        self._given_up, self.trouble, self.gpu = True, str(error), ""
        if not isinstance(error, PeerRefused):  # the keeper itself reports its refusals
            self._say(about(rank), f"{NOT_USED}: {error}")


def _own_device(runtime: Runtime) -> int:
    cuda: Any = torch.cuda
    if cuda.is_available():
        return int(cuda.current_device())
    return int(os.environ.get("LOCAL_RANK", 0)) % runtime.count()


def _copy(runtime: Runtime, plan: shard.ShardLayout, encoded: Encoded, pointer: int) -> list[tuple[int, int, int]]:
    """Copies all parts into the buffer; returns for each the offset, and the sum of its words before the copy."""
    first = min(plan.offsets, default=plan.size)
    head = torch.frombuffer(bytearray(plan.head.ljust(first, b"\0")), dtype=torch.uint8)
    sources = [head, *map(_bytes, encoded.tensors)]
    places = [0, *plan.offsets]
    sums = [word_sum(source) for source in sources]
    for device in {source.device for source in sources if source.is_cuda}:
        # Copies run on our own stream, after the work that training has queued on its stream.
        cuda: Any = torch.cuda
        cuda.current_stream(device).synchronize()
    for source, place in zip(sources, places, strict=True):
        runtime.copy(pointer + place, source.data_ptr(), source.numel())
    runtime.wait()
    near = max(sums, key=lambda total: total.is_cuda).device
    totals: list[int] = torch.stack([total.to(near) for total in sums]).tolist()  # waits for the GPU once
    rows = zip(places, sources, totals, strict=True)
    return [(place, source.numel(), total) for place, source, total in rows if source.numel()]


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor in the order of its elements; without a copy if it is contiguous."""
    plain = tensor.resolve_conj().resolve_neg().contiguous()
    if plain.is_complex():
        plain = torch.view_as_real(plain)
    return plain.reshape(-1).view(torch.uint8)
