"""Objects of the Kubernetes API, as servers of any version and sick ones tell them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.kubernetes import objects as k8s
from holdfast.formats.kubernetes.nodes import node
from holdfast.formats.kubernetes.pods import pod
from holdfast.model.job import JobState

GPUS = ("nvidia.com/gpu*", "nvidia.com/mig-*", "amd.com/gpu*")
NAMES = ["metadata", "spec", "status", "name", "uid", "taints", "conditions", "annotations", "labels", "containers"]
NAMES += ["resources", "requests", "nvidia.com/gpu", "ownerReferences", "managedFields", "allocatable", "phase", "type"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=20,
)


def a_node(unschedulable: bool = False, note: str = "", managers: tuple[str, ...] = (), **spec: Any) -> Any:
    fields = {"fieldsV1": {"f:spec": {"f:unschedulable": {}}}, "operation": "Update"}
    return {
        "metadata": {
            "name": "gpu-1",
            "uid": "u1",
            "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {k8s.NOTE: note} if note else {},
            "managedFields": [{"manager": name, **fields} for name in managers],
        },
        "spec": {"unschedulable": unschedulable, **spec},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8", "cpu": "64"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def a_pod(phase: str = "Running", status: Any = None, spec: Any = None, **meta: Any) -> Any:
    container = {"resources": {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}}}
    return {
        "metadata": {"name": "p", "namespace": "ml", "uid": "u2", **meta},
        "spec": {"nodeName": "gpu-1", "containers": [container, container], **(spec or {})},
        "status": {"phase": phase, "startTime": "2026-01-01T00:00:00Z", **(status or {})},
    }


def test_a_ready_node_takes_work_and_reports_its_gpus() -> None:
    found = node(a_node(), GPUS)
    assert found is not None
    assert (found.name, found.version, found.gpus, found.accepts_work) == ("gpu-1", "7", 8, True)
    assert found.created == 1767225600.0
    assert found.state == "Ready"


@pytest.mark.parametrize(
    ("note", "managers", "ours"),
    [
        ("gpu.xid: Xid 79", ("holdfast",), True),
        ("gpu.xid: Xid 79", ("holdfast", "kubectl-edit"), True),
        ("gpu.xid: Xid 79", (), True),  # a server that keeps no record of who set what
        ("gpu.xid: Xid 79", ("kubectl-cordon",), False),  # lifted by hand and set again by hand
        ("", ("holdfast",), False),
        ("", (), False),
    ],
)
def test_a_cordon_is_ours_by_our_note_and_by_the_servers_record(
    note: str, managers: tuple[str, ...], ours: bool
) -> None:
    found = node(a_node(True, note, managers), GPUS)
    assert found is not None
    assert found.closed_by_us is ours
    assert not found.accepts_work


@pytest.mark.parametrize(("effect", "takes"), [("NoSchedule", False), ("NoExecute", False), ("PreferNoSchedule", True)])
def test_a_taint_of_anybody_closes_a_node(effect: str, takes: bool) -> None:
    found = node(a_node(taints=[{"key": "team/x", "effect": effect}]), GPUS)
    assert found is not None
    assert found.accepts_work is takes
    assert not found.untested


def test_a_node_that_says_nothing_of_its_health_is_not_ready() -> None:
    found = node({"metadata": {"name": "n"}}, GPUS)
    assert found is not None
    assert not found.ready


def test_a_pod_is_a_job_known_by_its_uid() -> None:
    found = pod(a_pod(), GPUS)
    assert found is not None
    job = found.job
    assert (job.id, job.source, job.shown_as, job.account, job.nodes) == ("u2", "kubernetes", "ml/p", "ml", ("gpu-1",))
    assert (job.gpus, job.state, job.start, job.end) == (4, JobState.RUNNING, 1767225600.0, None)


@pytest.mark.parametrize(
    ("item", "state"),
    [
        (a_pod("Pending"), JobState.RUNNING),  # bound: the node is given away
        (a_pod(deletionTimestamp="2026-01-01T00:00:00Z"), JobState.ENDING),
        (a_pod("Succeeded", deletionTimestamp="2026-01-01T00:00:00Z"), JobState.COMPLETED),
        (a_pod("Failed"), JobState.FAILED),
        (a_pod("Failed", {"reason": "Evicted"}), JobState.PREEMPTED),
        (a_pod("Failed", {"reason": "NodeLost"}), JobState.NODE_FAILED),
        (a_pod("Failed", {"reason": "DeadlineExceeded"}), JobState.TIMED_OUT),
        (a_pod("Unknown"), JobState.UNKNOWN),
        (a_pod("Invented"), JobState.UNKNOWN),
    ],
)
def test_the_state_of_a_pod(item: Any, state: JobState) -> None:
    found = pod(item, GPUS)
    assert found is not None
    assert found.state is state
    assert found.holds_node is state.holds_nodes


def test_a_finished_pod_ended_when_its_last_container_did() -> None:
    ends = ["2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z", None]
    containers = [{"state": {"terminated": {"finishedAt": end}}} for end in ends]
    found = pod(a_pod("Succeeded", {"containerStatuses": containers}), GPUS)
    assert found is not None
    assert found.end == 1767225720.0


@pytest.mark.parametrize(
    "meta",
    [
        {"ownerReferences": [{"kind": "DaemonSet", "controller": True, "uid": "d"}]},
        {"annotations": {"kubernetes.io/config.mirror": "hash"}},
    ],
)
def test_what_belongs_to_the_node_is_no_workload(meta: Any) -> None:
    found = pod(a_pod(**meta), GPUS)
    assert found is not None
    assert found.belongs_to_node
    assert not found.holds_node
    assert not found.is_gpu_work


@pytest.mark.parametrize(
    ("requests", "gpus"),
    [
        ({"nvidia.com/gpu": "1"}, 1),
        ({"nvidia.com/gpu": 3}, 3),
        ({"nvidia.com/mig-1g.5gb": "2"}, 2),
        ({"nvidia.com/gpu.shared": "1"}, 1),
        ({"amd.com/gpu": "8"}, 8),
        ({"nvidia.com/gpu": "1e3"}, 1),  # unreadable, but not nothing
        ({"cpu": "64", "rdma/hca": "1"}, 0),
        ({"nvidia.com/gpu": "0"}, 0),
    ],
)
def test_the_gpus_that_a_pod_asks_for(requests: Any, gpus: int) -> None:
    found = pod(a_pod(spec={"containers": [{"resources": {"requests": requests}}]}), GPUS)
    assert found is not None
    assert found.gpus == gpus


def test_containers_that_run_first_count_only_where_they_ask_for_more() -> None:
    first = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
    found = pod(a_pod(spec={"initContainers": [first, first]}), GPUS)
    assert found is not None
    assert found.gpus == 8


def test_a_sidecar_holds_its_gpus_beside_the_others() -> None:
    sidecar = {"restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    found = pod(a_pod(spec={"initContainers": [sidecar]}), GPUS)
    assert found is not None
    assert found.gpus == 5


def test_a_claimed_device_may_be_a_gpu() -> None:
    found = pod(a_pod(spec={"containers": [], "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}), GPUS)
    assert found is not None
    assert found.is_gpu_work


def test_pods_of_one_job_have_one_owner() -> None:
    owner = [{"kind": "Job", "controller": True, "uid": "j"}]
    mine, alone = pod(a_pod(ownerReferences=owner), GPUS), pod(a_pod(), GPUS)
    assert mine is not None
    assert alone is not None
    assert (mine.owner, alone.owner) == ("j", "u2")


def test_a_note_is_one_printable_line() -> None:
    assert k8s.note("gpu.xid", "Xid 79\n\x1b[31m on\tGPU 3") == "gpu.xid: Xid 79 [31m on GPU 3"
    assert k8s.note("", "passed") == "passed"
    assert len(k8s.note("c", "x" * 5_000)) == k8s.LONGEST_NOTE


@given(JSON)
def test_any_object_is_read_or_left_out(item: Any) -> None:
    for read in (node, pod):
        found = read(item, GPUS)
        assert found is None or found.name
        if found is not None:
            assert found.gpus >= 0
