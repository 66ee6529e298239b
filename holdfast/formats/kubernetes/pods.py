"""A pod as the API server shows it: what it holds of a node, whether it may be sent away, and the job that it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.formats.kubernetes import objects as words
from holdfast.formats.kubernetes.nodes import count_gpus
from holdfast.model.job import Job, JobState

_STATES = {
    "Pending": JobState.RUNNING,  # bound to a node: the scheduler has given it away, whatever has started
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
    "Terminated": JobState.NODE_FAILED,  # what a node that shuts down in order says of its pods
    "OutOfMemory": JobState.OUT_OF_MEMORY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesPod:
    namespace: str
    name: str
    uid: str
    node: str
    state: JobState
    gpus: int = 0
    owner: str = ""
    """uid of what made it, such as a Job: pods of one owner are one workload. Its own where nothing did."""
    belongs_to_node: bool = False
    """Of a DaemonSet, or a mirror of a file on the node: it leaves with the node, not before."""
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
        return self.gpus > 0 and not self.belongs_to_node

    @property
    def job(self) -> Job:
        """Known by its uid, which is what its processes' cgroup carries."""
        return Job(
            id=self.uid,
            source="kubernetes",
            shown_as=self.shown_as,
            account=self.namespace,
            nodes=(self.node,) if self.node else (),
            gpus=self.gpus,
            start=self.start,
            end=self.end,
            state=self.state,
        )


def pod(item: object, gpu_resources: Sequence[str]) -> KubernetesPod | None:
    meta, spec, status = (words.table(item, part) for part in ("metadata", "spec", "status"))
    name, uid = words.word(meta, "name"), words.word(meta, "uid")
    if not name or not uid:
        return None
    state = _state(meta, status)
    return KubernetesPod(
        namespace=words.word(meta, "namespace") or "default",
        name=name,
        uid=uid,
        node=words.word(spec, "nodeName"),
        state=state,
        gpus=_gpus(spec, gpu_resources),
        owner=_owner(meta) or uid,
        belongs_to_node=_belongs_to_node(meta),
        start=words.moment(status.get("startTime")),
        end=_end(status) if not state.holds_nodes else None,
    )


def _state(meta: Mapping[str, Any], status: Mapping[str, Any]) -> JobState:
    phase = words.word(status, "phase")
    if phase == "Failed":
        return _WHY_FAILED.get(words.word(status, "reason"), JobState.FAILED)
    if phase != "Succeeded" and meta.get("deletionTimestamp"):
        return JobState.ENDING
    return _STATES.get(phase, JobState.UNKNOWN)


def _owner(meta: Mapping[str, Any]) -> str:
    owners = words.rows(meta, "ownerReferences")
    return next((words.word(one, "uid") for one in owners if one.get("controller") is True), "")


def _belongs_to_node(meta: Mapping[str, Any]) -> bool:
    owners = words.rows(meta, "ownerReferences")
    daemon = any(words.word(one, "kind") == "DaemonSet" and one.get("controller") is True for one in owners)
    return daemon or words.MIRROR in words.table(meta, "annotations")


def _gpus(spec: Mapping[str, Any], patterns: Sequence[str]) -> int:
    """Containers hold theirs together; those that run first hold theirs one after another.

    A claim (dynamic resource allocation) names a device elsewhere; it may be a GPU, so it counts as one.
    """
    first = words.rows(spec, "initContainers")
    beside = [one for one in first if one.get("restartPolicy") == "Always"]  # sidecars run on
    together = sum(_asked(one, patterns) for one in [*words.rows(spec, "containers"), *beside])
    claims = len(words.rows(spec, "resourceClaims"))
    return max([together, *(_asked(one, patterns) for one in first)]) + claims


def _asked(container: Mapping[str, Any], patterns: Sequence[str]) -> int:
    kinds = ("requests", "limits")
    return max(count_gpus(words.table(container, "resources", kind), patterns) for kind in kinds)


def _end(status: Mapping[str, Any]) -> float | None:
    ends = [
        words.moment(words.table(one, "state", "terminated").get("finishedAt"))
        for one in words.rows(status, "containerStatuses")
    ]
    return max((end for end in ends if end is not None), default=None)
