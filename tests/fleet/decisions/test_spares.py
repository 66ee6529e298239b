"""Spares: tested nodes held back, one promoted for every node that leaves, filled up again when nodes return."""

import pytest

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import EventKind, Stage, Verb
from tests.fleet.decisions.simulated_fleet import SimulatedFleet

POLICY = Policy(dry_run=False, shared_first_seconds=0.0, spares=2)


def spares(told: SimulatedFleet) -> list[str]:
    return [name for name, node in told.fleet.nodes.items() if node.stage is Stage.SPARE]


def test_the_first_that_pass_are_held_back_with_our_note() -> None:
    told = SimulatedFleet(policy=POLICY)
    assert spares(told) == ["n0", "n1"]
    (cordon,) = [a for step in told.steps for a in step.actions if a.cause == "spare" and a.node == "n0"]
    assert cordon.verb is Verb.CORDON
    assert Verb.UNCORDON not in told.verbs("n0")


def test_one_is_promoted_when_a_node_leaves_and_one_held_back_when_it_returns() -> None:
    told = SimulatedFleet(policy=POLICY)
    told.says("n9", "gpu.xid", "fail")
    told.passes()
    assert spares(told) == ["n1"]
    assert told.stage("n0") is Stage.READY
    assert told.verbs("n0")[-1] is Verb.UNCORDON
    told.passes()
    told.reset("n9")
    told.says("n9", "gpu.xid", "pass")
    assert spares(told) == ["n1"]  # on trial it is still out
    told.test("n9")
    assert spares(told) == ["n1", "n9"]


def test_a_node_that_was_removed_uses_no_spare() -> None:
    told = SimulatedFleet(policy=POLICY)
    for name in ("n8", "n9", "n10"):
        told.steps += told.fleet.operator(name, EventKind.REMOVE, "sent back", "ann", told.now)
    told.passes()
    assert spares(told) == ["n0", "n1"]


def test_a_spare_whose_test_is_out_of_date_is_tested_and_not_promoted() -> None:
    told = SimulatedFleet(policy=POLICY)
    told.says("n9", "gpu.xid", "fail")
    told.fleet.policy = Policy(dry_run=False, shared_first_seconds=0.0, spares=2, suite="2")
    told.passes()
    assert told.stage("n0") is Stage.TESTING
    assert Verb.UNCORDON not in told.verbs("n0")


def test_a_spare_that_fails_leaves_like_any_other() -> None:
    told = SimulatedFleet(policy=POLICY)
    told.says("n0", "gpu.xid", "fail")
    assert told.stage("n0") is Stage.DRAINING
    told.passes()
    assert spares(told) == ["n1"]
