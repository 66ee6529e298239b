"""Planned work: what fails meanwhile is recorded, and everybody is tested in full when it ends."""

import pytest

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import Stage, Verb
from tests.fleet.decisions.simulated_fleet import SimulatedFleet

WINTER = Maintenance(name="winter", nodes=frozenset({"n1", "n2", "n3", "n4", "n5", "n6"}), start=100.0, end=1000.0)
POLICY = Policy(dry_run=False, shared_first_seconds=0.0, maintenance=(WINTER,))


def in_maintenance() -> SimulatedFleet:
    simulated = SimulatedFleet(policy=POLICY)
    simulated.passes(100 - simulated.now)
    return simulated


def test_a_failure_meanwhile_is_recorded_and_nothing_is_done() -> None:
    simulated = in_maintenance()
    simulated.says("n1", "gpu.xid", "fail")
    for _ in range(5):
        simulated.passes(10)
    assert simulated.stage("n1") is Stage.READY
    assert Verb.DRAIN not in simulated.verbs("n1")
    assert simulated.fleet.nodes["n1"].held == "maintenance/winter"
    assert simulated.fleet.health("n1", simulated.now) == "fail"


def test_others_are_judged_as_ever() -> None:
    simulated = in_maintenance()
    simulated.says("n9", "gpu.xid", "fail")
    assert simulated.stage("n9") is Stage.DRAINING


def test_nodes_worked_on_are_neither_a_pattern_nor_missed_when_silent() -> None:
    simulated = in_maintenance()
    simulated.quiet = set(WINTER.nodes)
    for name in ("n1", "n2", "n3", "n4", "n5"):
        simulated.says(name, "gpu.xid", "fail")
    for _ in range(40):
        simulated.passes(10)
    assert not simulated.incidents()


def test_at_its_end_all_are_tested_in_full() -> None:
    simulated = in_maintenance()
    simulated.says("n1", "gpu.xid", "fail")
    simulated.passes(1000 - simulated.now)
    assert {simulated.stage(name) for name in WINTER.nodes} == {Stage.TESTING}
    assert simulated.stage("n9") is Stage.READY
    simulated.test("n2")
    assert simulated.stage("n2") is Stage.READY
    simulated.test("n1", "fail", "gpu.xid")
    assert simulated.stage("n1") is Stage.QUARANTINED


def test_repair_steps_rest_and_the_quarantined_are_tested_at_the_end() -> None:
    simulated = SimulatedFleet(policy=POLICY)
    simulated.now = 99.0
    simulated.says("n1", "gpu.xid", "fail")
    simulated.passes(1)
    for _ in range(5):
        simulated.passes(10)
    assert simulated.stage("n1") is Stage.QUARANTINED
    assert Verb.RESET_GPU not in simulated.verbs("n1")
    simulated.passes(1000 - simulated.now)
    assert simulated.stage("n1") is Stage.TESTING


def test_a_restart_in_the_middle_does_not_forget_the_test_at_the_end() -> None:
    simulated = in_maintenance()
    simulated.restarts()
    simulated.passes(1000 - simulated.now)
    assert {simulated.stage(name) for name in WINTER.nodes} == {Stage.TESTING}
