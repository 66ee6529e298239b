"""The whole loop: a real controller on a real API server, with the rights that deploy/ gives it and no others."""

from collections.abc import Iterator

import pytest

from ..controller.running import Controller, running, until  # noqa: TID252  tests are no package to name
from .conftest import Cluster

pytestmark = pytest.mark.slow
UNTESTED = "holdfast/untested:NoSchedule"
TAINT = {"key": "holdfast/untested", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def controller(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    more = f'observe_seconds = 1\n[kubernetes]\nkubeconfig = "{cluster.kubeconfig("controller")}"\n'
    policy = "dry_run = false\ndrain = 'evict'\nbreaker_share = 1.0\nbreaker_nodes = 100\n"
    with running(tmp_path_factory.mktemp("controller"), more=more, policy=policy) as made:
        yield made


def test_a_failing_node_is_cordoned_emptied_retested_and_opened(
    cluster: Cluster, controller: Controller, node: str
) -> None:
    agent = controller.enrol(node)
    until(lambda: UNTESTED in cluster.taints(node), "tainted at registration")
    agent.pass_test()
    until(lambda: cluster.taints(node) == set(), "opened after the test")

    uid = cluster.add_pod("training", node, gpus=4, labels={"job": "training"})
    cluster.add_budget("training", {"job": "training"}, allowed=0)
    controller.reaches(node, "allocated")
    agent.verdict("gpu.xid", "fail", "Xid 79 on GPU 3")
    until(lambda: cluster.cordoned(node), "cordoned")
    assert cluster.taints(node) == {UNTESTED}
    assert cluster.pods(node) == {"training"}
    assert controller.stage(node) == "draining"
    cluster.allow("training", 1)
    until(lambda: cluster.pods(node) == set(), "evicted when its budget allows")

    reset = agent.ordered("reset_gpu")
    assert cluster.cordoned(node)
    agent.verdict("gpu.xid", "pass")
    agent.answer(reset)
    agent.pass_test()
    until(lambda: not cluster.cordoned(node), "uncordoned")
    until(lambda: cluster.taints(node) == set(), "open again")
    until(lambda: cluster.condition(node)["status"] == "True", "said to be healthy")
    assert controller.stage(node) == "ready"
    reasons = {one["reason"] for one in cluster.events(node)}
    assert reasons >= {"Untested", "OutOfService", "FullSuitePassed"}
    [job] = controller.get("/v1/jobs", node=node)["jobs"]
    assert (job["id"], job["source"], job["state"]) == (uid, "kubernetes", "cancelled")


def test_after_a_gpu_pod_the_node_takes_nothing_until_tested(
    cluster: Cluster, controller: Controller, node: str
) -> None:
    agent = controller.enrol(node)
    agent.pass_test()
    until(lambda: cluster.taints(node) == set(), "open")
    cluster.add_pod("quarter", node, gpus=2)
    controller.reaches(node, "allocated")
    assert cluster.taints(node) == set()  # six GPUs are still to be had
    cluster.set_phase("quarter", "Succeeded")
    until(lambda: UNTESTED in cluster.taints(node), "tainted after the pod")
    agent.pass_test()
    until(lambda: cluster.taints(node) == set(), "open again")


def test_a_node_that_one_pod_takes_whole_is_tainted_before_the_pod_ends(
    cluster: Cluster, controller: Controller, node: str
) -> None:
    agent = controller.enrol(node)
    agent.pass_test()
    until(lambda: cluster.taints(node) == set(), "open")
    cluster.add_pod("whole", node, gpus=8)
    until(lambda: UNTESTED in cluster.taints(node), "tainted while the pod runs")
    assert controller.stage(node) == "allocated"
    assert cluster.pods(node) == {"whole"}
    until(lambda: controller.audited(verb="cordon", target=node, outcome="done"), "audited")
    cluster.end("whole")
    agent.pass_test()
    until(lambda: cluster.taints(node) == set(), "open again")
    assert controller.stage(node) == "ready"


def test_a_pod_without_gpus_changes_nothing(cluster: Cluster, controller: Controller, node: str) -> None:
    controller.enrol(node).pass_test()
    until(lambda: cluster.taints(node) == set(), "open")
    cluster.add_pod("plain", node)
    other = cluster.add_pod("marker", node, gpus=1)
    controller.reaches(node, "allocated")  # so it has looked since
    assert [job["id"] for job in controller.get("/v1/jobs", node=node)["jobs"]] == [other]


def test_a_node_registered_anew_is_tested_again(cluster: Cluster, controller: Controller, node: str) -> None:
    agent = controller.enrol(node)
    agent.pass_test()
    cluster.add_pod("known", node, gpus=1)
    controller.reaches(node, "allocated")  # so it has seen this Node object
    cluster.end("known")
    agent.pass_test()
    until(lambda: cluster.taints(node) == set(), "open")
    cluster.ask("DELETE", f"/api/v1/nodes/{node}")
    cluster.add_node(node)
    until(lambda: UNTESTED in cluster.taints(node), "tainted at its new registration")
    agent.pass_test()
    until(lambda: cluster.taints(node) == set(), "open again")


def test_a_taint_removed_by_hand_comes_back(cluster: Cluster, controller: Controller, node: str) -> None:
    controller.enrol(node)
    until(lambda: UNTESTED in cluster.taints(node), "tainted")
    cluster.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": None}})
    until(lambda: UNTESTED in cluster.taints(node), "tainted again")
    assert any("shows it without holdfast/untested" in line["detail"] for line in controller.node_history(node))


def test_a_node_that_registers_with_our_taint_is_opened_by_its_test(cluster: Cluster, controller: Controller) -> None:
    name = cluster.add_node("n-with-taint", taints=[TAINT])
    controller.enrol(name).pass_test()
    until(lambda: cluster.taints(name) == set(), "open")
    cluster.remove_node(name)


def test_in_a_dry_run_the_cluster_stays_as_it_is(
    cluster: Cluster, node: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    more = f'observe_seconds = 0.2\n[kubernetes]\nkubeconfig = "{cluster.kubeconfig("controller")}"\n'
    before = cluster.get_node(node)["metadata"]["resourceVersion"]
    with running(tmp_path_factory.mktemp("dry"), more=more, policy="dry_run = true\n") as controller:
        agent = controller.enrol(node)
        agent.pass_test()
        agent.verdict("gpu.xid", "fail", "Xid 79 on GPU 3")
        controller.reaches(node, "quarantined")

        def result() -> set[str]:
            actions = controller.get("/v1/actions", node=node)["actions"]
            return {one["verb"] for one in actions if one["state"] == "dry_run" and one["detail"].startswith("would")}

        until(lambda: result() >= {"cordon", "drain"}, "told what it would do")
    assert cluster.get_node(node)["metadata"]["resourceVersion"] == before
    assert cluster.events(node) == []
