"""The position in the data: a restored run gets the batches that the uninterrupted run would have got.

A loader draws its order from random generators when an epoch begins. `Position` stores the state of those generators at
that time. After a load it replays the start of the epoch, skips consumed samples, and restores the generators.
"""

import gc
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from holdfast.training.checkpoint.fingerprint import data_fingerprint, fingerprint
from holdfast.training.checkpoint.loaders import (
    attributes,
    batch_size,
    global_order,
    is_stateful,
    makes_batches_here,
    next_indices,
    own_state,
    restore_own,
    seeds,
    set_epoch,
    start_workers,
    workers_run,
)
from holdfast.training.checkpoint.saved_position import (
    States,
    checked_position,
    generator_states,
    set_generator_states,
)

LOG = logging.getLogger("holdfast.checkpoint")

Batch = TypeVar("Batch")
Own = dict[str, dict[str, Any]]


class Draws:
    """Detects random numbers of the loader that cannot be drawn again from the epoch's start.

    They can as long as nothing else drew from the same generator since.
    """

    def __init__(self) -> None:
        self._left = _generators_now()  # state in which the loader left them
        self._shared: set[int] = set()  # generators that other code drew from

    def watch(self, step: Callable[[], Batch]) -> tuple[Batch, bool]:
        before = _generators_now()
        self._shared |= _different(self._left, before)
        value = step()
        self._left = _generators_now()
        return value, not self._shared & _different(before, self._left)


def _generators_now() -> tuple[object, ...]:
    numpy_state: Any = np.random.get_state()
    return hash(random.getstate()), (numpy_state[1].tobytes(), numpy_state[2]), torch.get_rng_state().numpy().tobytes()


def _different(one: Sequence[object], other: Sequence[object]) -> set[int]:
    return {at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b}


class Position:
    """The position in the data: `for batch in position.over(loader)` continues after the last saved batch.

    `over` sets the epoch of a sampler that has `set_epoch`. It restores the order of a shuffled DataLoader, of a
    DistributedSampler, of a torchdata StatefulDataLoader, and of any iterable with a reproducible order. `problem` says
    why the order could not be restored; it is logged once.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.batch = 0
        self.problem = ""
        self._samples = 0  # samples of this epoch, over all ranks, that earlier runs with another world size consumed
        self._before = 0  # batches of this epoch that those runs consumed: `batch` continues from there
        self._began: States = {}  # generators when the epoch began; none between two epochs
        self._own: Own = {}  # the loader's own generators and counters when the epoch began
        self._own_now: Own = {}  # the same when the state was saved
        self._first: dict[str, Any] | None = None  # counters before the first epoch
        self._moved: set[str] = set()  # counters that have changed since
        self._warm = False  # the workers of the previous epoch are reused, which draws one number less
        self._batch_size = 1
        self._loader: Any = None
        self._loader_state: Any = None  # for a loader that can save its own position
        self._print = ""  # of the last batch, to detect another order after a load
        self._data = ""  # of the data set
        self._seeds: dict[str, Any] = {}
        self._draws = Draws()
        self._loads = 0
        self._within = False  # an epoch has begun
        self._loaded = False  # nothing has been read since

    def over(self, loader: Iterable[Batch], batches: int | None = None) -> Iterator[Batch]:
        """Yields the rest of this epoch and moves the position to the start of the next one. `batches` limits the
        epoch.

        A `Checkpoint.load` inside the loop ends it: call `over` again. After a `break` the next call starts the next
        epoch.
        """
        if self._within and not self._loaded:
            self._begin_next_epoch()
        if self._loaded and not self._within:
            restore_own(loader, self._own_now)
        set_epoch(loader, self.epoch)
        self._note_data(loader)
        loads = self._loads
        with self._samples_left(loader):
            given = self._watched(loader, self._open(loader))
            for batch in islice(given, None if batches is None else max(batches - self.batch, 0)):
                self.batch += 1
                yield batch
                if self._loads != loads:
                    return
        self._begin_next_epoch()

    def _begin_next_epoch(self) -> None:
        self.epoch, self.batch, self._samples, self._before, self._print = self.epoch + 1, 0, 0, 0, ""
        self._began, self._own, self._loader_state, self._within = {}, {}, None, False

    def state_dict(self) -> dict[str, Any]:
        loader = self._loader
        if loader is not None and not self._loaded:  # the loaded state stays until the first batch after a load
            self._batch_size, self._own_now = batch_size(loader), own_state(loader)
            self._note_moved(self._own_now)
            if self._within:
                self._loader_state = loader.state_dict() if is_stateful(loader) else None
            else:
                self._warm = workers_run(loader)
        return {
            "epoch": self.epoch,
            "batch": self.batch,
            "samples": self._samples,
            "before": self._before,
            "batch_size": self._batch_size,
            "began": self._began,
            "warm": self._warm,
            "own": self._kept(self._own),
            "own_now": self._kept(self._own_now),
            "loader": self._loader_state,
            "print": self._print,
            "data": self._data,
            "seeds": self._seeds,
            "problem": self.problem,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        state, older = checked_position(state)
        self.epoch, self.batch = state["epoch"], state["batch"]
        self._samples, self._before = state["samples"], state["before"]
        self._began, self._own, self._own_now = state["began"], state["own"], state["own_now"]
        self._moved = set(self._own_now.get("counters", ()))
        self._loader_state, self._print, self._batch_size = state["loader"], state["print"], state["batch_size"]
        self._warm, self._data, self._seeds = state["warm"], state["data"], state["seeds"]
        if self.batch > self._before and not self._began:  # an older version did not save them
            self._began = generator_states()
        self._loader, self._within, self._loaded, self._loads = None, bool(self._began), True, self._loads + 1
        if state["problem"] or older:
            self._report(state["problem"] or older)

    def load_resharded(self, states: Sequence[dict[str, Any]], rank: int, world: int) -> None:
        """The position of a run with another number of ranks: samples that all of them consumed, instead of batches."""
        states = [checked_position(one)[0] for one in states]
        self.load_state_dict(states[rank % len(states)])
        first = states[0]
        if any((one["epoch"], one["batch"]) != (first["epoch"], first["batch"]) for one in states):
            self._report("the ranks that saved stood at different batches, so samples may come twice or be left out")
        self.epoch, self.batch = first["epoch"], first["batch"]
        self._samples = first["samples"] + len(states) * (first["batch"] - first["before"]) * first["batch_size"]
        self._before, self._loader_state, self._print = self.batch, None, ""
        if self._within:  # the epoch is distributed again
            self._own_now, self._within, self._began = {}, False, {}

    def _note_data(self, loader: Any) -> None:
        data = data_fingerprint(loader)
        if self._loaded and self._data and data and data != self._data:
            self._report(
                "the data set holds other samples than when the step was saved, so the same order gives other samples; "
                "if it is split at random, seed the split"
            )
        own = seeds(loader)
        if self._loaded and any(own.get(where, seed) != seed for where, seed in self._seeds.items()):
            self._report(
                "the seed of the loader is another one than when the step was saved, so its order is another one; seed "
                "the program before it makes the loader, and keep the seed"
            )
        self._data, self._seeds = data, own

    def _note_moved(self, own: Own) -> None:
        for earlier in (self._first, self._own.get("counters")):
            if earlier is not None:  # a counter may start as an attribute of its class
                now = own["counters"].items()
                self._moved |= {where for where, value in now if where not in earlier or earlier[where] != value}

    def _kept(self, own: Own) -> Own:
        """Counters that never changed are settings, which a restart may change."""
        counters = {where: value for where, value in own.get("counters", {}).items() if where in self._moved}
        return {**own, "counters": counters}

    def _open(self, loader: Any) -> Iterator[Any]:
        """The loader's iterator after the consumed samples; the generators keep the state in which training left
        them."""
        resume, restore = self._within and self._loaded, self._loaded
        self._loader, self._within, self._loaded = loader, True, False
        if self._first is None:
            self._first = own_state(loader)["counters"]
        now = generator_states()
        if restore and self._warm and not workers_run(loader):
            own = own_state(loader)
            start_workers(loader)  # which draws an order that is not used
            set_generator_states(now)
            restore_own(loader, own)
        if not resume:
            self._began, self._own = now, own_state(loader)
            self._note_moved(self._own)
            self._warm = workers_run(loader)
            opened: Iterator[Any] = iter(loader)
            self._draws = Draws()
            return opened
        set_generator_states(self._began)
        restore_own(loader, self._own)
        iterator = self._skip_consumed(loader)
        self._draws = Draws()
        set_generator_states(now)
        restore_own(loader, self._own_now)
        return iterator

    def _skip_consumed(self, loader: Any) -> Iterator[Any]:
        if self._loader_state is not None and is_stateful(loader):
            loader.load_state_dict(self._loader_state)
            return iter(loader)
        iterator: Iterator[Any] = iter(loader)
        step = (makes_batches_here(loader) and next_indices(loader, iterator)) or iterator.__next__
        last: object = None
        for _ in range(self.batch - self._before):
            try:
                last = step()
            except StopIteration:
                last = None
                break
        if last is not None and self._print and fingerprint(last) != self._print:
            self._report(
                f"batch {self.batch} of epoch {self.epoch} is another one than before the restart: the loader gives "
                "another order, so samples come twice or are left out, or random transforms in its workers give other "
                "numbers"
            )
        return iterator

    def _watched(self, loader: Any, iterator: Any) -> Iterator[Any]:
        """Records a fingerprint of each batch, to recognise it after a load, and draws that cannot be repeated."""
        step = next_indices(loader, iterator)
        if step is not None:  # random transforms change the content of a batch, so its indices identify the order
            here, replayed = makes_batches_here(loader), not is_stateful(loader)
            iterator._next_index = partial(self._watched_step, step, "sampler", here)
            try:
                for batch in iterator:
                    if replayed and not here:
                        self._print = fingerprint(batch)
                    yield batch
            finally:
                del iterator._next_index  # persistent workers use this iterator again
        elif is_stateful(loader):
            yield from iterator
        else:
            while True:
                try:
                    batch = self._watched_step(iterator.__next__, "data set", True)
                except StopIteration:
                    return
                yield batch

    def _watched_step(self, step: Callable[[], Any], what: str, noted: bool) -> Any:
        value, again = self._draws.watch(step)
        if not again:
            self._report(
                f"the {what} draws from the random generators of training while it runs, so what it gives may differ "
                "after a load; give it a generator of its own, or use torchdata's StatefulDataLoader"
            )
        if noted:
            self._print = "" if self.problem else fingerprint(value)
        return value

    @contextmanager
    def _samples_left(self, loader: Any) -> Iterator[None]:
        """Samples that no rank consumed before the number of ranks changed, distributed again."""
        if not self._samples:
            yield
            return
        order = global_order(loader)
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
        with attributes(loader.batch_sampler, sampler=dealt[sampler.rank :: sampler.num_replicas]):
            yield

    def _report(self, problem: str) -> None:
        if not self.problem:
            LOG.warning("position in the data: %s", problem)
        self.problem = self.problem or problem


def untracked_loader(parts: Iterable[object]) -> str:
    """Why these parts of a state do not contain the order of the data; "" if they do, or if no DataLoader runs.

    It searches the objects of the process once for a loader that is being read without a part that tracks it.
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
    """Whether the part of the state is a loader or sampler that saves its own position."""
    known = isinstance(part, torch.nn.Module | torch.optim.Optimizer)
    return not known and hasattr(part, "load_state_dict") and hasattr(part, "__iter__")
