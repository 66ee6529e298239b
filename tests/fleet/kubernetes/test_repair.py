"""Closing a node for a repair step on a real API server: what somebody lifted by hand is set again first."""

import time

import pytest

from holdfast.model.lifecycle import Action, Verb

from .conftest import Cluster

pytestmark = pytest.mark.slow
UNTESTED = "holdfast/untested:NoSchedule"


def step(node: str) -> Action:
    return Action(node=node, verb=Verb.RESET_GPU, cause="gpu.lost", reason="repair step 1", at=time.time())


def test_taint_and_cordon_are_set_again_and_an_uncordon_during_the_step_leaves_the_taint(
    cluster: Cluster, node: str
) -> None:
    backend = cluster.backend()
    cluster.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": False, "taints": []}})
    assert backend.close_for_repair(step(node)) == ""
    assert cluster.cordoned(node)
    assert cluster.taints(node) >= {UNTESTED}
    cluster.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": False}})
    assert cluster.taints(node) == {UNTESTED}
    assert backend.close_for_repair(step(node)) == ""


def test_a_node_with_a_pod_is_closed_but_not_given_to_the_step(cluster: Cluster, node: str) -> None:
    cluster.add_pod("train", node, gpus=8)
    message = cluster.backend().close_for_repair(step(node))
    assert "not drained and empty" in message
    assert cluster.cordoned(node)
    assert "train" in cluster.pods(node), "a step evicts nothing"
    assert "knows no node" in cluster.backend().close_for_repair(step("nobody"))
