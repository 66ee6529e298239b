"""The position in the data: a restored run gets the batches that the uninterrupted run would have got.

A loader draws its order from random generators when an epoch begins. `Position` stores those generators as they were
then. After a load it replays the start of the epoch, skips what was consumed, and puts the generators back.
"""

import gc
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
import xxhash
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter
from torch.utils.data.distributed import DistributedSampler

LOG = logging.getLogger("holdfast.checkpoint")
FINGERPRINT_BYTES = 1 << 16  # of each tensor: enough to tell two batches apart, cheap at every step
GENERATORS = (torch.Generator, random.Random, np.random.Generator, np.random.RandomState)

Batch = TypeVar("Batch")
States = dict[str, Any]


def generator_states() -> States:
    """The generators of this process that a loader may draw from on the CPU."""
    return {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}


def set_generator_states(states: States) -> None:
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])


class Position:
    """The place in the data: `for batch in position.over(loader)` goes on behind the last batch that was saved.

    `over` sets the epoch of a sampler that has `set_epoch`. It restores the order of a shuffled DataLoader, of a
    DistributedSampler, of a torchdata StatefulDataLoader, and of any iterable that gives the same order again.
    `problem` says why the order could not be restored; it is logged once.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.batch = 0
        self.problem = ""
        self._samples = 0  # of this epoch, over all ranks, that earlier runs of another world size consumed
        self._before = 0  # batches of this epoch that those runs consumed: `batch` counts on from there
        self._began: States = {}  # generators when the epoch began
        self._own: list[Any] = []  # the loader's own generators when the epoch began
        self._own_now: list[Any] = []  # and when the state was saved
        self._warm = False  # the workers of the epoch before were used again, which draws one number less
        self._batch_size = 1
        self._loader: Any = None
        self._loader_state: Any = None  # of a loader that can save its own position
        self._print = ""  # of the last batch, to notice another order after a load
        self._loads = 0
        self._resume = False

    def over(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        """The rest of this epoch; then the position stands at the start of the next one.

        A `Checkpoint.load` inside the loop ends it: call `over` again. After a `break` the next call starts the next
        epoch.
        """
        if self._loader is not None:
            self._begin_next_epoch()
        set_epoch(loader, self.epoch)
        self._loader, loads = loader, self._loads
        with self._samples_left(loader):
            for batch in self._watched(loader, self._open(loader)):
                self.batch += 1
                yield batch
                if self._loads != loads:
                    return
        self._begin_next_epoch()

    def _begin_next_epoch(self) -> None:
        self.epoch, self.batch, self._samples, self._before, self._print = self.epoch + 1, 0, 0, 0, ""
        self._loader, self._loader_state = None, None

    def state_dict(self) -> dict[str, Any]:
        loader = self._loader
        if loader is not None:  # between a load and the first batch what was loaded stays as it is
            self._batch_size, self._own_now = _batch_size(loader), _states(loader)
            self._loader_state = loader.state_dict() if _is_stateful(loader) else None
        return {
            "epoch": self.epoch,
            "batch": self.batch,
            "samples": self._samples,
            "before": self._before,
            "batch_size": self._batch_size,
            "began": self._began,
            "warm": self._warm,
            "own": list(self._own),
            "own_now": list(self._own_now),
            "loader": self._loader_state,
            "print": self._print,
            "problem": self.problem,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epoch, self.batch = state["epoch"], state["batch"]
        self._samples, self._before = state["samples"], state["before"]
        self._began, self._own, self._own_now = state["began"], list(state["own"]), list(state["own_now"])
        self._loader_state, self._print, self._batch_size = state["loader"], state["print"], state["batch_size"]
        self._warm = state["warm"]
        self._loader, self._resume, self._loads = None, bool(self._began), self._loads + 1
        if state["problem"]:
            self._report(state["problem"])

    def load_resharded(self, states: Sequence[dict[str, Any]], rank: int, world: int) -> None:
        """The position of a run with another number of ranks: samples that all of them consumed, not batches."""
        self.load_state_dict(states[rank % len(states)])
        first = states[0]
        if any((one["epoch"], one["batch"]) != (first["epoch"], first["batch"]) for one in states):
            self._report("the ranks that saved stood at different batches, so samples may come twice or be left out")
        self.epoch, self.batch = first["epoch"], first["batch"]
        self._samples = first["samples"] + len(states) * (first["batch"] - first["before"]) * first["batch_size"]
        self._before, self._loader_state, self._print = self.batch, None, ""
        self._resume, self._began = False, {}

    def _open(self, loader: Any) -> Iterator[Any]:
        """The loader's iterator, behind what was consumed; the generators stand as training left them."""
        resume, self._resume = self._resume, False
        if not resume:
            self._began, self._own = generator_states(), _states(loader)
            self._warm = _workers_run(loader)
            return iter(loader)
        now = generator_states()
        if self._warm and not _workers_run(loader):
            iter(loader)  # starts the workers
        set_generator_states(self._began)
        _restore(_generators(loader), self._own)
        iterator = self._skip_consumed(loader)
        set_generator_states(now)
        _restore(_generators(loader), self._own_now)
        return iterator

    def _skip_consumed(self, loader: Any) -> Iterator[Any]:
        if self._loader_state is not None and _is_stateful(loader):
            loader.load_state_dict(self._loader_state)
            return iter(loader)
        iterator: Iterator[Any] = iter(loader)
        step = _next_indices(loader, iterator) or iterator.__next__
        last: object = None
        for _ in range(self.batch - self._before):
            try:
                last = step()
            except StopIteration:
                last = None
                break
        if last is not None and self._print and fingerprint(last) != self._print:
            self._report(
                f"batch {self.batch} of epoch {self.epoch} is another one than before the restart: the loader does not "
                "give the same order again, so samples come twice or are left out"
            )
        return iterator

    def _watched(self, loader: Any, iterator: Any) -> Iterator[Any]:
        """Note a fingerprint of what is given, to recognise it after a load."""
        if not _makes_batches_here(loader):
            for batch in iterator:
                self._print = fingerprint(batch)
                yield batch
        elif isinstance(loader.dataset, IterableDataset):
            yield from self._compared(iterator)
        else:  # random transforms change the content of a batch: its indices are its order
            if (step := _next_indices(loader, iterator)) is not None:
                iterator._next_index = partial(self._note_indices, step)
            yield from iterator

    def _note_indices(self, step: Callable[[], object]) -> object:
        indices = step()
        self._print = fingerprint(indices)
        return indices

    def _compared(self, iterator: Iterator[Any]) -> Iterator[Any]:
        while True:
            before = _drawn()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            if _drawn() != before:
                self._report(
                    "the data set draws from the random generators of training while it runs, so its order cannot be "
                    "restored; give it a generator of its own, or use torchdata's StatefulDataLoader"
                )
            self._print = "" if self.problem else fingerprint(batch)
            yield batch

    @contextmanager
    def _samples_left(self, loader: Any) -> Iterator[None]:
        """After a change of the number of ranks: what no rank consumed, dealt out anew."""
        if not self._samples:
            yield
            return
        order = _global_order(loader)
        if order is None:
            self._report(
                "the number of ranks changed and the loader has no DistributedSampler: the epoch starts again in a new "
                "order, so samples come twice"
            )
            yield
            return
        sampler = loader.sampler
        rest = order[self._samples :]
        share = len(rest) // sampler.num_replicas if sampler.drop_last else -(-len(rest) // sampler.num_replicas)
        dealt = (rest + order)[: share * sampler.num_replicas]
        with _attributes(loader.batch_sampler, sampler=dealt[sampler.rank :: sampler.num_replicas]):
            yield

    def _report(self, problem: str) -> None:
        if not self.problem:
            LOG.warning("position in the data: %s", problem)
        self.problem = self.problem or problem


def untracked_loader(parts: Iterable[object]) -> str:
    """Why the order of the data is not in these parts of a state; "" where it is, or where no DataLoader runs.

    It looks through the objects of the process once: a loader that is being read, and no part that knows where it is.
    """
    for part in parts:
        if isinstance(part, Position) or is_data(part) or getattr(part, "holds_data_position", False):
            return ""
    if not any(issubclass(type(one), _BaseDataLoaderIter) for one in gc.get_objects()):
        return ""
    return (
        "a DataLoader is in use and the state does not hold the position in it: after a load the data comes in another "
        "order, from the start of an epoch; put a Position into the state and iterate over position.over(loader)"
    )


def is_data(part: object) -> bool:
    """Whether a part of the state is a loader or sampler that saves its own position."""
    known = isinstance(part, torch.nn.Module | torch.optim.Optimizer)
    return not known and hasattr(part, "load_state_dict") and hasattr(part, "__iter__")


def fingerprint(value: object) -> str:
    """A hash of a batch, of its first bytes where it is large; "" for what cannot be hashed."""
    digest = xxhash.xxh3_64()
    return digest.hexdigest() if _feed(value, digest, 0) else ""


def _feed(value: object, digest: Any, depth: int) -> bool:
    if depth > 8:
        return False
    if isinstance(value, torch.Tensor):
        flat = value.detach().reshape(-1)[: FINGERPRINT_BYTES // max(value.element_size(), 1)]
        digest.update(repr((value.dtype, tuple(value.shape))).encode())
        if not value.is_cuda:  # a GPU is not waited for
            digest.update(flat.contiguous().view(torch.uint8).numpy().tobytes())
        return True
    if isinstance(value, np.ndarray):
        digest.update(value.tobytes()[:FINGERPRINT_BYTES])
        return True
    if isinstance(value, dict):
        return all([_feed(key, digest, depth + 1) and _feed(one, digest, depth + 1) for key, one in value.items()])
    if isinstance(value, list | tuple):
        return all([_feed(one, digest, depth + 1) for one in value])
    if value is None or isinstance(value, str | bytes | int | float | bool):
        digest.update(repr(value).encode())
        return True
    return False


def set_epoch(loader: Any, epoch: int) -> None:
    """Of the first part of the loader that can be found: the same epoch gives the same order after a restart."""
    sampler = getattr(loader, "sampler", None)
    batch_sampler = getattr(loader, "batch_sampler", None)
    inner, data = getattr(batch_sampler, "sampler", None), getattr(loader, "dataset", None)
    stream = None if isinstance(loader, DataLoader) else loader  # a data set that is read without a loader
    for part in (sampler, batch_sampler, inner, data, stream):
        setter = getattr(part, "set_epoch", None)
        if callable(setter):
            setter(epoch)
            return


def _generators(loader: Any) -> list[Any]:
    """Generators that parts of the loader hold as attributes, in a fixed order."""
    sampler = getattr(loader, "sampler", None)
    batch_sampler = getattr(loader, "batch_sampler", None)
    inner = getattr(batch_sampler, "sampler", None)
    found: list[Any] = []
    for part in (loader, sampler, batch_sampler, inner, getattr(loader, "dataset", None)):
        for one in getattr(part, "__dict__", {}).values():
            if isinstance(one, GENERATORS) and not any(one is other for other in found):
                found.append(one)
    return found


def _states(loader: Any) -> list[Any]:
    return [_state(one) for one in _generators(loader)]


def _state(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.bit_generator.state if isinstance(generator, np.random.Generator) else generator.get_state()


def _restore(generators: Sequence[Any], states: Sequence[Any]) -> None:
    for generator, state in zip(generators, states, strict=False):
        if isinstance(generator, random.Random):
            generator.setstate(state)
        elif isinstance(generator, np.random.Generator):
            generator.bit_generator.state = state
        else:
            generator.set_state(state)


def _is_stateful(loader: Any) -> bool:
    """Whether it saves its position itself. Two kinds of streams are replayed instead: torchdata 0.11 skips too far at
    the second restart of one whose data set has no state, and the state of a shuffled stream of Hugging Face lacks what
    is in its shuffle buffer."""
    stream = getattr(loader, "dataset", None)
    if isinstance(stream, IterableDataset) and not hasattr(stream, "state_dict"):
        return False
    if getattr(loader, "use_stateful_dataloader", True) is False:  # Accelerate's has the methods all the same
        return False
    if _has_shuffle_buffer(getattr(loader if stream is None else stream, "_ex_iterable", None)):
        return False
    return callable(getattr(loader, "state_dict", None)) and callable(getattr(loader, "load_state_dict", None))


def _has_shuffle_buffer(examples: Any) -> bool:
    """Whether a stream of the package datasets, which is made of streams in streams, is shuffled by a buffer."""
    if examples is None:
        return False
    inner = [getattr(examples, "ex_iterable", None), *(getattr(examples, "ex_iterables", None) or ())]
    return type(examples).__name__ == "BufferShuffledExamplesIterable" or any(map(_has_shuffle_buffer, inner))


def _batch_size(loader: Any) -> int:
    size = getattr(loader, "batch_size", None) or getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    return int(size) if isinstance(size, int) else 1


def _workers_run(loader: Any) -> bool:
    return bool(getattr(loader, "persistent_workers", False)) and getattr(loader, "_iterator", None) is not None


def _makes_batches_here(loader: Any) -> bool:
    """Without worker processes, what the data set draws comes from the generators that training draws from too."""
    return isinstance(loader, DataLoader) and loader.num_workers == 0 and not _is_stateful(loader)


def _drawn() -> tuple[object, ...]:
    numpy_state: Any = np.random.get_state()
    return hash(random.getstate()), numpy_state[1].tobytes(), numpy_state[2], torch.get_rng_state().numpy().tobytes()


def _next_indices(loader: Any, iterator: Any) -> Callable[[], object] | None:
    """Goes to the next indices without reading their data; None where the data set has none, or workers read it."""
    if not _makes_batches_here(loader) or isinstance(loader.dataset, IterableDataset):
        return None
    step: Callable[[], object] | None = getattr(iterator, "_next_index", None)
    return step


def _global_order(loader: Any) -> list[int] | None:
    """The epoch's order of samples over all ranks; None where the loader has no DistributedSampler of torch."""
    sampler = getattr(loader, "sampler", None)
    if not isinstance(sampler, DistributedSampler) or getattr(loader, "batch_sampler", None) is None:
        return None
    count = len(sampler.dataset)  # type: ignore[arg-type]
    with _attributes(sampler, num_replicas=1, rank=0, num_samples=count, total_size=count):
        return list(DistributedSampler.__iter__(sampler))


@contextmanager
def _attributes(of: Any, **values: Any) -> Iterator[None]:
    before = {name: getattr(of, name) for name in values}
    for name, value in values.items():
        setattr(of, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(of, name, value)
