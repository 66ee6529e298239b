"""Actions that were begun and not ended: whoever claims them next knows that they may have run."""

from collections.abc import Callable

import pytest

from holdfast.fleet.store import StaleEpoch, Store
from holdfast.model.records import Outcome

from .lives import proposed


def test_what_was_begun_and_not_ended_may_have_run(open_store: Callable[[], Store]) -> None:
    old, new = open_store(), open_store()
    first = old.lead("old", 10, now=100.0)
    assert first is not None
    proposed(old, first, "begun", "waiting")
    begun, waiting = old.claim(first, 9, now=100.0)
    assert not begun.may_have_run and not waiting.may_have_run
    assert old.begin(begun.id, first)
    second = new.lead("new", 10, now=200.0)
    assert second is not None
    new.adopt(second)
    again = {one.action.node: one for one in new.claim(second, 9, now=200.0)}
    assert again["begun"].may_have_run, "the old leader stopped in the middle of it"
    assert not again["waiting"].may_have_run, "nobody performed it"
    with pytest.raises(StaleEpoch):
        old.begin(waiting.id, first)


def test_only_what_is_claimed_is_begun(store: Store) -> None:
    epoch = store.lead("one", 10, now=100.0)
    assert epoch is not None
    proposed(store, epoch, "n1")
    [unclaimed] = store.actions()
    assert not store.begin(unclaimed.id, epoch)
    [claimed] = store.claim(epoch, 9, now=100.0)
    assert store.finish(claimed.id, Outcome.DONE, "", epoch, 101.0)
    assert not store.begin(claimed.id, epoch)


def test_a_failure_that_is_known_did_not_run(store: Store) -> None:
    epoch = store.lead("one", 10, now=100.0)
    assert epoch is not None
    proposed(store, epoch, "n1")
    [claimed] = store.claim(epoch, 9, now=100.0)
    assert store.begin(claimed.id, epoch)
    assert store.finish(claimed.id, Outcome.FAILED, "exit code 75", epoch, 101.0, retry_at=110.0)
    [again] = store.claim(epoch, 9, now=110.0)
    assert not again.may_have_run
