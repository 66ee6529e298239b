"""One leader: its epoch only rises, and whoever lost the lead can change nothing, however late it wakes."""

from collections.abc import Callable

import pytest
from sqlalchemy import text

from holdfast.fleet.store import StaleEpoch, Store, StoreError
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import NodeState
from holdfast.model.records import Leader, Outcome

from .engines import ON_POSTGRESQL
from .lives import arrived, proposed, step


def test_no_other_leads_while_a_lease_runs(open_store: Callable[[], Store]) -> None:
    one, other = open_store(), open_store()
    assert one.current_leader() is None
    epoch = one.lead("one", 10, now=100.0)
    assert epoch is not None
    assert other.lead("other", 10, now=109.0) is None
    assert other.current_leader() == Leader(holder="one", epoch=epoch, until=110.0)


def test_a_lease_that_ran_out_passes_to_the_next_with_a_higher_epoch(open_store: Callable[[], Store]) -> None:
    one, other = open_store(), open_store()
    first = one.lead("one", 10, now=100.0)
    assert first is not None
    assert one.renew(first, 10, now=108.0)
    assert other.lead("other", 10, now=115.0) is None
    second = other.lead("other", 10, now=118.0)
    assert second is not None
    assert second > first
    assert not one.renew(first, 10, now=118.5)
    assert one.current_leader() == Leader(holder="other", epoch=second, until=128.0)


def test_who_leads_again_gets_a_new_epoch_so_its_former_self_is_fenced_too(store: Store) -> None:
    epochs = [store.lead("one", 10, now=100.0) for _ in range(3)]
    assert None not in epochs
    assert epochs == sorted(set(epochs))


def test_a_leader_that_resigns_is_followed_at_once(open_store: Callable[[], Store]) -> None:
    one, other = open_store(), open_store()
    first = one.lead("one", 1000, now=100.0)
    assert first is not None
    one.resign(first)
    assert one.current_leader() is None
    second = other.lead("other", 1000, now=101.0)
    assert second is not None
    one.resign(first)  # an old leader's late good-bye
    assert other.current_leader() is not None


def test_without_a_time_of_the_callers_the_stores_own_clock_judges_the_lease(open_store: Callable[[], Store]) -> None:
    one, other = open_store(), open_store()
    epoch = one.lead("one", 600)
    assert epoch is not None
    assert other.lead("other", 600) is None
    assert one.renew(epoch, -1)
    assert other.lead("other", 600) is not None


@pytest.fixture
def woken(open_store: Callable[[], Store]) -> tuple[Store, int, Store, int]:
    """A leader that slept through its lease, with a claimed action, and the one that leads now."""
    old, new = open_store(), open_store()
    first = old.lead("old", 10, now=100.0)
    assert first is not None
    proposed(old, first, "n1")
    assert len(old.claim(first, 1, now=100.0, lease_seconds=5)) == 1
    second = new.lead("new", 10, now=200.0)
    assert second is not None
    return old, first, new, second


def test_a_leader_that_slept_and_woke_can_change_nothing(woken: tuple[Store, int, Store, int]) -> None:
    old, first, new, second = woken
    before = (new.nodes(), new.transitions(0.0), new.actions(), new.incidents())
    actions: list[Callable[[], object]] = [
        lambda: old.transit_all([arrived(NodeState(name="n9"))], first),
        lambda: old.transit_all([step("n1", at=201.0)], first),
        lambda: old.claim(first, 10, now=201.0),
        lambda: old.finish(old.actions()[0].id, Outcome.DONE, "late", first, 201.0),
        lambda: old.save_incidents([Incident(id="i1", opened=1.0, subject="node/n1")], first),
    ]
    for action in actions:
        with pytest.raises(StaleEpoch, match=f"epoch {first} no longer leads .*{second}"):
            action()
    assert (new.nodes(), new.transitions(0.0), new.actions(), new.incidents()) == before


def test_the_new_leader_takes_over_what_the_old_one_had_claimed(woken: tuple[Store, int, Store, int]) -> None:
    _, _, new, second = woken
    (taken,) = new.claim(second, 10, now=201.0)
    assert taken.attempts == 2
    assert new.finish(taken.id, Outcome.DONE, "drained", second, 202.0)


def test_no_one_acts_before_somebody_leads(store: Store) -> None:
    with pytest.raises(StaleEpoch, match="not set"):
        store.transit_all([arrived(NodeState(name="n1"))], 1)


@ON_POSTGRESQL  # SQLite has one controller
def test_a_leader_that_sleeps_inside_a_transaction_does_not_hold_up_the_next(
    open_store: Callable[[], Store],
) -> None:
    old, new = open_store(), open_store()
    first = old.lead("old", 10, now=100.0)
    with pytest.raises(StoreError), old._writing() as asleep:
        asleep.execute(text("SELECT epoch FROM leader FOR SHARE"))
        assert new.lead("new", 10, now=200.0) is not None  # waits until the server has ended the sleeper's transaction
        asleep.execute(text(f"UPDATE leader SET epoch = {first}"))
    assert new.current_leader() != Leader(holder="old", epoch=first or 0, until=110.0)


def test_a_lease_lasts_no_longer_when_the_clock_is_set_back_a_day(open_store: Callable[[], Store]) -> None:
    one, other = open_store(), open_store()
    assert one.lead("one", 10, now=100_000.0) is not None
    assert other.lead("other", 10, now=13_600.0) is None
    assert other.lead("other", 10, now=13_609.0) is None, "its holder may still renew it"
    assert other.lead("other", 10, now=13_611.0) is not None
