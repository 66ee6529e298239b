"""A removed node is forgotten whole: by the fleet, the store and a standby. What enrols later is a new node."""

from pathlib import Path

import pytest

from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.views.common import OperatorRequest
from holdfast.fleet.controller import commands
from holdfast.fleet.controller.orders import PendingOrders
from holdfast.fleet.controller.standby import FleetCopy
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.decisions.breaker import tally
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import Store
from holdfast.model.lifecycle import EventKind, NodeState, Offence, Stage
from holdfast.model.records import Role
from holdfast.model.wire.report import Report, VerdictChange
from tests.stores import new_store

ANN = Caller(name="ann", role=Role.OPERATOR)
GONE = OperatorRequest(reason="returned to the vendor")


class Site:
    def __init__(self, folder: Path) -> None:
        self.store = Store.open(new_store(folder / "holdfast.db"))
        self.epoch = self.store.lead("one", 1e9) or 0
        offences = (Offence(at=1.0, cause="gpu.xid"),)
        worn = NodeState(name="n1", stage=Stage.READY, repair_step=2, offences=offences, place={"rack": "r1"})
        self.fleet = Fleet(Policy(), [worn, NodeState(name="n2", stage=Stage.READY)])
        change = VerdictChange(at=1.0, check="gpu.xid", before="", after="fail")
        self.report = Report(node="n1", session="s", seq=1, at=1.0, changes=(change,), heartbeat=True)
        self.store.record([self.report], 1.0)
        self.fleet.take(self.report, 1.0)

    def transaction(self, now: float = 5.0) -> Transaction:
        return Transaction(self.store, self.fleet, PendingOrders(), self.epoch, now)

    def commit(self, transaction: Transaction) -> None:
        self.store.transit_all(transaction.steps, self.epoch)
        self.store.forget_nodes(sorted(transaction.forgotten), transaction.now)

    def remove(self) -> None:
        transaction = self.transaction(2.0)
        commands.operator_request(
            "n1", EventKind.REMOVE, OperatorRequest(reason="worn", force=True), ANN, transaction, ()
        )
        self.commit(transaction)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_only_a_removed_node_is_forgotten(site: Site) -> None:
    with pytest.raises(Problem, match="n1 is draining: remove it first") as refusal:
        commands.forget_node("n1", GONE, ANN, site.transaction(), ())
    assert (refusal.value.status, refusal.value.code) == (409, "not_removed")
    with pytest.raises(Problem) as unknown:
        commands.forget_node("n9", GONE, ANN, site.transaction(), ())
    assert unknown.value.status == 404
    assert "n1" in site.fleet.nodes


def test_nothing_is_left_of_it_but_its_history(site: Site) -> None:
    site.remove()
    copy = FleetCopy(site.store)
    copy.read(Policy())
    assert "n1" in copy.nodes
    transaction = site.transaction()
    commands.forget_node("n1", GONE, ANN, transaction, ())
    site.commit(transaction)
    assert [(one.verb, one.target, one.who) for one in transaction.audit] == [("forget", "n1", "ann")]
    assert [node.name for node in site.store.nodes()] == []
    assert site.store.verdicts() == {}
    assert site.store.heartbeats() == {}
    assert "forgotten: returned to the vendor" in [one.reason for one in site.store.transitions(0.0)]
    copy.read(Policy())
    assert copy.nodes == {} and copy.healths(Policy(), 6.0) == {}
    assert site.fleet.verdicts("n1") == []
    assert site.fleet.incidents.open == {}
    assert site.fleet.take(site.report, 7.0) == []


def test_the_pool_is_counted_without_it(site: Site) -> None:
    site.remove()
    commands.forget_node("n1", GONE, ANN, site.transaction(), ())
    counted = site.fleet._state.guards.tallies["default"]
    assert counted == tally(site.fleet.nodes.values(), "default")
    assert site.fleet._state.guards.failing_by("n1") is None


def test_what_enrols_again_is_a_new_node(site: Site) -> None:
    site.remove()
    assert site.fleet.enrol("n1", "default", {}, 3.0) == [] or site.fleet.nodes["n1"].stage is Stage.REMOVED
    commands.forget_node("n1", GONE, ANN, site.transaction(), ())
    site.fleet.enrol("n1", "default", {}, 9.0)
    node = site.fleet.nodes["n1"]
    assert (node.stage, node.repair_step, node.offences) == (Stage.TESTING, 0, ())
