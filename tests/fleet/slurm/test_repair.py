"""Closing a node for a repair step on a real Slurm: an administrator's resume opens nothing."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.fleet.actions.slurm.backend import Slurm, SlurmSettings
from holdfast.model.lifecycle import Action, Verb

pytestmark = pytest.mark.slow
QUICK = "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0\n"


def step(node: str) -> Action:
    return Action(node=node, verb=Verb.RESET_GPU, reason="repair step 1", cause="gpu.lost", at=time.time())


@pytest.fixture(scope="module")
def cluster(slurm_cluster: Callable[..., Any]) -> Any:
    return slurm_cluster(nodes=2, extra=QUICK)


@pytest.fixture
def slurm(cluster: Any) -> Slurm:
    return Slurm(SlurmSettings(), cluster.environ)


def test_a_node_that_is_resumed_by_hand_meanwhile_starts_nothing(cluster: Any, slurm: Slurm) -> None:
    action = step("node1")
    assert slurm.close_for_repair(action) == ""
    assert slurm.close_for_repair(action) == "", "twice is once"
    assert cluster.reason("node1") == "holdfast: gpu.lost: repair step 1"
    cluster.update("node1", "resume")
    job = cluster.submit("node1", "true")
    cluster.eventually(lambda: "ReqNodeNotAvail" in cluster.run("squeue", "-h", "-j", job, "-o", "%r"))
    cluster.eventually(lambda: list(slurm.snapshot().reserved.values()) == ["node1"])
    reserved = list(slurm.snapshot().reserved)
    slurm.end_reservations(reserved)
    slurm.end_reservations(reserved)
    cluster.eventually(lambda: cluster.job(job) == "COMPLETED")


def test_a_node_in_use_is_drained_and_reserved_but_not_given_to_the_step(cluster: Any, slurm: Slurm) -> None:
    action = step("node2")
    job = cluster.submit("node2", "sleep 60")
    cluster.eventually(lambda: cluster.job(job) == "RUNNING")
    assert "not drained and empty" in slurm.close_for_repair(action)
    assert cluster.job(job) == "RUNNING"
    cluster.run("scancel", job)
    cluster.eventually(lambda: slurm.close_for_repair(action) == "")
    cluster.eventually(lambda: list(slurm.snapshot().reserved.values()) == ["node2"])


def test_a_name_that_is_none_of_one_node_is_not_closed(slurm: Slurm) -> None:
    assert "knows no node" in slurm.close_for_repair(step("node9"))
    assert "not the name of one node" in slurm.close_for_repair(step("node[1-2]"))


def test_reservations_of_others_are_left_alone(cluster: Any, slurm: Slurm) -> None:
    theirs = ("reservationname=course", "nodes=node1", "starttime=now", "duration=60", "users=root", "flags=MAINT")
    cluster.run("scontrol", "create", "reservation", *theirs)
    cluster.eventually(lambda: "MAINT" in cluster.run("scontrol", "show", "node", "node1"))
    assert "node1" not in slurm.snapshot().reserved.values()


def test_a_site_can_do_without_reservations(cluster: Any) -> None:
    without = Slurm(replace(SlurmSettings(), reserve=False), cluster.environ)
    action = step("node1")
    assert without.close_for_repair(action) == ""
    assert cluster.state("node1").startswith("dr")
    assert f"{action.at * 1000:.0f}" not in cluster.run("scontrol", "show", "reservation")
