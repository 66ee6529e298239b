"""A pod in the Kubernetes API: its resources on a node, whether it may be evicted, and its job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.formats.kubernetes import objects as k8s
from holdfast.formats.kubernetes.nodes import count_gpus
from holdfast.model.job import Job, JobState

_STATES = {
    "Pending": JobState.RUNNING,  # bound to a node: its resources are taken, even if nothing has started
    "Running": JobState.RUNNING,
    "Succeeded": JobState.COMPLETED,
    "Failed": JobState.FAILED,
}
_WHY_FAILED = {
    "Evicted": JobState.PREEMPTED,
    "Preempting": JobState.PREEMPTED,
    "Preempted": JobState.PREEMPTED,
    "DeadlineExceeded": JobState.TIMED_OUT,
    "NodeLost": JobState.NODE_FAILED,
    "NodeShutdown": JobState.NODE_FAILED,
    "Terminated": JobState.NODE_FAILED,  # reasons of pods on a node that shuts down gracefully
    "OutOfMemory": JobState.OUT_OF_MEMORY,
}
JOBSET = "JobSet"
GANGS = (  # kind, and the labels or annotations that name an object of it
    (JOBSET, ("jobset.sigs.k8s.io/jobset-name",)),
    ("LeaderWorkerSet", ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index")),
    ("PodGroup", ("scheduling.k8s.io/group-name",)),  # Volcano
    ("PodGroup", ("scheduling.x-k8s.io/pod-group",)),  # coscheduling
    ("PodGroup", ("kueue.x-k8s.io/pod-group-name",)),
    ("TrainingJob", ("training.kubeflow.org/job-name",)),
)
WORKLOAD = "kueue.x-k8s.io/workload"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesPod:
    namespace: str
    name: str
    uid: str
    node: str
    state: JobState
    gpus: int = 0
    """Number of GPUs of its containers."""
    claims: tuple[tuple[str, int], ...] = ()
    """Each resource claim, with its GPUs. A claim that is not allocated or cannot be read may be for a GPU, so it
    counts as one."""
    gang: str = ""
    """Kind, namespace and name of the job whose pods run only together; '' without one."""
    workload: str = ""
    """Name of the Kueue Workload that admitted it."""
    owner: str = ""
    """uid of its owner, such as a Job: pods of one owner are one workload. Without an owner, the pod's own uid."""
    belongs_to_node: bool = False
    """A pod of a DaemonSet, or a mirror pod: it leaves with the node, not before."""
    start: float | None = None
    end: float | None = None

    @property
    def shown_as(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def holds_node(self) -> bool:
        return not self.belongs_to_node and self.state.holds_nodes

    @property
    def is_gpu_work(self) -> bool:
        return self.held_gpus > 0 and not self.belongs_to_node

    @property
    def held_gpus(self) -> int:
        return self.gpus + sum(gpus for _, gpus in self.claims)

    def counted(self, known: Mapping[tuple[str, str], int | None]) -> "KubernetesPod":
        """The pod with the GPUs of its allocated claims added; the keys of `known` are namespace and name."""
        found = [(name, known.get((self.namespace, name))) for name, _ in self.claims]
        return replace(self, claims=tuple((name, 1 if gpus is None else gpus) for name, gpus in found))

    @property
    def job(self) -> Job:
        """Job id: the uid, which the cgroups of its processes contain."""
        return Job(
            id=self.uid,
            source="kubernetes",
            shown_as=self.shown_as,
            account=self.namespace,
            nodes=(self.node,) if self.node else (),
            gpus=self.held_gpus,
            start=self.start,
            end=self.end,
            state=self.state,
        )


def pod(item: object, gpu_resources: Sequence[str]) -> KubernetesPod | None:
    meta, spec, status = (k8s.table(item, part) for part in ("metadata", "spec", "status"))
    name, uid = k8s.text(meta, "name"), k8s.text(meta, "uid")
    if not name or not uid:
        return None
    state = _state(meta, status)
    return KubernetesPod(
        namespace=k8s.text(meta, "namespace") or "default",
        name=name,
        uid=uid,
        node=k8s.text(spec, "nodeName"),
        state=state,
        gpus=_gpus(spec, gpu_resources),
        claims=tuple((claim, 1) for claim in _claims(spec, status)),
        gang=_gang(meta),
        workload=k8s.name(k8s.table(meta, "annotations"), WORKLOAD),
        owner=_owner(meta) or uid,
        belongs_to_node=_belongs_to_node(meta),
        start=k8s.moment(status.get("startTime")),
        end=_end(status) if not state.holds_nodes else None,
    )


def _state(meta: Mapping[str, Any], status: Mapping[str, Any]) -> JobState:
    phase = k8s.text(status, "phase")
    if phase == "Failed":
        return _WHY_FAILED.get(k8s.text(status, "reason"), JobState.FAILED)
    if phase != "Succeeded" and meta.get("deletionTimestamp"):
        return JobState.ENDING
    return _STATES.get(phase, JobState.UNKNOWN)


def _owner(meta: Mapping[str, Any]) -> str:
    owners = k8s.rows(meta, "ownerReferences")
    return next((k8s.text(one, "uid") for one in owners if one.get("controller") is True), "")


def _belongs_to_node(meta: Mapping[str, Any]) -> bool:
    owners = k8s.rows(meta, "ownerReferences")
    daemon = any(k8s.text(one, "kind") == "DaemonSet" and one.get("controller") is True for one in owners)
    return daemon or k8s.MIRROR in k8s.table(meta, "annotations")


def _gpus(spec: Mapping[str, Any], patterns: Sequence[str]) -> int:
    """GPUs of a pod: containers use theirs at the same time, init containers one after another."""
    first = k8s.rows(spec, "initContainers")
    beside = [one for one in first if one.get("restartPolicy") == "Always"]  # sidecars keep running
    together = sum(_asked(one, patterns) for one in [*k8s.rows(spec, "containers"), *beside])
    return max([together, *(_asked(one, patterns) for one in first)])


def _claims(spec: Mapping[str, Any], status: Mapping[str, Any]) -> list[str]:
    """Names of its ResourceClaims; the status has the name of a claim made from a template."""
    made = {k8s.text(one, "name"): one for one in k8s.rows(status, "resourceClaimStatuses")}
    named = [(k8s.text(one, "name"), one) for one in k8s.rows(spec, "resourceClaims")]
    return [
        k8s.text(one, "resourceClaimName") or k8s.text(made.get(name, {}), "resourceClaimName") or name
        for name, one in named
    ]


def _gang(meta: Mapping[str, Any]) -> str:
    """The gang, from the marks that job controllers and gang schedulers set on pods that run only together."""
    namespace = k8s.text(meta, "namespace") or "default"
    marks = {**k8s.table(meta, "annotations"), **k8s.table(meta, "labels")}
    for kind, keys in GANGS:
        names = [k8s.name(marks, key) for key in keys]
        if all(names):
            return f"{kind} {namespace}/{'/'.join(names)}"
    return ""


def _asked(container: Mapping[str, Any], patterns: Sequence[str]) -> int:
    kinds = ("requests", "limits")
    return max(count_gpus(k8s.table(container, "resources", kind), patterns) for kind in kinds)


def _end(status: Mapping[str, Any]) -> float | None:
    ends = [
        k8s.moment(k8s.table(one, "state", "terminated").get("finishedAt"))
        for one in k8s.rows(status, "containerStatuses")
    ]
    return max((end for end in ends if end is not None), default=None)
