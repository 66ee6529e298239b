"""Suspends and restarts gangs (jobs whose pods run only together): JobSets and Workloads of Kueue.

Only the configured kinds are touched. We restart only gangs with our label, and only after all of their pods have left
their nodes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.fleet.actions.kubernetes.api import NOT_FOUND, ApiRefused, KubernetesApi
from holdfast.formats.kubernetes import objects as k8s
from holdfast.formats.kubernetes.pods import JOBSET, KubernetesPod

LABEL = "holdfast/suspended"
WORKLOAD = "Workload"


@dataclass(frozen=True, slots=True)
class _Kind:
    group: str
    plural: str
    field: str
    suspended: bool
    """The value of the field that ends the job's pods; the other value starts them again."""


KINDS = {
    JOBSET: _Kind("jobset.x-k8s.io", "jobsets", "suspend", True),
    WORKLOAD: _Kind("kueue.x-k8s.io", "workloads", "active", False),
}


@dataclass(frozen=True, slots=True)
class SuspendedJobs:
    names: tuple[str, ...] = ()
    pods: frozenset[str] = frozenset()
    """uids of the pods that end with them and need no eviction."""


class Gangs:
    def __init__(self, api: KubernetesApi, kinds: Collection[str]) -> None:
        self._api, self._kinds = api, kinds

    def suspend(self, pods: Sequence[KubernetesPod]) -> SuspendedJobs:
        jobs: dict[tuple[str, str, str], list[str]] = {}
        for pod in pods:
            if (job := _job(pod)) and job[0] in self._kinds:
                jobs.setdefault(job, []).append(pod.uid)
        names, ending = [], set[str]()
        for (kind, namespace, name), uids in jobs.items():
            if self._suspend(kind, namespace, name):
                names.append(f"{kind} {namespace}/{name}")
                ending.update(uids)
        return SuspendedJobs(tuple(names), frozenset(ending))

    def _suspend(self, kind: str, namespace: str, name: str) -> bool:
        """Suspends a gang; returns whether its pods end now. If the job is gone or was suspended before, the caller
        evicts the remaining pods, because a user may name any job as that of a pod."""
        one = KINDS[kind]
        try:
            path = self._path(kind, namespace, name)
            found = self._api.get(path)
            if k8s.table(found, "spec").get(one.field) is one.suspended:
                return False
            version = k8s.text(k8s.table(found, "metadata"), "resourceVersion")
            self._api.patch(path, _change(one.field, one.suspended, "true", version))
        except ApiRefused as error:
            if error.status != NOT_FOUND:
                raise
            return False
        return True

    def start_again(self, pods: Sequence[KubernetesPod]) -> list[str]:
        running = {_job(pod) for pod in pods if pod.holds_node}
        started = []
        for kind in self._kinds:
            for item in self._ours(kind):
                meta = k8s.table(item, "metadata")
                job = (kind, k8s.text(meta, "namespace"), k8s.text(meta, "name"))
                if job not in running:
                    one = KINDS[kind]
                    change = _change(one.field, not one.suspended, None, k8s.text(meta, "resourceVersion"))
                    self._api.patch(self._path(*job), change)
                    started.append(f"{kind} {job[1]}/{job[2]}")
        return started

    def _ours(self, kind: str) -> list[Mapping[str, Any]]:
        try:
            path = self._api.in_group(KINDS[kind].group, KINDS[kind].plural)
            return self._api.everything(path, labelSelector=LABEL)
        except ApiRefused as error:
            if error.status != NOT_FOUND:
                raise
            return []

    def _path(self, kind: str, namespace: str, name: str) -> str:
        one = KINDS[kind]
        return self._api.in_group(one.group, f"namespaces/{namespace}/{one.plural}/{name}")


def _job(pod: KubernetesPod) -> tuple[str, str, str] | None:
    """Kind, namespace and name of a gang. A job that Kueue admitted is suspended through Kueue."""
    if pod.workload:
        return (WORKLOAD, pod.namespace, pod.workload)
    kind, _, name = pod.gang.partition(" ")
    return (kind, pod.namespace, name.partition("/")[2]) if kind == JOBSET else None


def _change(field: str, value: bool, label: str | None, version: str) -> Mapping[str, Any]:
    return {"metadata": {"labels": {LABEL: label}, "resourceVersion": version}, "spec": {field: value}}
