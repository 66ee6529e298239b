"""Jobs that are suspended as a whole: whose switch is used, and when they start again."""

import pytest

from holdfast.fleet.actions.kubernetes.access import KubernetesSettings
from holdfast.fleet.actions.kubernetes.api import KubernetesApi
from holdfast.fleet.actions.kubernetes.gangs import LABEL, Gangs
from holdfast.formats.kubernetes.pods import GANGS, KubernetesPod, pod
from holdfast.formats.kubernetes.pods import WORKLOAD as WORKLOAD_MARK
from holdfast.model.job import JobState
from holdfast.runtime.errors import NoAnswer

from .conftest import Peer
from .kubernetes_objects import Objects
from .test_kubernetes_lease import api as api

JOBSET = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ml/jobsets/train"
WORKLOAD = "/apis/kueue.x-k8s.io/v1beta1/namespaces/ml/workloads/jobset-train-1"
JOBSET_MARK = GANGS[0][1][0]
VERSIONS = {"jobset.x-k8s.io": "v1alpha2", "kueue.x-k8s.io": "v1beta1"}


def member(name: str, workload: str = "", gang: str = "JobSet ml/train") -> KubernetesPod:
    return KubernetesPod(
        namespace="ml", name=name, uid=name, node="n", state=JobState.RUNNING, gpus=8, gang=gang, workload=workload
    )


@pytest.fixture
def objects(peer: Peer) -> Objects:
    made = Objects(VERSIONS)
    made.put(JOBSET, {"suspend": False}, labels={})
    made.put(WORKLOAD, {"active": True}, labels={})
    peer.answer = made.answer
    return made


def test_a_jobset_is_suspended_and_started_again_when_nothing_of_it_runs(api: KubernetesApi, objects: Objects) -> None:
    gangs, pods = Gangs(api, ["JobSet"]), [member("a"), member("b"), member("alone", gang="")]
    suspended = gangs.suspend(pods)
    assert (suspended.names, suspended.pods) == (("JobSet ml/train",), {"a", "b"})
    assert objects.held[JOBSET]["spec"] == {"suspend": True}
    assert gangs.start_again(pods) == [], "its pods still hold a node"
    assert gangs.start_again([member("alone", gang="")]) == ["JobSet ml/train"]
    assert objects.held[JOBSET]["spec"] == {"suspend": False}
    assert LABEL not in objects.held[JOBSET]["metadata"]["labels"]
    assert gangs.start_again([]) == []


def test_what_kueue_admitted_is_kueues(api: KubernetesApi, objects: Objects) -> None:
    pods = [member("a", workload="jobset-train-1")]
    assert Gangs(api, ["JobSet"]).suspend(pods).names == (), "Kueue would start it again at once"
    assert Gangs(api, ["JobSet", "Workload"]).suspend(pods).names == ("Workload ml/jobset-train-1",)
    assert objects.held[WORKLOAD]["spec"] == {"active": False}
    assert objects.held[JOBSET]["spec"] == {"suspend": False}


def test_what_another_suspended_is_not_started_by_us(api: KubernetesApi, objects: Objects) -> None:
    objects.put(JOBSET, {"suspend": True}, labels={})
    gangs = Gangs(api, ["JobSet"])
    assert gangs.suspend([member("a")]).names == ()
    assert gangs.start_again([]) == []


def test_a_pod_that_stays_although_its_job_is_suspended_is_evicted(api: KubernetesApi, objects: Objects) -> None:
    """Its user may have named a job that was suspended long ago."""
    gangs = Gangs(api, ["JobSet"])
    assert gangs.suspend([member("a")]).pods == {"a"}
    assert gangs.suspend([member("a")]).pods == frozenset()


@pytest.mark.parametrize("name", ["../../other/workloads/theirs", "../../../../../../api/v1/nodes/n1", "x?force=true"])
def test_no_annotation_leads_to_an_object_elsewhere(api: KubernetesApi, objects: Objects, name: str) -> None:
    theirs = "/apis/kueue.x-k8s.io/v1beta1/namespaces/other/workloads/theirs"
    objects.put(theirs, {"active": True}, labels={})
    meta = {"name": "p", "namespace": "ml", "uid": "u", "annotations": {WORKLOAD_MARK: name, JOBSET_MARK: name}}
    read = pod({"metadata": meta, "status": {"phase": "Running"}}, ())
    assert read is not None
    assert (read.workload, read.gang) == ("", ""), "the pod is evicted, as one without a job"
    forged = [member("a", workload=name), member("b", gang=f"JobSet ml/{name}")]
    for one in forged:
        with pytest.raises(NoAnswer, match="not an address"):
            Gangs(api, ["JobSet", "Workload"]).suspend([one])
    assert objects.held[theirs]["spec"] == {"active": True}


def test_a_job_that_is_gone_leaves_its_pods_to_eviction(api: KubernetesApi, objects: Objects) -> None:
    del objects.held[JOBSET]
    assert Gangs(api, ["JobSet"]).suspend([member("a")]).pods == frozenset()


def test_without_the_setting_nothing_is_suspended_or_asked(api: KubernetesApi, objects: Objects, peer: Peer) -> None:
    gangs = Gangs(api, [])
    assert gangs.suspend([member("a")]).names == ()
    assert gangs.start_again([]) == []
    assert peer.seen == []


def test_a_cluster_without_jobsets_has_none_to_start(api: KubernetesApi, peer: Peer) -> None:
    peer.answer = Objects({}).answer
    assert Gangs(api, ["JobSet"]).start_again([]) == []
    assert Gangs(api, ["JobSet"]).suspend([member("a")]).pods == frozenset()


@pytest.mark.parametrize(
    ("more", "wrong"), [({"lease": "holdfast"}, "namespace/name"), ({"requeue": ("PyTorchJob",)}, "JobSet or Workload")]
)
def test_settings_say_what_they_expect(more: dict[str, str], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        KubernetesSettings(**more)  # type: ignore[arg-type]
