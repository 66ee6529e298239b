"""A keeper and its partner: what travels, and what happens where the partner has lost what was to be built on."""

from itertools import pairwise

import pytest

from holdfast.training.checkpoint.keeper.memory import PART, Pages
from holdfast.training.checkpoint.keeper.pacing import RateLimit
from holdfast.training.checkpoint.keeper.peers import Answerer
from holdfast.training.checkpoint.keeper.replication import Replication, RunMembers
from holdfast.training.checkpoint.keeper.shard_store import Copy, ShardStore
from tests.waiting import until

SECRET = b"s" * 32
SIZE = 8 * PART + 5


def saved(store: ShardStore, replication: Replication, step: int, touched: int) -> int:
    """Save a copy in which so many parts are new, wait until it is committed, and give all bytes sent so far."""
    pages = store.reserve(0, SIZE)
    pages.map[:SIZE] = b"\7" * SIZE
    for part in range(touched):
        pages.map[part * PART] = step
    copy = Copy(0, step, "run", 1, SIZE, pages.digest(SIZE), pages)
    store.add(copy)
    replication.submit(copy)
    until(lambda: store.committed >= step, "the copy reaches the partner")
    return replication.sent_bytes


def test_a_partner_no_one_knew_at_the_start_is_reported_and_the_next_run_has_copies_again() -> None:
    mine, theirs, troubles = ShardStore(1 << 30), ShardStore(1 << 30), dict[str, str]()
    replication = Replication(mine, SECRET, RateLimit(0), troubles)
    replication.join(RunMembers("before", 1, "a", {"a": "127.0.0.1:1"}, ("b",), "a"))
    pages = mine.reserve(0, SIZE)
    copy = Copy(0, 1, "before", 1, SIZE, pages.digest(SIZE), pages)
    mine.add(copy)
    replication.submit(copy)
    until(lambda: "no keeper of b is known" in troubles.get("partner b", ""), "the partner is said to be unknown")
    answerer = Answerer("127.0.0.1", 0, SECRET, theirs, lambda message: {})
    replication.join(RunMembers("run", 1, "a", {"a": "127.0.0.1:1", "b": answerer.address}, ("b",), "a"))
    assert saved(mine, replication, 2, 1) == SIZE
    assert troubles == {}
    answerer.close()


def test_what_no_one_foresaw_is_reported_and_the_next_step_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    store, troubles = ShardStore(1 << 30), dict[str, str]()
    replication = Replication(store, SECRET, RateLimit(0), troubles)
    replication.join(RunMembers("run", 1, "a", {"a": "127.0.0.1:1"}, (), "a"))
    with monkeypatch.context() as now:
        now.setattr(store, "protect", lambda rank, step: dict[str, str]()["something new"])
        pages = store.reserve(0, SIZE)
        copy = Copy(0, 1, "run", 1, SIZE, pages.digest(SIZE), pages)
        store.add(copy)
        replication.submit(copy)
        until(lambda: "KeyError('something new')" in troubles.get("copies of rank 0", ""), lambda: str(troubles))
    saved(store, replication, 2, 1)
    until(lambda: not troubles, lambda: str(troubles))


def test_a_partner_gets_what_changed_and_everything_where_it_lost_its_base() -> None:
    mine, theirs, troubles = ShardStore(1 << 30), ShardStore(1 << 30), dict[str, str]()
    answerer = Answerer("127.0.0.1", 0, SECRET, theirs, lambda message: {})
    replication = Replication(mine, SECRET, RateLimit(0), troubles)
    replication.join(RunMembers("run", 1, "a", {"a": "127.0.0.1:1", "b": answerer.address}, ("b",), "a"))
    sent = [0] + [saved(mine, replication, step, touched) for step, touched in ((1, 1), (2, 1), (3, 2), (4, 8))]
    assert [after - before for before, after in pairwise(sent)] == [SIZE, PART, 2 * PART, SIZE]
    assert saved(mine, replication, 5, 1) - sent[-1] == SIZE  # seven parts are as they were before step 4
    theirs.drop(0, 5)
    assert saved(mine, replication, 6, 1) - sent[-1] == 2 * SIZE
    assert 6 in {copy.step for copy in theirs.held()}
    assert troubles == {}
    answerer.close()


def test_a_copy_that_is_to_be_thrown_away_counts_no_more_unless_it_is_committed() -> None:
    counting, other = ShardStore(1 << 30), ShardStore(1 << 30)
    counter = Replication(counting, SECRET, RateLimit(0), {})
    answerer = Answerer("127.0.0.1", 0, SECRET, counting, counter.notice)
    helper = Replication(other, SECRET, RateLimit(0), {})
    addresses = {"a": answerer.address, "b": "127.0.0.1:1"}
    counter.join(RunMembers("run", 2, "a", addresses, (), "a"))
    helper.join(RunMembers("run", 2, "b", addresses, (), "a"))

    def say_safe(rank: int, step: int) -> None:
        (helper if rank else counter).ask({"do": "safe", "rank": rank, "step": step, "attempt": "run"})
        (other if rank else counting).protect(rank, step)

    say_safe(1, 5)
    assert helper.withdraw(1) and other.protected(1) == []
    say_safe(0, 5)
    assert counting.committed == -1, "rank 1 has thrown its copy away"
    say_safe(1, 5)  # said before, and late
    assert counting.committed == -1
    say_safe(0, 6)
    say_safe(1, 6)
    assert counting.committed == 6
    assert helper.withdraw(1) and other.committed == 6, "it is needed: the step before it may go"
    assert not helper.withdraw(1), "nothing is left to withdraw"
    answerer.close()


def test_where_no_one_answers_what_counts_as_safe_stays() -> None:
    store = ShardStore(1 << 30)
    replication = Replication(store, SECRET, RateLimit(0), {})
    replication.join(RunMembers("run", 2, "b", {"a": "127.0.0.1:1"}, (), "a"))
    store.protect(1, 5)
    assert not replication.withdraw(1)
    assert store.protected(1) == [5]


def test_a_keeper_that_was_started_at_another_address_is_found_there() -> None:
    moved, other, troubles = ShardStore(1 << 30), ShardStore(1 << 30), dict[str, str]()
    listening = Replication(other, SECRET, RateLimit(0), troubles)
    answerer = Answerer("127.0.0.1", 0, SECRET, other, listening.notice)
    addresses = {"a": "127.0.0.1:1", "b": answerer.address}
    listening.join(RunMembers("run", 2, "b", addresses, ("a",), "a"))
    started_again = Replication(moved, SECRET, RateLimit(0), {})
    started_again.join(RunMembers("run", 2, "a", {**addresses, "a": "127.0.0.1:7"}, ("b",), "a"))
    started_again.announce("127.0.0.1:7")

    def known() -> str:
        assert listening.members is not None
        return listening.members.addresses["a"]

    until(lambda: known() == "127.0.0.1:7", "the new address is known")
    for node, attempt in (("a", "another run"), ("c", "run")):
        listening.notice({"do": "moved", "node": node, "address": "127.0.0.1:9", "attempt": attempt})
    assert listening.members is not None
    assert listening.members.addresses == {"a": "127.0.0.1:7", "b": answerer.address}
    answerer.close()


@pytest.mark.parametrize(("seconds", "yields"), [(0.0, 0.0), (30.0, 60.0)])
def test_a_copy_yields_to_training_for_twice_as_long_as_it_may_be_sent(
    monkeypatch: pytest.MonkeyPatch, seconds: float, yields: float
) -> None:
    began: list[float] = []
    replication = Replication(ShardStore(1 << 20), SECRET, RateLimit(0), {}, seconds)
    monkeypatch.setattr(replication.overdue, "begin", lambda copy, wait_seconds: began.append(wait_seconds))
    replication.submit(Copy(0, 1, "run", 1, SIZE, "", Pages.new("one", SIZE)))
    assert began == [yields]
