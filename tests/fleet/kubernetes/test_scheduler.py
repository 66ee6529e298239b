"""The invariant, with the real scheduler and the real disruption controller: what waits does not start untested."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.ports import free_ports

from ..controller.running import Controller, running, until  # noqa: TID252  tests are no package to name
from .conftest import BINARIES, Cluster

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def controller(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """With kube-scheduler and kube-controller-manager beside it."""
    more = {"kube-scheduler": [], "kube-controller-manager": ["--controllers=disruption"]}
    if missing := [name for name in more if not (BINARIES / name).exists()]:
        pytest.skip(f"no {', '.join(missing)} in {BINARIES}; `make test-kubernetes` builds them")
    for name, options in more.items():
        [port] = free_ports(1)
        common = [f"--kubeconfig={cluster.kubeconfig('admin')}", "--leader-elect=false", "--bind-address=127.0.0.1"]
        certificates = [f"--cert-dir={cluster.root}/{name}", f"--secure-port={port}", "--port=0"]
        cluster.start(name, str(BINARIES / name), *common, *certificates, *options)
    settings = f'observe_seconds = 5\n[kubernetes]\nkubeconfig = "{cluster.kubeconfig("controller")}"\n'
    try:
        with running(tmp_path_factory.mktemp("controller"), more=settings, policy=POLICY) as made:
            yield made
    finally:
        for name in more:
            cluster.processes[name].kill()
            cluster.processes.pop(name).wait()


POLICY = "dry_run = false\ndrain = 'evict'\nbreaker_share = 1.0\nbreaker_nodes = 100\n"


def queue(cluster: Cluster, name: str, node: str, gpus: int, **meta: Any) -> None:
    """A pod for the scheduler to place; it fits one node only."""
    container = {"name": "main", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    spec = {"containers": [container], "nodeSelector": {"only": node}, "terminationGracePeriodSeconds": 0}
    cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}, "spec": spec})


def placed(cluster: Cluster, pod: str) -> bool:
    return bool(cluster.ask("GET", f"/api/v1/namespaces/default/pods/{pod}")["spec"].get("nodeName"))


def refusal(cluster: Cluster, pod: str) -> str:
    """What the scheduler said when it last looked at a pod and found no place."""
    conditions = cluster.ask("GET", f"/api/v1/namespaces/default/pods/{pod}")["status"].get("conditions", [])
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")


@pytest.fixture
def labelled(cluster: Cluster, node: str) -> str:
    cluster.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {"only": node}}})
    return node


def test_what_waits_behind_a_workload_does_not_start_before_the_test(
    cluster: Cluster, controller: Controller, labelled: str
) -> None:
    node = labelled
    agent = controller.enrol(node)
    until(lambda: cluster.taints(node), "a fresh node is tainted")
    queue(cluster, "first", node, 8)
    until(lambda: "holdfast/untested" in refusal(cluster, "first"), "the scheduler refuses the untested node")
    agent.pass_test()
    until(lambda: placed(cluster, "first"), "placed after the test")
    cluster.set_phase("first", "Running")
    queue(cluster, "second", node, 8)
    until(lambda: cluster.taints(node), "tainted while the first runs")
    cluster.set_phase("first", "Succeeded")
    queue(cluster, "third", node, 8)  # the scheduler looks at it after the GPUs became free
    until(lambda: "holdfast/untested" in refusal(cluster, "third"), "only the taint stands in its way")
    test = agent.ordered("retest")
    assert not placed(cluster, "second")
    assert not placed(cluster, "third")
    agent.answer(test, health="pass")
    until(lambda: placed(cluster, "second") or placed(cluster, "third"), "placed after the test")
    cluster.end("third")
    cluster.end("second")


def test_the_real_disruption_controller_holds_a_drain_until_there_is_another(
    cluster: Cluster, controller: Controller, node: str
) -> None:
    agent = controller.enrol(node)
    agent.pass_test()
    cluster.add_pod("served", node, gpus=1, labels={"app": "real"})
    controller.reaches(node, "allocated")
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "real"}}}
    made = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "real"}, "spec": budget}
    cluster.create(made)
    agent.verdict("gpu.xid", "fail", "Xid 79 on GPU 3")
    until(lambda: cluster.cordoned(node), "cordoned")

    def held() -> bool:
        actions = controller.get("/v1/actions", node=node)["actions"]
        return any(one["verb"] == "drain" and "disruption budget" in one["detail"] for one in actions)

    until(held, "the drain says what holds it")
    assert cluster.pods(node) == {"served"}
    elsewhere = cluster.add_node("n-elsewhere")
    cluster.add_pod("replacement", elsewhere, labels={"app": "real"})
    until(lambda: cluster.pods(node) == set(), "evicted as soon as another serves")
    cluster.remove_node(elsewhere)
