"""A restored run gets the batches, and leaves the generators, of the run that was not interrupted."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    random_split,
)
from torchdata.stateful_dataloader import StatefulDataLoader

from holdfast.training import Position, Random
from holdfast.training.checkpoint.callbacks import Files
from holdfast.training.checkpoint.format.encoding import decode, encode
from holdfast.training.checkpoint.position import untracked_loader
from tests.counts import draws

SAMPLES = 23


class Numbers(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, at: int) -> torch.Tensor:
        return torch.tensor(at)


class Jittered(Numbers):
    """A random transform: its draws come from the generators of training, or of the worker."""

    def __getitem__(self, at: int) -> torch.Tensor:
        return torch.tensor([float(at), torch.rand(()).item(), random.random()])


class Stream(IterableDataset[torch.Tensor]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(torch.arange(SAMPLES))


class ShuffledStream(Stream):
    """Draws its order while it runs, from the generator that training uses too."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        for at in range(SAMPLES):
            yield torch.tensor(at + 100 * random.randrange(9))


class OwnRandom(Sampler[int]):
    """Each epoch's order comes from a generator that goes on over the epochs."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        order = list(range(SAMPLES))
        self.rng.shuffle(order)
        return iter(order)


class OwnJitter(Numbers):
    """A random transform with a generator of its own."""

    def __init__(self) -> None:
        self.rng = random.Random(5)

    def __getitem__(self, at: int) -> torch.Tensor:
        return torch.tensor([float(at), self.rng.random()])


class CountsEpochs(Sampler[int]):
    """Knows its epoch from how often it was asked for an order; nothing sets it."""

    epoch_number = 0

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        self.epoch_number += 1
        order = list(range(SAMPLES))
        random.Random(self.epoch_number).shuffle(order)
        return iter(order)


class DrawsEach(Sampler[int]):
    """Draws each index when it is due, from the generator that training uses too."""

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Iterator[int]:
        return (int(torch.randint(SAMPLES, ())) for _ in range(SAMPLES))


class InTransform(Numbers):
    """A random transform whose generator is an attribute of an attribute."""

    def __init__(self) -> None:
        self.transforms = [{"rng": random.Random(5)}]

    def __getitem__(self, at: int) -> torch.Tensor:
        return torch.tensor([float(at), self.transforms[0]["rng"].random()])


def accelerated(stateful: bool, seedable: bool, number: int = 1, **options: Any) -> Any:
    torch.manual_seed(number)
    config = DataLoaderConfiguration(use_stateful_dataloader=stateful, use_seedable_sampler=seedable)
    return Accelerator(cpu=True, dataloader_config=config).prepare(DataLoader(Numbers(), 4, shuffle=True, **options))


def distributed(rank: int = 0, world: int = 2, drop_last: bool = False) -> DataLoader[Any]:
    data = Numbers()
    return DataLoader(data, 3, sampler=DistributedSampler(data, world, rank, drop_last=drop_last))


LOADERS: dict[str, Callable[[], Any]] = {
    "shuffled": lambda: DataLoader(Numbers(), 4, shuffle=True),
    "shuffled, own generator": lambda: DataLoader(
        Numbers(), 4, shuffle=True, generator=torch.Generator().manual_seed(3)
    ),
    "random transform": lambda: DataLoader(Jittered(), 4, shuffle=True),
    "own random order": lambda: DataLoader(Numbers(), 4, sampler=OwnRandom(random.Random(5))),
    "own NumPy order": lambda: DataLoader(Numbers(), 4, sampler=OwnRandom(np.random.default_rng(5))),
    "own old NumPy order": lambda: DataLoader(Numbers(), 4, sampler=OwnRandom(np.random.RandomState(5))),
    "own random transform": lambda: DataLoader(OwnJitter(), 4, shuffle=True),
    "drawn again": lambda: DataLoader(Numbers(), 4, sampler=RandomSampler(Numbers(), replacement=True, num_samples=70)),
    "in order": lambda: DataLoader(Numbers(), 5),
    "no batches": lambda: DataLoader(Numbers(), None, shuffle=True),
    "distributed": distributed,
    "stream": lambda: DataLoader(Stream(), 4),
    "list": lambda: [torch.tensor(at) for at in range(7)],
    "stateful": lambda: StatefulDataLoader(Numbers(), 4, shuffle=True),
    "stateful, distributed": lambda: StatefulDataLoader(Numbers(), 3, sampler=DistributedSampler(Numbers(), 2, 0)),
    "counts its epochs": lambda: DataLoader(Numbers(), 4, sampler=CountsEpochs()),
    "stateful, counts its epochs": lambda: StatefulDataLoader(Numbers(), 4, sampler=CountsEpochs()),
    "random transform of a subset": lambda: DataLoader(Subset(InTransform(), range(20)), 4, shuffle=True),
    "Accelerate": lambda: accelerated(False, False),
    "Accelerate, stateful": lambda: accelerated(True, False),
    "Accelerate, seeded": lambda: accelerated(False, True),
    "Accelerate, stateful and seeded": lambda: accelerated(True, True),
    "stateful stream": lambda: StatefulDataLoader(Stream(), 4),
}
PERSISTENT: dict[str, Any] = {"num_workers": 2, "persistent_workers": True}
WITH_WORKERS: dict[str, Callable[[], Any]] = {
    "workers": lambda: DataLoader(Jittered(), 4, shuffle=True, num_workers=2),
    "persistent workers": lambda: DataLoader(Numbers(), 4, shuffle=True, num_workers=1, persistent_workers=True),
    "stateful workers": lambda: StatefulDataLoader(Numbers(), 4, shuffle=True, num_workers=2),
    "persistent workers, own generator": lambda: DataLoader(
        Numbers(), 4, shuffle=True, generator=torch.Generator().manual_seed(3), **PERSISTENT
    ),
    "stateful persistent workers": lambda: StatefulDataLoader(Numbers(), 4, shuffle=True, **PERSISTENT),
    "Accelerate, workers": lambda: accelerated(False, False, num_workers=2),
    "Accelerate, stateful workers": lambda: accelerated(True, False, num_workers=2),
    "Accelerate, seeded workers": lambda: accelerated(False, True, num_workers=2),
    "Accelerate, stateful and seeded workers": lambda: accelerated(True, True, num_workers=2),
    "Accelerate, persistent workers": lambda: accelerated(False, False, **PERSISTENT),
    "Accelerate, stateful persistent workers": lambda: accelerated(True, True, **PERSISTENT),
}


def seed(number: int) -> None:
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


class Training:
    """Notes what it gets, and draws from all generators at each step as dropout does."""

    def __init__(self, loader: Any) -> None:
        self.loader, self.position, self.random = loader, Position(), Random()
        self.seen: list[Any] = []

    def run(self, steps: int) -> None:
        while steps:
            for batch in self.position.over(self.loader):
                self.seen.append(as_list(batch) + [torch.rand(()).item(), random.random(), np.random.rand()])
                steps -= 1
                if not steps:
                    return

    def save(self) -> Any:
        encoded = encode({"position": self.position.state_dict(), "random": self.random.state_dict()})
        return encoded.tree, [tensor.clone() for tensor in encoded.tensors]

    def load(self, saved: Any) -> None:
        state: Any = decode(*saved)
        self.position.load_state_dict(state["position"])
        self.random.load_state_dict(state["random"])


def as_list(batch: torch.Tensor) -> list[Any]:
    return torch.as_tensor(batch).reshape(-1).tolist()


def compare(make: Callable[[], Any], cuts: list[int], steps: int) -> Training:
    seed(1)
    straight = Training(make())
    straight.run(steps)
    seed(1)
    seen: list[Any] = []
    part = Training(make())
    for count in cuts:
        part.run(count)
        seen += part.seen
        saved = part.save()
        seed(99)  # another process begins otherwise
        part = Training(make())
        part.load(saved)
    part.run(steps - len(seen))
    assert seen + part.seen == straight.seen
    assert not part.position.problem
    return part


@pytest.mark.parametrize("kind", LOADERS)
@settings(max_examples=draws(4, 12), deadline=None)
@given(cuts=st.lists(st.integers(1, 9), max_size=3))
def test_batches_and_generators_are_those_of_the_uninterrupted_run(kind: str, cuts: list[int]) -> None:
    compare(LOADERS[kind], cuts, 28)


@pytest.mark.parametrize("kind", WITH_WORKERS)
def test_the_same_with_worker_processes(kind: str) -> None:
    compare(WITH_WORKERS[kind], [2, 6], 11)


def test_an_epoch_that_ended_exactly_at_a_save_is_not_repeated() -> None:
    per_epoch = -(-SAMPLES // 4)
    for kind in ("shuffled", "own random order", "own random transform"):
        compare(LOADERS[kind], [per_epoch, per_epoch], 3 * per_epoch)


@pytest.mark.parametrize("kind", [*LOADERS, *WITH_WORKERS])
def test_a_save_between_two_epochs_starts_the_next_as_the_uninterrupted_run_does(kind: str) -> None:
    make = (LOADERS | WITH_WORKERS)[kind]

    def epoch(training: Training) -> None:
        for batch in training.position.over(training.loader):
            training.seen.append(as_list(batch) + [torch.rand(()).item(), random.random()])
        training.seen.append(torch.rand(()).item())  # a validation draws too

    seed(1)
    straight = Training(make())
    for _ in range(3):
        epoch(straight)
    seed(1)
    seen: list[Any] = []
    part = Training(make())
    for _ in range(3):
        epoch(part)
        seen, saved = seen + part.seen, part.save()
        seed(99)
        part = Training(make())
        part.load(saved)
    assert seen == straight.seen
    assert not part.position.problem


@pytest.mark.parametrize("kind", ["shuffled", "distributed", "stateful", "counts its epochs"])
def test_a_limit_of_batches_ends_each_epoch_wherever_it_was_saved(kind: str) -> None:
    def run(training: Training, steps: int) -> None:
        while steps:
            for batch in training.position.over(training.loader, batches=2):
                training.seen.append(as_list(batch))
                steps -= 1
                if not steps:
                    break

    seed(1)
    straight = Training(LOADERS[kind]())
    run(straight, 8)
    for cut in range(1, 8):
        seed(1)
        before = Training(LOADERS[kind]())
        run(before, cut)
        saved = before.save()
        seed(99)
        after = Training(LOADERS[kind]())
        after.load(saved)
        run(after, 8 - cut)
        assert before.seen + after.seen == straight.seen


def test_a_split_at_random_that_holds_other_samples_after_a_restart_is_reported() -> None:
    def training(number: int) -> Training:
        part, _ = random_split(Numbers(), [20, 3], torch.Generator().manual_seed(number))
        return Training(DataLoader(part, 4, shuffle=True))

    first = training(1)
    first.run(2)
    same, other = training(1), training(2)
    for again in (same, other):
        again.load(first.save())
        again.run(1)
    assert not same.position.problem
    assert "holds other samples than when the step was saved" in other.position.problem


def test_a_loader_with_another_seed_is_reported() -> None:
    first = Training(accelerated(False, True))
    first.run(7)
    same, other = Training(accelerated(False, True)), Training(accelerated(False, True, number=2))
    for again in (same, other):
        again.load(first.save())
        again.run(1)
    assert not same.position.problem
    assert "the seed of the loader is another one" in other.position.problem


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sampler_that_draws_from_trainings_generators_while_it_runs_is_reported(workers: int) -> None:
    training = Training(DataLoader(Numbers(), 2, sampler=DrawsEach(), num_workers=workers))
    training.run(3)
    assert "the sampler draws from the random generators of training" in training.position.problem


@pytest.mark.parametrize("kind", ["shuffled", "distributed", "stateful"])
@pytest.mark.parametrize("cut", [1, 3, 5])  # within an epoch
def test_after_a_break_the_next_loop_is_the_next_epoch(kind: str, cut: int) -> None:
    """Epochs of two batches, as with a limit on the batches per epoch."""

    def run(training: Training, steps: int) -> None:
        while steps:
            for batch in training.position.over(training.loader):
                training.seen.append(as_list(batch))
                steps -= 1
                if training.position.batch == 2 or not steps:
                    break

    seed(1)
    straight = Training(LOADERS[kind]())
    run(straight, 8)
    assert straight.position.epoch == 3
    seed(1)
    before = Training(LOADERS[kind]())
    run(before, cut)
    saved = before.save()
    seed(99)
    after = Training(LOADERS[kind]())
    after.load(saved)
    run(after, 8 - cut)
    assert before.seen + after.seen == straight.seen
    assert not after.position.problem


def test_a_load_inside_the_loop_ends_it_and_the_next_goes_on_there() -> None:
    training = Training(LOADERS["in order"]())
    training.run(2)
    saved = training.save()
    got = []
    for batch in training.position.over(training.loader):
        got.append(as_list(batch)[0])
        if len(got) == 2:
            training.load(saved)
    got += [as_list(batch)[0] for batch in training.position.over(training.loader)]
    assert got == [0, 5, 10, 15, 20]


def test_a_loader_with_another_order_is_reported() -> None:
    training = Training([torch.tensor(at) for at in range(7)])
    training.run(3)
    saved = training.save()
    again = Training([torch.tensor(at) for at in (3, 1, 5, 4, 0, 2, 6)])
    again.load(saved)
    again.run(1)
    assert "is another one than before the restart" in again.position.problem


def test_a_data_set_that_draws_from_trainings_generators_is_reported_at_save_and_at_load() -> None:
    training = Training(DataLoader(ShuffledStream(), 4))
    training.run(2)
    assert "draws from the random generators of training" in training.position.problem
    again = Training(DataLoader(ShuffledStream(), 4))
    again.load(training.save())
    assert again.position.problem == training.position.problem


def test_a_loader_in_use_whose_position_no_part_holds_is_named(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(1, 1))  # can be iterated over and has a state, and is no loader
    reading = iter(DataLoader(Numbers(), 4))
    assert "the state does not hold the position" in untracked_loader([model, {"epoch": 1}, Random()])
    for part in (Position(), StatefulDataLoader(Numbers()), Files(tmp_path)):
        assert untracked_loader([model, part]) == ""
    del reading


def test_files_of_a_trainer_come_back_as_they_were(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    (before / "deep").mkdir(parents=True)
    (before / "deep" / "weights.bin").write_bytes(bytes(range(256)))
    (before / "empty").touch()
    after.mkdir()
    (after / "old").touch()
    encoded = encode(Files(before).state_dict())
    files: Any = decode(encoded.tree, encoded.tensors)
    Files(after).load_state_dict(files)
    found = {str(path.relative_to(after)): path.read_bytes() for path in after.rglob("*") if path.is_file()}
    assert found == {"deep/weights.bin": bytes(range(256)), "empty": b""}
    with pytest.raises(ValueError, match="not a file of the folder"):
        Files(after).load_state_dict({"../outside": torch.zeros(1, dtype=torch.uint8)})
    assert Files(before, mine=False).state_dict() == {}


@settings(max_examples=draws(20, 60), deadline=None)
@given(
    worlds=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    steps=st.integers(1, 4),
    drop_last=st.booleans(),
    restart=st.booleans(),
)
def test_no_sample_twice_or_lost_when_the_number_of_ranks_changes(
    worlds: list[int], steps: int, drop_last: bool, restart: bool
) -> None:
    """Over one epoch; what is given twice at its end is the padding that DistributedSampler itself adds."""
    seen: list[int] = []
    states: list[dict[str, Any]] = []
    for turn, world in enumerate(worlds):
        ranks = [Position() for _ in range(world)]
        loaders = [distributed(rank, world, drop_last) for rank in range(world)]
        for rank, position in enumerate(ranks):
            if states:
                position.load_resharded(states, rank, world)
        last = turn == len(worlds) - 1
        for rank, (position, loader) in enumerate(zip(ranks, loaders, strict=True)):
            if position.epoch:
                continue
            for done, batch in enumerate(position.over(loader), 1):
                seen += as_list(batch)
                if done == steps and not last:
                    break
            if restart:  # a crash in between, with the same ranks
                again = Position()
                again.load_state_dict(position.state_dict())
                ranks[rank] = again
        states = [position.state_dict() for position in ranks]
    doubles = len(seen) - len(set(seen))
    assert doubles < max(worlds)
    assert set(seen) == set(range(SAMPLES)) if not drop_last else len(set(seen)) > SAMPLES - max(worlds)


def test_a_changed_number_of_ranks_without_a_distributed_sampler_is_reported() -> None:
    training = Training(LOADERS["shuffled"]())
    training.run(3)
    again = Position()
    again.load_resharded([training.position.state_dict()] * 2, 0, 1)
    next(iter(again.over(LOADERS["shuffled"]())))
    assert "the number of ranks changed and the loader has no DistributedSampler" in again.problem


class BufferShuffledExamplesIterable:
    """Named as the one of the package datasets, by which it is recognised."""


class HuggingFaceStream:
    """Like a shuffled stream of Hugging Face: its state does not hold what is in the shuffle buffer."""

    def __init__(self) -> None:
        self._ex_iterable = self._wrapped(BufferShuffledExamplesIterable())
        self._epoch = self._start = 0

    @staticmethod
    def _wrapped(inner: object) -> object:
        outer = type("MappedExamplesIterable", (), {})()
        outer.ex_iterable = inner
        return outer

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def state_dict(self) -> dict[str, int]:
        return {"start": self._start + 8}  # what the buffer took is counted as read

    def load_state_dict(self, state: dict[str, int]) -> None:
        self._start = state["start"]

    def __iter__(self) -> Iterator[int]:
        order = list(range(self._start, 32))
        random.Random(self._epoch).shuffle(order)
        yield from order


@pytest.mark.parametrize("consumed", [1, 5, 31, 32, 40])
def test_a_stream_whose_state_lacks_its_shuffle_buffer_is_replayed(consumed):
    def read(position, stream, count):
        got = []
        while len(got) < count:
            for one in position.over(stream):
                got.append(one)
                if len(got) == count:
                    return got, position.state_dict()
        raise AssertionError("more than there is")

    whole, _ = read(Position(), HuggingFaceStream(), 96)
    first, state = read(Position(), HuggingFaceStream(), consumed)
    position = Position()
    position.load_state_dict(state)
    rest, _ = read(position, HuggingFaceStream(), 96 - consumed)
    assert first + rest == whole
    assert sorted(whole[:32]) == list(range(32)) and whole[:32] != whole[32:64]


class LikeAccelerates(DataLoader[torch.Tensor]):
    """Has the methods of a loader with a state, and none: `Accelerator.prepare` gives such loaders."""

    use_stateful_dataloader = False

    def state_dict(self) -> dict[str, Any]:
        raise AttributeError("dl_state_dict")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        raise AttributeError("base_dataloader")


def test_a_loader_that_says_it_has_no_state_is_replayed() -> None:
    compare(lambda: LikeAccelerates(Numbers(), batch_size=3, shuffle=True), [2, 5], 9)
