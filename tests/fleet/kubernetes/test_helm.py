"""The chart is installed, upgraded and uninstalled by the real helm in a real API server."""

from typing import Any

import pytest

from ...deploy.chart import CHART, FULL, HELM, MISSING, chosen, helm  # noqa: TID252  tests are no package to name
from .conftest import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not HELM, reason=MISSING)]
NAMESPACE = "gpu-care"
NAME = "care"


def released(cluster: Cluster, verb: str, *more: str) -> str:
    where = ("--kubeconfig", cluster.kubeconfig("admin"), "--namespace", NAMESPACE)
    done = helm(verb, NAME, *more, *where)
    assert done.returncode == 0, done.stderr
    return done.stdout


def controllers(cluster: Cluster) -> Any:
    return cluster.ask("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments")["items"]


def test_it_is_installed_upgraded_and_leaves_nothing_but_its_memory(cluster: Cluster) -> None:
    notes = released(cluster, "install", str(CHART), "--create-namespace", *chosen(()))
    label = f"kubectl label namespace {NAMESPACE} pod-security.kubernetes.io/enforce=privileged"
    assert label in notes and "agent.requireActive" in notes
    [controller] = controllers(cluster)
    assert controller["metadata"]["name"] == f"{NAME}-controller" and controller["spec"]["replicas"] == 1
    [agent] = cluster.ask("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets")["items"]
    assert agent["spec"]["template"]["spec"]["hostPID"] is True
    review = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
    asked = {"verb": "patch", "resource": "nodes"}
    user = f"system:serviceaccount:{NAMESPACE}:{NAME}-controller"
    body = {**review, "spec": {"user": user, "resourceAttributes": asked}}
    answer = cluster.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    assert answer["status"]["allowed"] is True
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    cluster.patch(f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {"labels": labels}})
    notes = released(cluster, "upgrade", str(CHART), *chosen(FULL))
    assert "pod-security" not in notes and "agent.requireActive" not in notes
    [controller] = controllers(cluster)
    assert controller["spec"]["replicas"] == 3
    released(cluster, "uninstall")
    assert controllers(cluster) == []
    claims = cluster.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims")["items"]
    assert [one["metadata"]["name"] for one in claims] == [f"{NAME}-controller"]
