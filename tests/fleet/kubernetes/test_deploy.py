"""What stands in deploy/ and docs is what a real API server takes, and what kubectl shows of our commands."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from holdfast.model.lifecycle import Action, Verb

from .conftest import CONTROLLER, DEPLOY, PATHS, Cluster

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("file", sorted(DEPLOY.glob("*.yaml")), ids=lambda path: path.name)
def test_the_server_takes_every_manifest(cluster: Cluster, file: Path) -> None:
    for document in yaml.safe_load_all(file.read_text()):
        if document["kind"] == "Namespace" or "podFailurePolicy" in document.get("spec", {}):
            continue  # made with the cluster; newer than this server
        namespace = document["metadata"].get("namespace", "default")
        path = PATHS[document["kind"]].format(namespace=namespace)
        name = document["metadata"]["name"]
        known = {one["metadata"]["name"] for one in cluster.ask("GET", path)["items"]}
        made = (
            document if name not in known else {**document, "metadata": {**document["metadata"], "name": f"{name}-2"}}
        )
        answer = cluster.create(made, dryRun="All")
        assert answer.get("spec", {}).keys() >= document.get("spec", {}).keys()


@pytest.mark.parametrize(
    ("verb", "resource", "allowed"),
    [
        ("patch", "nodes", True),
        ("patch", "nodes/status", True),
        ("create", "pods/eviction", True),
        ("watch", "pods", True),
        ("delete", "pods", False),
        ("delete", "nodes", False),
        ("get", "secrets", False),
    ],
)
def test_the_controller_may_do_exactly_what_it_needs(cluster: Cluster, verb: str, resource: str, allowed: bool) -> None:
    resource, _, part = resource.partition("/")
    attributes = {"verb": verb, "resource": resource, "subresource": part, "namespace": "default"}
    review = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
    body = {**review, "spec": {"user": CONTROLLER, "resourceAttributes": attributes}}
    answer = cluster.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    assert bool(answer["status"].get("allowed")) is allowed


def test_kubectl_describe_shows_condition_event_and_taint(cluster: Cluster, node: str) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl here")
    drain = Action(node=node, verb=Verb.DRAIN, cause="gpu.xid", reason="Xid 79 on GPU 3", at=time.time())
    cluster.backend().perform(drain, False)
    command = [kubectl, "--kubeconfig", cluster.kubeconfig("admin"), "describe", "node", node]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0, shown.stderr
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "Taints: holdfast/untested=gpu.xid:NoSchedule" in lines
    assert any(line.startswith("HoldfastHealthy False") and "Xid 79" in line for line in lines)
    assert any(line.startswith("Warning OutOfService") and "holdfast gpu.xid: Xid 79" in line for line in lines)


def test_a_cordon_by_kubectl_stays(cluster: Cluster, node: str) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl here")
    backend = cluster.backend()
    subprocess.run([kubectl, "--kubeconfig", cluster.kubeconfig("admin"), "cordon", node], check=True, timeout=60)
    backend.perform(Action(node=node, verb=Verb.DRAIN, cause="gpu.xid", reason="Xid 79", at=time.time()), False)
    backend.perform(Action(node=node, verb=Verb.UNCORDON, reason="passed", at=time.time()), False)
    assert cluster.cordoned(node)
