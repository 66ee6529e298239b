"""A node in the Kubernetes API: who cordoned it, its marks, and whether it exists."""

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
    """resourceVersion: a change that names it is refused if somebody else was faster."""
    created: float | None = None
    unschedulable: bool = False
    closed_by_us: bool = False
    """The cordon is ours: our note stands beside it, and no one else set the field since."""
    note: str = ""
    taints: tuple[Mapping[str, Any], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    ready: bool = False
    gpus: int = 0
    condition: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Our own condition as it stands."""
    addresses: tuple[str, ...] = ()
    """InternalIP and ExternalIP, as the kubelet or the cloud reports them."""

    @property
    def untested(self) -> bool:
        return any(taint.get("key") == k8s.UNTESTED for taint in self.taints)

    @property
    def degraded(self) -> bool:
        return any(taint.get("key") == k8s.DEGRADED for taint in self.taints)

    @property
    def accepts_work(self) -> bool:
        """For a pod without tolerations; the cordon is a taint too, but only where a controller manager runs."""
        return self.ready and not self.unschedulable and not any(t.get("effect") in CLOSING for t in self.taints)

    @property
    def state(self) -> str:
        """As `kubectl get nodes` says it, with the keys of the taints behind."""
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
    """An amount that we cannot read still is one: what is not known to be nothing counts."""
    found = 0
    for name, amount in resources.items():
        if isinstance(name, str) and any(fnmatchcase(name, pattern) for pattern in patterns):
            text = str(amount)
            found += int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1
    return found


def _set_by_us(managed: Sequence[Mapping[str, Any]]) -> bool:
    """The server's own record of who set the cordon; where it keeps none, our note has to do."""
    managers = {
        k8s.text(one, "manager") for one in managed if "f:unschedulable" in k8s.table(one, "fieldsV1", "f:spec")
    }
    return not managers or k8s.MANAGER in managers
