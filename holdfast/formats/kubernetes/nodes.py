"""A node in the Kubernetes API: who cordoned it, its marks, and whether it exists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from holdfast.formats.kubernetes import objects as words

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
        return any(taint.get("key") == words.UNTESTED for taint in self.taints)

    @property
    def degraded(self) -> bool:
        return any(taint.get("key") == words.DEGRADED for taint in self.taints)

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
    meta, spec = words.table(item, "metadata"), words.table(item, "spec")
    name = words.word(meta, "name")
    if not name:
        return None
    conditions = {words.word(one, "type"): one for one in words.rows(item, "status", "conditions")}
    note = words.word(words.table(meta, "annotations"), words.NOTE)
    unschedulable = spec.get("unschedulable") is True
    labels = words.table(meta, "labels")
    return KubernetesNode(
        name=name,
        uid=words.word(meta, "uid"),
        version=words.word(meta, "resourceVersion"),
        created=words.moment(meta.get("creationTimestamp")),
        unschedulable=unschedulable,
        closed_by_us=unschedulable and bool(note) and _set_by_us(words.rows(meta, "managedFields")),
        note=note,
        taints=tuple(words.rows(spec, "taints")),
        labels={key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)},
        ready=words.word(conditions.get("Ready", {}), "status") == "True",
        gpus=count_gpus(words.table(item, "status", "allocatable"), gpu_resources),
        condition=conditions.get(words.CONDITION, {}),
        addresses=tuple(
            words.word(one, "address")
            for one in words.rows(item, "status", "addresses")
            if words.word(one, "type") in ("InternalIP", "ExternalIP")
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
        words.word(one, "manager") for one in managed if "f:unschedulable" in words.table(one, "fieldsV1", "f:spec")
    }
    return not managers or words.MANAGER in managers
