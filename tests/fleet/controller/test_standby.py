"""Leadership with a large fleet: the lease outlives the loading, and a standby reads what changed."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.fleet.controller import lead as lead_module
from holdfast.fleet.controller.lead import Lead
from holdfast.fleet.controller.standby import FleetCopy
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import StaleEpoch, Store
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage
from holdfast.model.records import LifecycleStep, Transition
from holdfast.model.wire.report import Report, VerdictChange
from tests.stores import new_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(new_store(tmp_path / "holdfast.db"))


def arrived(name: str, stage: Stage = Stage.READY) -> LifecycleStep:
    node = NodeState(name=name, stage=stage)
    event = NodeEvent(kind=EventKind.ENROLLED)
    return LifecycleStep(
        node=node, transition=Transition(node=name, at=1.0, before=stage, after=stage, event=event, reason="")
    )


def reported(name: str, seq: int, after: str, checks: int = 1) -> Report:
    changes = [VerdictChange(at=1.0, check=f"check.{one}", before="", after=after) for one in range(checks)]
    return Report(node=name, session="s", seq=seq, at=1.0, changes=tuple(changes), heartbeat=True)


def test_the_lease_is_renewed_while_the_fleet_is_loaded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lead_module, "RENEW_SECONDS", 0.002)
    lead, renewed = Lead("one", "here"), threading.Event()
    assert lead.keep(store)
    renew = store.renew

    def noted(epoch: int, seconds: float) -> bool:
        renewed.set()
        return renew(epoch, seconds)

    monkeypatch.setattr(store, "renew", noted)
    with lead.renewed(store):
        assert renewed.wait(30), "nothing else renews it: loading takes longer than a lease"
    assert lead.epoch is not None


def test_a_leader_that_stopped_renewing_is_named_no_more(store: Store) -> None:
    epoch = store.lead("https://one#1", 60.0)
    assert epoch is not None
    now = 100.0
    waits = Lead("2", "https://two", clock=lambda: now)
    named = []
    for _ in range(5):
        waits.keep(store)
        named.append(waits.leader)
        now += lead_module.TRY_SECONDS
    assert named == ["https://one"] * 4 + [""], "it may be late once, not longer"
    assert store.renew(epoch, 61.0)
    waits.keep(store)
    assert waits.leader == "https://one"


def test_a_lead_that_was_lost_while_loading_is_noticed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lead_module, "RENEW_SECONDS", 0.002)
    lead, asked = Lead("one", "here"), threading.Event()
    assert lead.keep(store)

    def refused(epoch: int, seconds: float) -> bool:
        asked.set()
        return False

    monkeypatch.setattr(store, "renew", refused)
    with pytest.raises(StaleEpoch), lead.renewed(store):
        assert asked.wait(30)
    assert lead.epoch is None


def test_a_standby_reads_only_what_changed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    epoch = store.lead("one", 60)
    assert epoch is not None
    store.transit_all([arrived(f"n{one}") for one in range(5)], epoch)
    store.record([reported(f"n{one}", 1, "pass") for one in range(5)], 1_000_100.0)
    copy, policy = FleetCopy(store), Policy()
    copy.read(policy)
    assert set(copy.healths(policy, 1_000_100.0).values()) == {"pass"}

    def whole(*_: object) -> Callable[[], None]:
        raise AssertionError("the whole fleet is read again")

    monkeypatch.setattr(store, "verdicts", whole)
    monkeypatch.setattr(store, "nodes", whole)
    copy.read(policy)
    store.record([reported("n2", 2, "fail"), reported("n3", 2, "degraded")], 1_000_110.0)
    store.transit_all([arrived("n4", Stage.QUARANTINED), arrived("n9")], epoch)
    copy.read(policy)
    healths = copy.healths(policy, 1_000_110.0)
    assert (healths["n1"], healths["n2"], healths["n3"]) == ("pass", "fail", "degraded")
    assert copy.nodes["n4"].stage is Stage.QUARANTINED
    assert healths["n9"] == "unknown", "a node that never reported"
    assert copy.read_whole == 1
    later = 1_000_110.0 + policy.silent_seconds + 1
    assert set(copy.healths(policy, later).values()) == {"unknown"}, "silence needs no change in the store"


def test_a_late_report_does_not_change_what_a_standby_shows(store: Store) -> None:
    epoch = store.lead("one", 60)
    assert epoch is not None
    store.transit_all([arrived("n1")], epoch)
    store.record([reported("n1", 5, "fail")], 1_000_100.0)
    copy, policy = FleetCopy(store), Policy()
    copy.read(policy)
    store.record([reported("n1", 4, "pass")], 1_000_101.0)
    copy.read(policy)
    assert copy.healths(policy, 1_000_101.0) == {"n1": "fail"}


class HeldLease:
    held, taken = True, False


def test_only_the_holder_of_the_lease_leads_and_acts(store: Store) -> None:
    clock, lease = [0.0], HeldLease()
    lead = Lead("one", "here", lambda: clock[0], lease)
    lead.keep(store)
    assert lead.sure
    lease.held, lease.taken = False, True
    assert not lead.sure, "at once, before the next renewal"
    clock[0] += 3.0
    lead.keep(store)
    assert lead.epoch is None
    other = Lead("two", "there")
    other.keep(store)
    assert other.epoch is not None, "it was resigned, not left to run out"


def test_without_the_server_of_the_lease_reports_are_stored_and_nothing_is_done(store: Store) -> None:
    clock, lease = [0.0], HeldLease()
    lead = Lead("one", "here", lambda: clock[0], lease)
    lead.keep(store)
    lease.held = False  # and no other holds it: the server does not answer
    leading, acting = [], []
    for second in range(130):
        clock[0] = float(second)
        lead.keep(store)
        leading.append(lead.epoch is not None)
        acting.append(lead.sure)
    assert not any(acting)
    assert sum(leading) > 100
    assert not all(leading[60:120]), "now and then it yields to a controller that holds the Lease"
