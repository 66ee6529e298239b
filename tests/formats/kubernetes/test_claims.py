"""Dynamic resource allocation and gangs: how many GPUs a claim holds, and which pods run only together."""

from typing import Any

import pytest
from hypothesis import given

from holdfast.formats.kubernetes.claims import ResourceClaim, ResourceSlice, claim, offered, resource_slice
from holdfast.formats.kubernetes.nodes import KubernetesNode
from holdfast.formats.kubernetes.pods import pod
from holdfast.formats.kubernetes.snapshot import Snapshot

from .test_kubernetes import GPUS, JSON, a_pod

DRIVERS = ("gpu.nvidia.com", "gpu.amd.com")


def a_claim(*drivers: str, name: str = "c") -> Any:
    results = [{"request": "r", "driver": driver, "pool": "n", "device": f"d{i}"} for i, driver in enumerate(drivers)]
    return {"metadata": {"name": name, "namespace": "ml"}, "status": {"allocation": {"devices": {"results": results}}}}


def a_slice(devices: int, generation: int = 1, node: str = "n", driver: str = "gpu.nvidia.com") -> Any:
    pool = {"name": node, "generation": generation}
    made = [{"name": f"gpu-{i}"} for i in range(devices)]
    return {"spec": {"nodeName": node, "driver": driver, "pool": pool, "devices": made}}


def claiming(status: Any = None, **claim: str) -> Any:
    return a_pod(spec={"containers": [], "resourceClaims": [{"name": "gpu", **claim}]}, status=status)


@pytest.mark.parametrize(
    ("item", "gpus"),
    [
        (a_claim(*["gpu.nvidia.com"] * 8), 8),
        (a_claim("gpu.nvidia.com", "dra.net"), 1),
        (a_claim("compute-domain.nvidia.com"), 0),
        ({"metadata": {"name": "c", "namespace": "ml"}}, None),
    ],
)
def test_a_claim_counts_the_devices_of_gpu_drivers(item: Any, gpus: int | None) -> None:
    assert claim(item, DRIVERS) == ResourceClaim(namespace="ml", name="c", gpus=gpus)


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (claiming(resourceClaimName="mine"), "mine"),
        (
            claiming(
                {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x7"}]},
                resourceClaimTemplateName="t",
            ),
            "p-gpu-x7",
        ),
        (claiming(resourceClaimTemplateName="t"), "gpu"),  # not made yet
    ],
)
def test_a_pod_names_its_claims(item: Any, name: str) -> None:
    found = pod(item, GPUS)
    assert found is not None
    assert found.claims == ((name, 1),)
    assert found.counted({("ml", name): 8}).held_gpus == 8
    assert found.counted({("other", name): 8}).held_gpus == 1, "a claim of another namespace is another claim"
    assert found.counted({("ml", name): None}).is_gpu_work, "what is not allocated yet may be a GPU"
    assert not found.counted({("ml", name): 0}).is_gpu_work, "a network device alone is no GPU work"


def test_a_node_offers_the_newest_generation_of_each_pool() -> None:
    slices = [a_slice(8, 1), a_slice(4, 2), a_slice(3, 2), a_slice(2, 1, node="m"), a_slice(5, driver="dra.net")]
    read = [one for item in slices if (one := resource_slice(item, DRIVERS))]
    assert offered(read) == offered(read[::-1]) == {"n": 7, "m": 2}
    assert resource_slice({"spec": {"allNodes": True, "driver": "gpu.nvidia.com"}}, DRIVERS) is None


def test_a_snapshot_counts_both() -> None:
    found = pod(claiming(resourceClaimName="c"), GPUS)
    assert found is not None
    snapshot = Snapshot((KubernetesNode(name="n"), KubernetesNode(name="m", gpus=8)), (found,))
    slices = [ResourceSlice(node="n", driver="gpu.nvidia.com", pool="n", generation=1, gpus=8)]
    counted = snapshot.counted([ResourceClaim(namespace="ml", name="c", gpus=4)], slices)
    assert [node.gpus for node in counted.nodes] == [8, 8]
    assert [one.job.gpus for one in counted.pods] == [4]


@pytest.mark.parametrize(
    ("meta", "gang"),
    [
        ({"labels": {"jobset.sigs.k8s.io/jobset-name": "train"}}, "JobSet ml/train"),
        ({"annotations": {"scheduling.k8s.io/group-name": "train"}}, "PodGroup ml/train"),
        ({"labels": {"scheduling.x-k8s.io/pod-group": "train"}}, "PodGroup ml/train"),
        ({"labels": {"kueue.x-k8s.io/pod-group-name": "train"}}, "PodGroup ml/train"),
        ({"labels": {"training.kubeflow.org/job-name": "train"}}, "TrainingJob ml/train"),
        (
            {"labels": {"leaderworkerset.sigs.k8s.io/name": "l", "leaderworkerset.sigs.k8s.io/group-index": "2"}},
            "LeaderWorkerSet ml/l/2",
        ),
        ({"labels": {"leaderworkerset.sigs.k8s.io/name": "l"}}, ""),
        ({"labels": {"job-name": "sweep"}}, ""),
    ],
)
def test_pods_of_a_gang_carry_its_name(meta: Any, gang: str) -> None:
    found = pod(a_pod(**meta), GPUS)
    assert found is not None
    assert found.gang == gang


@given(JSON)
def test_nothing_that_a_server_says_raises(item: Any) -> None:
    for found in (claim(item, DRIVERS), resource_slice(item, DRIVERS)):
        assert found is None or isinstance(found, ResourceClaim | ResourceSlice)
    spec = {"containers": [], "resourceClaims": item}
    assert pod(a_pod(spec=spec, status={"resourceClaimStatuses": item}, labels=item), GPUS) is not None
