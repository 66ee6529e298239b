"""Evicts pods through the eviction API. Evictions that disruption budgets forbid are retried later."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.fleet.actions.kubernetes.api import CONFLICT, NOT_FOUND, ApiRefused, KubernetesApi
from holdfast.formats.kubernetes import objects as k8s
from holdfast.formats.kubernetes.pods import KubernetesPod
from holdfast.model.job import JobState

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class SentAway:
    evicted: tuple[str, ...]
    held: tuple[str, ...]
    """Not now: each with the server's reason."""

    @property
    def message(self) -> str:
        parts = [f"evicted {_named(self.evicted)}" if self.evicted else "", _held(self.held) if self.held else ""]
        return "; ".join(part for part in parts if part) or "its pods are ending"


class Eviction:
    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._version = ""

    def send_away(self, pods: Sequence[KubernetesPod]) -> SentAway:
        """Request the eviction of every pod; a refused one does not block the others."""
        evicted, held = [], []
        for pod in pods:
            if pod.state is JobState.ENDING:
                continue
            try:
                if self._evict(pod):
                    evicted.append(pod.shown_as)
            except ApiRefused as error:
                if not error.retryable:
                    raise
                held.append(f"{pod.shown_as}: {error}")
        return SentAway(tuple(evicted), tuple(held))

    def _evict(self, pod: KubernetesPod) -> bool:
        """Evicts a pod; False if it is already gone. The uid protects a new pod of the same name (StatefulSet)."""
        body = {
            "apiVersion": f"policy/{self._api_version()}",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        try:
            self._api.post(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", body)
        except ApiRefused as error:
            if error.status in (NOT_FOUND, CONFLICT):
                return False
            raise
        return True

    def _api_version(self) -> str:
        """The version of the eviction API, from the server's list: v1beta1 until 1.21, v1 from 1.22 on."""
        if not self._version:
            offered = k8s.rows(self._api.get("/api/v1"), "resources")
            versions = [k8s.text(one, "version") for one in offered if one.get("name") == "pods/eviction"]
            self._version = next((version for version in versions if version), "v1")
        return self._version


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _held(held: Sequence[str]) -> str:
    return f"not yet evicted: {_named(held)}"
