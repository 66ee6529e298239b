"""Spares: tested nodes held back, one promoted for every node that leaves, filled up again when nodes return."""

import pytest

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import EventKind, Stage, Verb
from tests.fleet.decisions.simulated_fleet import SimulatedFleet

POLICY = Policy(dry_run=False, shared_first_seconds=0.0, spares=2)


def spares(simulated: SimulatedFleet) -> list[str]:
    return [name for name, node in simulated.fleet.nodes.items() if node.stage is Stage.SPARE]


def test_the_first_that_pass_are_held_back_with_our_note() -> None:
    simulated = SimulatedFleet(policy=POLICY)
    assert spares(simulated) == ["n0", "n1"]
    (cordon,) = [a for step in simulated.steps for a in step.actions if a.cause == "spare" and a.node == "n0"]
    assert cordon.verb is Verb.CORDON
    assert Verb.UNCORDON not in simulated.verbs("n0")


def test_one_is_promoted_when_a_node_leaves_and_one_held_back_when_it_returns() -> None:
    simulated = SimulatedFleet(policy=POLICY)
    simulated.says("n9", "gpu.xid", "fail")
    simulated.passes()
    assert spares(simulated) == ["n1"]
    assert simulated.stage("n0") is Stage.READY
    assert simulated.verbs("n0")[-1] is Verb.UNCORDON
    simulated.passes()
    simulated.reset("n9")
    simulated.says("n9", "gpu.xid", "pass")
    assert spares(simulated) == ["n1"]  # on trial it is still out
    simulated.test("n9")
    assert spares(simulated) == ["n1", "n9"]


def test_a_node_that_was_removed_uses_no_spare() -> None:
    simulated = SimulatedFleet(policy=POLICY)
    for name in ("n8", "n9", "n10"):
        simulated.steps += simulated.fleet.operator(name, EventKind.REMOVE, "sent back", "ann", simulated.now)
    simulated.passes()
    assert spares(simulated) == ["n0", "n1"]


def test_a_spare_whose_test_is_out_of_date_is_tested_and_not_promoted() -> None:
    simulated = SimulatedFleet(policy=POLICY)
    simulated.says("n9", "gpu.xid", "fail")
    simulated.fleet.policy = Policy(dry_run=False, shared_first_seconds=0.0, spares=2, suite="2")
    simulated.passes()
    assert simulated.stage("n0") is Stage.TESTING
    assert Verb.UNCORDON not in simulated.verbs("n0")


def test_a_spare_that_fails_leaves_like_any_other() -> None:
    simulated = SimulatedFleet(policy=POLICY)
    simulated.says("n0", "gpu.xid", "fail")
    assert simulated.stage("n0") is Stage.DRAINING
    simulated.passes()
    assert spares(simulated) == ["n1"]
