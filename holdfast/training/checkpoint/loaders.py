"""Parts of a data loader: its generators and counters, its epoch, its indices."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler
from torch.utils.data.distributed import DistributedSampler

PLAIN = (int, float, str, type(None))
OPAQUE = (torch.Tensor, np.ndarray, torch.nn.Module, type, ModuleType, FunctionType)
DEPTH, MOST_THINGS, MOST_ITEMS = 5, 500, 64  # most objects of a loader that a save visits
RUNNING = "_iterator"  # attributes of a DataLoader with persistent workers that are no part of its state
GENERATORS = (torch.Generator, random.Random, np.random.Generator, np.random.RandomState)


def set_epoch(loader: Any, epoch: int) -> None:
    """Sets the epoch of every part of the loader that has one: the same epoch gives the same order after a restart."""
    for part in _parts(loader).values():
        setter = getattr(part, "set_epoch", None)
        if callable(setter):
            setter(epoch)


def own_state(loader: Any) -> dict[str, dict[str, Any]]:
    """Generators at any depth of the loader, and plain values of its parts, by their path."""
    generators = {where: _state(one) for where, one in _generators(loader).items()}
    return {"generators": generators, "counters": _counters(loader)}


def restore_own(loader: Any, state: dict[str, dict[str, Any]]) -> None:
    for where, generator in _generators(loader).items():
        if where in state.get("generators", {}):
            _restore(generator, state["generators"][where])
    now, parts = _counters(loader), _data_parts(loader)
    for where, value in state.get("counters", {}).items():
        part, _, name = where.rpartition(".")
        if part in parts and (where not in now or now[where] != value):
            with suppress(AttributeError, ValueError, TypeError):  # a value that its class guards is not a counter
                setattr(parts[part], name, value)


def seeds(loader: Any) -> dict[str, Any]:
    """Seeds of the loader's parts: another seed gives another order."""
    return {where: value for where, value in _counters(loader).items() if "seed" in where.rpartition(".")[2]}


def _parts(loader: Any) -> dict[str, Any]:
    batch_sampler = getattr(loader, "batch_sampler", None)
    named = {
        "loader": loader,
        "sampler": getattr(loader, "sampler", None),
        "batch_sampler": batch_sampler,
        "batch_sampler.sampler": getattr(batch_sampler, "sampler", None),
        "dataset": getattr(loader, "dataset", None),
        "base_dataloader": getattr(loader, "base_dataloader", None),  # in Accelerate's loaders
    }
    distinct = {id(part): where for where, part in reversed(named.items()) if part is not None}
    return {where: part for where, part in named.items() if distinct.get(id(part)) == where}


def _data_parts(loader: Any) -> dict[str, Any]:
    """The parts, and samplers and data sets inside them, such as the data set of a Subset."""
    found = _parts(loader)
    for where, part in _inside(found):
        if isinstance(part, Dataset | Sampler):
            found[where] = part
    return found


def _generators(loader: Any) -> dict[str, Any]:
    return {where: one for where, one in _inside(_parts(loader)) if isinstance(one, GENERATORS)}


def _inside(parts: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Attributes of the parts, recursively, each object once and with its path."""
    seen = {id(part) for part in parts.values()}
    level = list(parts.items())
    for _ in range(DEPTH):
        below = [(f"{where}.{name}", one) for where, part in level for name, one in _attributes_of(part)]
        level = []
        for where, one in below:
            if id(one) not in seen and len(seen) < MOST_THINGS:
                seen.add(id(one))
                level.append((where, one))
        yield from level


def _attributes_of(thing: Any) -> list[tuple[str, Any]]:
    if isinstance(thing, dict | list | tuple):  # not a list of samples, but one of a few transforms
        items = thing.items() if isinstance(thing, dict) else enumerate(thing)
        named = [(str(name), one) for name, one in items] if len(thing) <= MOST_ITEMS else []
    elif isinstance(thing, OPAQUE):
        named = []
    else:
        named = [(name, one) for name, one in getattr(thing, "__dict__", {}).items() if name != RUNNING]
    return [(name, one) for name, one in named if not isinstance(one, PLAIN)]


def _counters(loader: Any) -> dict[str, Any]:
    """Plain values, such as an epoch that a sampler counts itself."""
    return {
        f"{where}.{name}": value
        for where, part in _data_parts(loader).items()
        for name, value in getattr(part, "__dict__", {}).items()
        if isinstance(value, PLAIN) and name != RUNNING
    }


def _state(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.bit_generator.state if isinstance(generator, np.random.Generator) else generator.get_state()


def _restore(generator: Any, state: Any) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    else:
        generator.set_state(state)


def is_stateful(loader: Any) -> bool:
    """Whether the loader saves its position itself.

    Four kinds are replayed instead. torchdata 0.11 skips too far at the second restart of a stream whose data set has
    no state, and starts the iteration of foreign samplers twice. The state of a shuffled stream of Hugging Face lacks
    the content of its shuffle buffer. Accelerate's loaders draw random numbers only with their first batch.
    """
    stream = getattr(loader, "dataset", None)
    if isinstance(stream, IterableDataset) and not hasattr(stream, "state_dict"):
        return False
    sampler = None if isinstance(stream, IterableDataset) else getattr(loader, "sampler", None)
    if sampler is not None and not type(sampler).__module__.startswith("torch") and not hasattr(sampler, "state_dict"):
        return False
    if hasattr(loader, "use_stateful_dataloader"):  # Accelerate's loaders
        return False
    if _has_shuffle_buffer(getattr(loader if stream is None else stream, "_ex_iterable", None)):
        return False
    return callable(getattr(loader, "state_dict", None)) and callable(getattr(loader, "load_state_dict", None))


def _has_shuffle_buffer(examples: Any) -> bool:
    """Whether a stream of the package datasets, which nests streams, is shuffled by a buffer."""
    if examples is None:
        return False
    inner = [getattr(examples, "ex_iterable", None), *(getattr(examples, "ex_iterables", None) or ())]
    return type(examples).__name__ == "BufferShuffledExamplesIterable" or any(map(_has_shuffle_buffer, inner))


def batch_size(loader: Any) -> int:
    size = getattr(loader, "batch_size", None) or getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    return int(size) if isinstance(size, int) else 1


def workers_run(loader: Any) -> bool:
    return bool(getattr(loader, "persistent_workers", False)) and getattr(loader, RUNNING, None) is not None


def start_workers(loader: Any) -> None:
    """Starts the workers of the loader inside Accelerate's loaders, which start only with their first batch."""
    iter(getattr(loader, "base_dataloader", loader))


def makes_batches_here(loader: Any) -> bool:
    """Whether the loader has no worker processes: then its data set draws from the same generators as the training."""
    return isinstance(loader, DataLoader) and loader.num_workers == 0 and not is_stateful(loader)


def next_indices(loader: Any, iterator: Any) -> Callable[[], object] | None:
    """Advances by one batch of indices without reading data; None if the data set has no indices."""
    if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
        return None
    step: Callable[[], object] | None = getattr(iterator, "_next_index", None)
    return step


def global_order(loader: Any) -> list[int] | None:
    """The epoch's order of samples over all ranks; None without a DistributedSampler of torch."""
    sampler = getattr(loader, "sampler", None)
    if not isinstance(sampler, DistributedSampler) or getattr(loader, "batch_sampler", None) is None:
        return None
    count = len(sampler.dataset)  # type: ignore[arg-type]
    with attributes(sampler, num_replicas=1, rank=0, num_samples=count, total_size=count):
        return list(DistributedSampler.__iter__(sampler))


@contextmanager
def attributes(of: Any, **values: Any) -> Iterator[None]:
    before = {name: getattr(of, name) for name in values}
    for name, value in values.items():
        setattr(of, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(of, name, value)
