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
    told = SimulatedFleet(policy=POLICY)
    told.passes(100 - told.now)
    return told


def test_a_failure_meanwhile_is_recorded_and_nothing_is_done() -> None:
    told = in_maintenance()
    told.says("n1", "gpu.xid", "fail")
    for _ in range(5):
        told.passes(10)
    assert told.stage("n1") is Stage.READY
    assert Verb.DRAIN not in told.verbs("n1")
    assert told.fleet.nodes["n1"].held == "maintenance/winter"
    assert told.fleet.health("n1", told.now) == "fail"


def test_others_are_judged_as_ever() -> None:
    told = in_maintenance()
    told.says("n9", "gpu.xid", "fail")
    assert told.stage("n9") is Stage.DRAINING


def test_nodes_worked_on_are_neither_a_pattern_nor_missed_when_silent() -> None:
    told = in_maintenance()
    told.quiet = set(WINTER.nodes)
    for name in ("n1", "n2", "n3", "n4", "n5"):
        told.says(name, "gpu.xid", "fail")
    for _ in range(40):
        told.passes(10)
    assert not told.incidents()


def test_at_its_end_all_are_tested_in_full() -> None:
    told = in_maintenance()
    told.says("n1", "gpu.xid", "fail")
    told.passes(1000 - told.now)
    assert {told.stage(name) for name in WINTER.nodes} == {Stage.TESTING}
    assert told.stage("n9") is Stage.READY
    told.test("n2")
    assert told.stage("n2") is Stage.READY
    told.test("n1", "fail", "gpu.xid")
    assert told.stage("n1") is Stage.QUARANTINED


def test_repair_steps_rest_and_the_quarantined_are_tested_at_the_end() -> None:
    told = SimulatedFleet(policy=POLICY)
    told.now = 99.0
    told.says("n1", "gpu.xid", "fail")
    told.passes(1)
    for _ in range(5):
        told.passes(10)
    assert told.stage("n1") is Stage.QUARANTINED
    assert Verb.RESET_GPU not in told.verbs("n1")
    told.passes(1000 - told.now)
    assert told.stage("n1") is Stage.TESTING


def test_a_restart_in_the_middle_does_not_forget_the_test_at_the_end() -> None:
    told = in_maintenance()
    told.restarts()
    told.passes(1000 - told.now)
    assert {told.stage(name) for name in WINTER.nodes} == {Stage.TESTING}
