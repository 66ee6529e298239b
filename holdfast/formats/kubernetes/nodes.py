"""A node in the Kubernetes API: its cordon and who set it, our marks, and whether it exists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from holdfast.formats.kubernetes import objects as k8s

CLOSING = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesNode:
    name: str
    uid: str = ""
    version: str = field(default="", compare=False)
    """resourceVersion: the server refuses a change that names it if the node has changed since."""
    created: float | None = None
    unschedulable: bool = False
    closed_by_us: bool = False
    """Whether the cordon is ours: it has our note, and no other client has set the field since."""
    note: str = ""
    taints: tuple[Mapping[str, Any], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    ready: bool = False
    gpus: int = 0
    condition: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The current state of our own condition."""
    addresses: tuple[str, ...] = ()
    """InternalIP and ExternalIP, as reported by the kubelet or the cloud."""

    @property
    def untested(self) -> bool:
        return any(taint.get("key") == k8s.UNTESTED for taint in self.taints)

    @property
    def degraded(self) -> bool:
        return any(taint.get("key") == k8s.DEGRADED for taint in self.taints)

    @property
    def accepts_work(self) -> bool:
        """Whether pods without tolerations may start. The cordon is a taint too, but only with a running controller
        manager."""
        return self.ready and not self.unschedulable and not any(t.get("effect") in CLOSING for t in self.taints)

    @property
    def state(self) -> str:
        """The state as `kubectl get nodes` prints it, followed by the keys of the taints."""
        closed = ",SchedulingDisabled" if self.unschedulable else ""
        keys = " ".join(sorted(str(taint.get("key")) for taint in self.taints))
        return f"{'Ready' if self.ready else 'NotReady'}{closed}{f' ({keys})' if keys else ''}"


def node(item: object, gpu_resources: Sequence[str]) -> KubernetesNode | None:
    meta, spec = k8s.table(item, "metadata"), k8s.table(item, "spec")
    name = k8s.text(meta, "name")
    if not name:
        return None
    conditions = {k8s.text(one, "type"): one for one in k8s.rows(item, "status", "conditions")}
    note = k8s.text(k8s.table(meta, "annotations"), k8s.NOTE)
    unschedulable = spec.get("unschedulable") is True
    labels = k8s.table(meta, "labels")
    return KubernetesNode(
        name=name,
        uid=k8s.text(meta, "uid"),
        version=k8s.text(meta, "resourceVersion"),
        created=k8s.moment(meta.get("creationTimestamp")),
        unschedulable=unschedulable,
        closed_by_us=unschedulable and bool(note) and _set_by_us(k8s.rows(meta, "managedFields")),
        note=note,
        taints=tuple(k8s.rows(spec, "taints")),
        labels={key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)},
        ready=k8s.text(conditions.get("Ready", {}), "status") == "True",
        gpus=count_gpus(k8s.table(item, "status", "allocatable"), gpu_resources),
        condition=conditions.get(k8s.CONDITION, {}),
        addresses=tuple(
            k8s.text(one, "address")
            for one in k8s.rows(item, "status", "addresses")
            if k8s.text(one, "type") in ("InternalIP", "ExternalIP")
        ),
    )


def count_gpus(resources: Mapping[str, Any], patterns: Sequence[str]) -> int:
    """Number of GPUs. An amount that cannot be read counts as one, because only a known zero is none."""
    found = 0
    for name, amount in resources.items():
        if isinstance(name, str) and any(fnmatchcase(name, pattern) for pattern in patterns):
            text = str(amount)
            found += int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1
    return found


def _set_by_us(managed: Sequence[Mapping[str, Any]]) -> bool:
    """Whether we set the cordon, by the server's managed fields; without these, by our note."""
    managers = {
        k8s.text(one, "manager") for one in managed if "f:unschedulable" in k8s.table(one, "fieldsV1", "f:spec")
    }
    return not managers or k8s.MANAGER in managers
