"""Lease, gangs and resource claims on a real API server. The kinds it lacks are custom resources here."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from holdfast.fleet.actions.kubernetes.lease import KubernetesLease
from holdfast.model.lifecycle import Action, Verb

from ..controller.running import running, until  # noqa: TID252  tests are no package to name
from .conftest import Cluster

pytestmark = pytest.mark.slow
LEASES = "/apis/coordination.k8s.io/v1/namespaces/holdfast/leases"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
CLAIMS = "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1beta1/resourceslices"
KINDS = (
    ("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", "Namespaced"),
    ("resource.k8s.io", "v1beta1", "ResourceClaim", "resourceclaims", "Namespaced"),
    ("resource.k8s.io", "v1beta1", "ResourceSlice", "resourceslices", "Cluster"),
)


@pytest.fixture(scope="module")
def kinds(cluster: Cluster) -> Iterator[None]:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    for group, version, kind, plural, scope in KINDS:
        names = {"kind": kind, "plural": plural, "singular": kind.lower()}
        versions = [{"name": version, "served": True, "storage": True, "schema": schema}]
        approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1111"}
        meta = {"name": f"{plural}.{group}", "annotations": approved}
        spec = {"group": group, "scope": scope, "names": names, "versions": versions}
        cluster.ask("POST", path, {"kind": "CustomResourceDefinition", "metadata": meta, "spec": spec})
    rules = [{"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": ["get", "list", "patch"]}]
    user = {
        "kind": "User",
        "apiGroup": "rbac.authorization.k8s.io",
        "name": "system:serviceaccount:holdfast:holdfast-controller",
    }
    cluster.create({"kind": "ClusterRole", "metadata": {"name": "requeue"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "requeue"}
    cluster.create({"kind": "ClusterRoleBinding", "metadata": {"name": "requeue"}, "roleRef": role, "subjects": [user]})
    for group, version, _, plural, scope in KINDS:
        where = "namespaces/default/" if scope == "Namespaced" else ""
        address = f"{cluster.url}/apis/{group}/{version}/{where}{plural}"
        until(partial(_served, cluster, address), f"{plural} is served")
    yield
    for group, _, _, plural, _ in KINDS:
        cluster.ask("DELETE", f"{path}/{plural}.{group}")


def _served(cluster: Cluster, address: str) -> bool:
    return cluster.http.get(address, headers={"Authorization": "Bearer admin-token"}).is_success


def drain(node: str) -> Action:
    return Action(node=node, verb=Verb.DRAIN, cause="gpu.xid", reason="Xid 79", at=1.0)


def test_a_lease_has_one_holder(cluster: Cluster) -> None:
    backend, now = cluster.backend(), [0.0]
    first, second = (KubernetesLease(backend._api, "holdfast/pair", who, lambda: now[0]) for who in ("one", "two"))
    first.keep()
    second.keep()
    assert (first.held, second.held, second.taken) == (True, False, True)
    first.keep()
    now[0] += 15.1
    second.keep()
    assert not second.held, "it saw a renewal only now"
    now[0] += 15.1
    second.keep()
    assert (first.held, second.held) == (False, True)
    spec = cluster.ask("GET", f"{LEASES}/pair")["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("two", 1)


def test_of_two_controllers_with_stores_of_their_own_one_leads(cluster: Cluster, tmp_path: Any) -> None:
    more = f'[kubernetes]\nkubeconfig = "{cluster.kubeconfig("controller")}"\nlease = "holdfast/stores"\n'
    with running(tmp_path / "a", more=more) as first:
        until(lambda: first.ask("GET", "/healthz").json()["leading"], "the first leads")
        with running(tmp_path / "b", more=more, leads=False) as second:
            until(lambda: cluster.ask("GET", f"{LEASES}/stores")["spec"]["holderIdentity"], "the Lease is held")
            assert not second.ask("GET", "/healthz").json()["leading"]
            first.stop()
            until(lambda: second.ask("GET", "/healthz").json()["leading"], "the second leads: the Lease was given back")


@pytest.mark.usefixtures("kinds")
def test_a_jobset_is_suspended_for_a_drain_and_starts_again(cluster: Cluster, node: str) -> None:
    cluster.ask(
        "POST",
        JOBSETS,
        {
            "kind": "JobSet",
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "metadata": {"name": "train"},
            "spec": {"suspend": False},
        },
    )
    cluster.add_pod("train-0", node, gpus=8, labels={"jobset.sigs.k8s.io/jobset-name": "train"})
    backend = cluster.backend(requeue=("JobSet",))
    outcome = backend.perform(drain(node), False)
    assert "suspended JobSet default/train" in outcome.message
    assert cluster.ask("GET", f"{JOBSETS}/train")["spec"]["suspend"] is True
    assert cluster.pods(node) == {"train-0"}, "the JobSet controller ends its pods, not we"
    assert backend.start_again(backend.snapshot()) == []
    cluster.end("train-0")
    assert backend.start_again(backend.snapshot()) == ["JobSet default/train"]
    found = cluster.ask("GET", f"{JOBSETS}/train")
    assert found["spec"]["suspend"] is False
    assert "holdfast/suspended" not in found["metadata"].get("labels", {})


@pytest.mark.usefixtures("kinds")
def test_a_claim_counts_its_allocated_gpus(cluster: Cluster) -> None:
    name = cluster.add_node("n-claims", gpus=0)
    try:
        devices = [{"name": f"gpu-{i}"} for i in range(8)]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"nodeName": name, "driver": "gpu.nvidia.com", "pool": pool, "devices": devices}
        about = {"apiVersion": "resource.k8s.io/v1beta1"}
        cluster.ask("POST", SLICES, {**about, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})
        results = [{"driver": "gpu.nvidia.com", "pool": name, "device": f"gpu-{i}", "request": "r"} for i in range(4)]
        status = {"allocation": {"devices": {"results": results}}}
        meta = {"name": "c"}
        cluster.ask("POST", CLAIMS, {**about, "kind": "ResourceClaim", "metadata": meta, "status": status})
        changed: list[None] = []
        watched = cluster.backend().keep_looking(lambda: changed.append(None))
        watched.start()
        try:
            until(lambda: _sees(watched), "both are seen")
            found = next(one for one in watched.snapshot().nodes if one.name == name)
            assert found.gpus == 8
            assert {one.name: one.gpus for one in watched.claims.held()} == {"c": 4}
        finally:
            watched.stop()
    finally:
        cluster.remove_node(name)


def _sees(watched: Any) -> bool:
    try:
        return bool(watched.snapshot().nodes and watched.claims.held() and watched.slices.held())
    except Exception:  # noqa: BLE001  not read yet
        return False
