"""Steps go to storage whole: keepers that write at different speeds, and die in between, write the same steps."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import crew
import pytest
import torch
import unequal

from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import encode
from holdfast.training.checkpoint.keeper import storing
from holdfast.training.checkpoint.keeper.flush import Flushing
from holdfast.training.checkpoint.keeper.pacing import RateLimit
from holdfast.training.checkpoint.keeper.peers import Answerer
from holdfast.training.checkpoint.keeper.replication import Replication, RunMembers
from holdfast.training.checkpoint.keeper.shard_store import Copy, Full, ShardStore
from holdfast.training.checkpoint.keeper.storing import Storing
from holdfast.training.checkpoint.keeper.wire import Message
from holdfast.training.checkpoint.storage import storage
from tests.ports import free_port
from tests.waiting import until

SECRET = b"s" * 32
RATES = (0.0, 20_000.0, 9_000.0)  # bytes a second into storage: at once, and a shard in some tenths of a second
WORLD = len(RATES)
LIMIT_SECONDS = 120.0
AFTER_LOSS_SECONDS = 0.5  # of patience: what counted at a lost keeper is waited for in vain


class Node:
    """A keeper without its ranks, on real sockets and a real folder."""

    def __init__(self, rank: int, folder: Path, rate: float) -> None:
        self.rank, self.folder = rank, folder
        self.store, self.troubles = ShardStore(1 << 20), dict[str, str]()
        self.replication = Replication(self.store, SECRET, RateLimit(0), self.troubles)
        self.answerer = Answerer("127.0.0.1", 0, SECRET, self.store, self.replication.notice)
        self.flushing = Flushing(folder, self.store, self.troubles, RateLimit(rate))
        self.flushing.expect(rank)
        self.storing = Storing(self.store, self.flushing, self.replication.ask, self.troubles)

    def join(self, addresses: dict[str, str]) -> None:
        name = str(self.rank)
        if self.replication.join(RunMembers("run", WORLD, name, addresses, (), "0")):
            self.storing.begin("run")

    def save(self, step: int, stores: bool, timeout_seconds: float = LIMIT_SECONDS) -> None:
        encoded = encode({"weights": torch.full((1000,), float(step))})
        layout = shard.plan(shard.About("job", self.rank, WORLD, step), encoded)
        pages = self.replication.reserve(self.rank, layout.size, timeout_seconds)
        shard.write(layout, encoded, pages.map)
        copy = Copy(self.rank, step, "run", WORLD, layout.size, pages.digest(layout.size), pages)
        self.store.add(copy)
        if stores:
            self.storing.offer(copy)
        self.replication.submit(copy)
        assert len(self.store._buffers(self.rank)) <= 3, "more than three copies of a rank"


class Fleet:
    """Nodes whose ranks save the same steps, one after the other; every third may go to storage."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.step = folder, 0
        self.nodes = [Node(rank, folder, rate) for rank, rate in enumerate(RATES)]
        self.seen: set[int] = set()
        self.timeout_seconds = LIMIT_SECONDS
        self._join()

    def _join(self) -> None:
        addresses = {str(node.rank): node.answerer.address for node in self.nodes}
        for node in self.nodes:
            node.join(addresses)

    def lose(self, rank: int) -> None:
        """The keeper dies with all it holds; its rank starts another."""
        self.nodes[rank].answerer.close()
        self.nodes[rank].storing.begin("over")
        self.nodes[rank] = Node(rank, self.folder, RATES[rank])
        self.timeout_seconds = AFTER_LOSS_SECONDS
        self._join()

    def train_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"{what}; whole are {sorted(self.seen)} at step {self.step}"
            self.step += 1
            for node in self.nodes:
                with suppress(Full):  # as a rank does: it leaves this save out and goes on
                    node.save(self.step, self.step % 3 == 0, self.timeout_seconds)
            self.seen |= {step for step, _, _ in storage.whole_steps(self.folder)}
            time.sleep(0.01)  # a step of training

    def newest(self) -> int:
        return max(self.seen, default=-1)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    one = Fleet(tmp_path)
    yield one
    for node in one.nodes:
        node.answerer.close()


@dataclass(eq=False)
class Lonely:
    """One rank whose keeper asks nobody but itself."""

    folder: Path
    answers: dict[str, object] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    def __post_init__(self) -> None:
        self.store = ShardStore(1 << 20)
        self.flushing = Flushing(self.folder, self.store, self.troubles, RateLimit(0))
        self.storing = Storing(self.store, self.flushing, self.ask, self.troubles)
        self.flushing.expect(0)
        self.storing.begin("run")

    def ask(self, message: Message) -> Message:
        self.asked += 1
        return {"chosen": message["holds"], "settled": message["holds"], "why": "", **self.answers}

    def save(self, step: int) -> Copy:
        encoded = encode({"weights": torch.full((10,), float(step))})
        layout = shard.plan(shard.About("job", 0, 1, step), encoded)
        pages = self.store.reserve(0, layout.size)
        shard.write(layout, encoded, pages.map)
        copy = Copy(0, step, "run", 1, layout.size, pages.digest(layout.size), pages)
        self.store.add(copy)
        return copy

    def about_storage(self) -> str:
        return self.troubles.get("steps of rank 0 for storage", "")


def test_steps_that_are_left_out_one_after_the_other_are_one_trouble(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    one = Lonely(tmp_path, {"chosen": -1, "settled": 99, "why": "rank 7 does not have it"})
    for step in (1, 2, 3):
        asked = one.asked
        one.storing.offer(one.save(step))
        until(lambda before=asked: one.asked > before and not one.storing._held)  # type: ignore[misc]
    assert one.about_storage() == "steps are left out of storage by all ranks: rank 7 does not have it"
    assert caplog.text.count("left out of storage") == 1
    one.answers.clear()
    one.storing.offer(one.save(4))
    until(lambda: one.flushing.writes == 1)
    assert one.about_storage(), "one step that went there does not end it"
    until(lambda: not one.storing._shares[0].chosen)
    one.storing.offer(one.save(5))
    until(lambda: one.flushing.writes == 2)
    assert not one.about_storage()


def test_a_copy_that_is_gone_when_its_turn_comes_is_not_reported_to_be_left_out_by_all(tmp_path: Path) -> None:
    one = Lonely(tmp_path)
    with one.flushing._writing:  # another write takes long
        copy = one.save(1)
        one.storing.offer(copy)
        until(lambda: one.storing._shares[0].chosen)
        assert copy.readers == 0 and copy.wanted
        one.store.drop(0, 1)
    until(lambda: bool(one.about_storage()))
    assert one.about_storage() == "a step is not whole in storage: the room of rank 0's copy was needed"
    one.storing.offer(one.save(2))
    until(lambda: one.flushing.writes == 1)


def test_an_answer_of_a_strange_kind_is_reported_and_the_next_is_received(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "LONGEST_PAUSE_SECONDS", 0.1)
    one = Lonely(tmp_path, {"chosen": None})
    one.storing.offer(one.save(1))
    until(lambda: "selecting a step for storage failed: TypeError" in one.troubles.get("step for storage", ""))
    one.answers.clear()
    until(lambda: one.flushing.writes == 1)
    assert one.troubles == {}


def parts(folder: Path) -> list[set[str]]:
    return [{rank.name for rank in step.glob("rank-?????")} for step in sorted(folder.glob("step-*"))]


@pytest.mark.slow
def test_what_lies_in_storage_is_whole_although_no_two_keepers_write_at_one_speed(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    message = (
        r"by all ranks: rank [12] is busy with",
        r"by all ranks: an earlier step of rank [12] is still on its way",
    )
    fleet.train_until(
        lambda: len(fleet.seen) >= 3 and all(re.search(words, caplog.text) for words in message),
        "three whole steps, and that those between are left out by all",
    )
    until(lambda: all(len(ranks) == WORLD for ranks in parts(fleet.folder)))  # the last one is still being written


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 2])
def test_after_the_loss_of_a_keeper_storage_goes_on(fleet: Fleet, rank: int) -> None:
    """Rank 0 is the one whose keeper counts; rank 2 is the slowest, so it dies with a step on its way."""
    fleet.train_until(lambda: bool(fleet.seen), "a whole step")
    before = fleet.newest()
    fleet.lose(rank)
    assert before in {step for step, _, _ in storage.whole_steps(fleet.folder)}, "what was whole stays"
    at = fleet.step
    fleet.train_until(lambda: fleet.newest() > at, "a whole step that was saved after the loss")


@pytest.mark.slow
def test_what_counted_at_a_lost_keeper_does_not_fill_the_buffers_for_ever(fleet: Fleet) -> None:
    fleet.train_until(lambda: fleet.step == 1, "the first step")
    until(lambda: all(node.store.committed == 1 for node in fleet.nodes))
    for fleet.step in (2, 3):  # which rank 0 does not come to
        for node in fleet.nodes[1:]:
            node.save(fleet.step, stores=False)
    until(lambda: all(node.store.protected(node.rank) == [2, 3] for node in fleet.nodes[1:]))
    fleet.lose(0)
    fleet.train_until(lambda: fleet.newest() > 3, "a whole step that was saved after the loss")


def run(place: Path, rank_of: Callable[[str], None]) -> None:
    port = free_port()
    for process in [crew.start(rank_of, rank, unequal.WORLD, port, str(place)) for rank in range(unequal.WORLD)]:
        process.join(crew.TIMEOUT_SECONDS)
        assert process.exitcode == 0


@pytest.mark.slow
def test_real_keepers_that_are_unequal_leave_no_half_step(place: Path) -> None:
    run(place, unequal.train)
    assert len(parts(place)) >= 2
    until(lambda: {len(there) for there in parts(place)} == {unequal.WORLD})  # the keepers may still write the last one


@pytest.mark.slow
def test_what_one_keeper_lost_comes_from_storage_and_the_rest_from_memory(place: Path) -> None:
    run(place, unequal.half)
    crew.end_keeper(place, place.name, 0)
    run(place, unequal.half)
    output = [json.loads((place.parent / f"result.{rank}").read_text()) for rank in range(unequal.WORLD)]
    assert output == [[6, "storage", 0.0], [6, "own memory", 1.0]]
