"""The Kubernetes back end on a real API server."""

import time

import pytest

from holdfast.fleet.actions.backend import ActionResult
from holdfast.model.lifecycle import Action, Verb

from .conftest import Cluster

pytestmark = pytest.mark.slow
UNTESTED = "holdfast/untested:NoSchedule"


def action(node: str, verb: Verb, cause: str = "gpu.xid", reason: str = "Xid 79 on GPU 3") -> Action:
    return Action(node=node, verb=verb, cause=cause, reason=reason, at=time.time())


def test_an_untested_node_gets_the_taint_and_no_cordon(cluster: Cluster, node: str) -> None:
    backend = cluster.backend()
    message = backend.perform(action(node, Verb.CORDON, cause="", reason="a new node runs nothing until tested"), False)
    assert message.result is ActionResult.DONE, message
    assert cluster.taints(node) == {UNTESTED}
    assert not cluster.cordoned(node)
    condition = cluster.condition(node)
    assert (condition["status"], condition["reason"]) == ("Unknown", "Untested")
    [status] = [one for one in backend.observe() if one.node == node]
    assert status.cordoned
    assert status.ours
    assert not status.accepts_work


def test_a_drain_cordons_taints_reports_and_evicts(cluster: Cluster, node: str) -> None:
    cluster.add_pod("train", node, gpus=8)
    cluster.add_pod("web", node)
    daemon = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    cluster.add_pod("exporter", node, ownerReferences=[daemon])
    cluster.add_pod("static", node, annotations={"kubernetes.io/config.mirror": "x"})
    cluster.add_pod("over", node, phase="Succeeded")
    backend = cluster.backend()
    drain = action(node, Verb.DRAIN)
    answer = backend.perform(drain, False)
    assert answer.result is ActionResult.DONE, answer
    assert "default/train" in answer.message
    assert cluster.pods(node) == {"exporter", "static", "over"}
    assert cluster.cordoned(node)
    assert cluster.taints(node) >= {UNTESTED}
    assert cluster.get_node(node)["metadata"]["annotations"]["holdfast/cordon"] == "gpu.xid: Xid 79 on GPU 3"
    condition = cluster.condition(node)
    assert (condition["status"], condition["message"]) == ("False", "gpu.xid: Xid 79 on GPU 3")
    assert [(one["type"], one["message"]) for one in cluster.events(node)] == [("Warning", "gpu.xid: Xid 79 on GPU 3")]

    assert backend.perform(drain, False).result is ActionResult.NOTHING_TO_DO
    assert len(cluster.events(node)) == 1

    passed = backend.perform(action(node, Verb.UNCORDON, "", "passed the full suite"), False)
    assert passed.result is ActionResult.DONE, passed
    assert not cluster.cordoned(node)
    assert cluster.taints(node) == set()
    assert "holdfast/cordon" not in cluster.get_node(node)["metadata"].get("annotations", {})
    assert cluster.condition(node)["status"] == "True"
    assert (
        backend.perform(action(node, Verb.UNCORDON, "", "passed the full suite"), False).result
        is ActionResult.NOTHING_TO_DO
    )


def test_a_disruption_budget_is_respected_until_it_allows(cluster: Cluster, node: str) -> None:
    cluster.add_pod("served", node, gpus=1, labels={"app": "served"})
    cluster.add_pod("free", node)
    cluster.add_budget("served", {"app": "served"}, allowed=0)
    backend = cluster.backend()
    drain = action(node, Verb.DRAIN)
    held = backend.perform(drain, False)
    assert (held.result, held.retryable) == (ActionResult.FAILED, True)
    assert "default/served" in held.message
    assert "disruption budget" in held.message
    assert cluster.pods(node) == {"served"}
    assert cluster.cordoned(node)
    [status] = [one for one in backend.observe() if one.node == node]
    assert status.busy

    cluster.allow("served", 1)
    assert backend.perform(drain, False).result is ActionResult.DONE
    assert cluster.pods(node) == set()
    [status] = [one for one in backend.observe() if one.node == node]
    assert not status.busy


def test_a_cordon_made_by_hand_is_never_touched(cluster: Cluster, node: str) -> None:
    backend = cluster.backend()
    cluster.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
    drained = backend.perform(action(node, Verb.DRAIN), False)
    assert "another" in drained.message
    answer = backend.perform(action(node, Verb.UNCORDON), False)
    assert "made by another and stays" in answer.message
    assert cluster.cordoned(node)
    assert cluster.taints(node) == set()


def test_a_cordon_made_by_hand_after_ours_was_lifted_by_hand_is_not_ours(cluster: Cluster, node: str) -> None:
    backend = cluster.backend()
    backend.perform(action(node, Verb.DRAIN), False)
    cluster.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": False}})
    backend.perform(action(node, Verb.CORDON, cause=""), False)  # what the controller asks for when it sees that
    assert "holdfast/cordon" not in cluster.get_node(node)["metadata"].get("annotations", {})
    cluster.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
    assert "made by another and stays" in backend.perform(action(node, Verb.UNCORDON), False).message
    assert cluster.cordoned(node)


def test_a_node_that_registered_after_the_test_began_is_not_opened_by_it(cluster: Cluster, node: str) -> None:
    backend = cluster.backend()
    backend.perform(action(node, Verb.CORDON, cause=""), False)
    now = time.time()
    late = Action(node=node, verb=Verb.UNCORDON, reason="passed the full suite", at=now, tested_at=now - 60)
    left = backend.perform(late, False)
    assert left.result is ActionResult.NOTHING_TO_DO and "registered anew" in left.message
    assert cluster.taints(node) == {UNTESTED}


def test_others_taints_stay(cluster: Cluster, node: str) -> None:
    theirs = {"key": "team/reserved", "value": "x", "effect": "NoExecute"}
    cluster.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": [theirs]}})
    backend = cluster.backend()
    for verb in (Verb.CORDON, Verb.CHOOSE_LAST):
        backend.perform(action(node, verb), False)
    assert cluster.taints(node) == {UNTESTED, "team/reserved:NoExecute", "holdfast/degraded:PreferNoSchedule"}
    for verb in (Verb.UNCORDON, Verb.CHOOSE_NORMALLY):
        backend.perform(action(node, verb), False)
    assert cluster.taints(node) == {"team/reserved:NoExecute"}


def test_a_degraded_node_is_chosen_last_by_taint_and_label(cluster: Cluster, node: str) -> None:
    backend = cluster.backend()
    assert backend.perform(action(node, Verb.CHOOSE_LAST), False).result is ActionResult.DONE
    assert cluster.get_node(node)["metadata"]["labels"]["holdfast/degraded"] == "true"
    assert backend.perform(action(node, Verb.CHOOSE_LAST), False).result is ActionResult.NOTHING_TO_DO
    assert backend.perform(action(node, Verb.CHOOSE_NORMALLY), False).result is ActionResult.DONE
    assert "holdfast/degraded" not in cluster.get_node(node)["metadata"].get("labels", {})
    assert backend.perform(action(node, Verb.CHOOSE_NORMALLY), False).result is ActionResult.NOTHING_TO_DO


@pytest.mark.parametrize("verb", [Verb.CORDON, Verb.DRAIN, Verb.CHOOSE_LAST])
def test_a_dry_run_says_it_and_changes_nothing(cluster: Cluster, node: str, verb: Verb) -> None:
    cluster.add_pod(f"dry-{verb.value.replace('_', '-')}", node, gpus=1)
    before = cluster.get_node(node)
    answer = cluster.backend().perform(action(node, verb), True)
    assert answer.dry_run
    assert answer.message.startswith(f"would {verb.value} {node}: PATCH /api/v1/nodes/{node}")
    assert ("evict default/dry-drain" in answer.message) == (verb is Verb.DRAIN)
    assert cluster.get_node(node)["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert len(cluster.pods(node)) == 1
    assert cluster.events(node) == []


def test_what_the_account_may_not_do_is_reported_and_not_tried_again(cluster: Cluster, node: str) -> None:
    answer = cluster.backend("viewer").perform(action(node, Verb.CORDON), False)
    assert (answer.result, answer.retryable) == (ActionResult.FAILED, False)
    assert 'User "viewer" cannot get resource "nodes"' in answer.message


def test_where_words_are_forbidden_the_command_is_done_and_says_so(cluster: Cluster, node: str) -> None:
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]}]
    group = "rbac.authorization.k8s.io"
    named = {"apiVersion": f"{group}/v1", "metadata": {"name": "limited"}}
    cluster.create({**named, "kind": "ClusterRole", "rules": rules})
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "limited"}
    subjects = [{"apiGroup": group, "kind": "User", "name": "limited"}]
    cluster.create({**named, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects})
    answer = cluster.backend("limited").perform(action(node, Verb.CORDON), False)
    assert answer.result is ActionResult.DONE
    assert 'cannot patch resource "nodes/status"' in answer.message
    assert cluster.taints(node) == {UNTESTED}


def test_a_token_that_no_one_knows_is_reported(cluster: Cluster, node: str) -> None:
    answer = cluster.backend("nobody").perform(action(node, Verb.CORDON), False)
    assert (answer.result, answer.retryable) == (ActionResult.FAILED, False)
    assert "401" in answer.message


@pytest.mark.parametrize("name", ["missing", "../pods", "A"])
def test_no_such_node_is_refused(cluster: Cluster, name: str) -> None:
    assert cluster.backend().perform(action(name, Verb.CORDON), False).result is ActionResult.REFUSED


def test_somebody_who_changes_the_node_meanwhile_is_not_overwritten(cluster: Cluster, node: str) -> None:
    """Between our look and our change another taint arrives: the server refuses (409), and we look again."""
    backend = cluster.backend()
    stale = backend._node(node)
    cluster.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": [{"key": "late", "effect": "NoSchedule"}]}})
    message = backend._close(action(node, Verb.CORDON), stale, False)
    assert message.result is ActionResult.DONE
    assert cluster.taints(node) == {"late:NoSchedule", UNTESTED}
