"""Computes changes to the marks of a Kubernetes node. Pure; None if nothing must change.

Each change names the version of the node that it was made for, so the server refuses it after a concurrent change. We
recognise our taints by their key, and our cordon by our annotation next to it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.formats.kubernetes import objects as k8s
from holdfast.formats.kubernetes.nodes import KubernetesNode

Change = Mapping[str, Any]
_NOT_IN_A_VALUE = re.compile(r"[^A-Za-z0-9._-]+")


def hold(node: KubernetesNode, cause: str, note: str, *, cordon: bool) -> Change | None:
    """Close the node for new pods; with `cordon`, also for pods that tolerate our taints."""
    annotations: dict[str, str | None] = {}
    spec: dict[str, Any] = {}
    if not node.untested:
        spec["taints"] = [*node.taints, {"key": k8s.UNTESTED, "value": _value(cause), "effect": "NoSchedule"}]
    if cordon and not node.unschedulable:
        spec["unschedulable"] = True
        annotations[k8s.NOTE] = note
    elif cordon and node.closed_by_us and node.note != note:
        annotations[k8s.NOTE] = note
    elif node.note and not node.closed_by_us:
        annotations[k8s.NOTE] = None  # a remainder of our cordon, which an operator lifted
    return _change(node, spec, annotations)


def release(node: KubernetesNode) -> Change | None:
    """Remove our taint and our cordon; an operator's cordon stays."""
    annotations: dict[str, str | None] = {k8s.NOTE: None} if node.note else {}
    spec: dict[str, Any] = {}
    if node.untested:
        spec["taints"] = _without(node.taints, k8s.UNTESTED)
    if node.closed_by_us:
        spec["unschedulable"] = None
    return _change(node, spec, annotations)


def choose_last(node: KubernetesNode) -> Change | None:
    """Make the scheduler prefer other nodes; the label is for sites that place by labels."""
    taint = {"key": k8s.DEGRADED, "value": "", "effect": "PreferNoSchedule"}
    spec = {} if node.degraded else {"taints": [*node.taints, taint]}
    labels = {} if k8s.DEGRADED in node.labels else {k8s.DEGRADED: "true"}
    return _change(node, spec, {}, labels)


def choose_normally(node: KubernetesNode) -> Change | None:
    spec = {"taints": _without(node.taints, k8s.DEGRADED)} if node.degraded else {}
    labels = {k8s.DEGRADED: None} if k8s.DEGRADED in node.labels else {}
    return _change(node, spec, {}, labels)


def condition(node: KubernetesNode, status: str, reason: str, message: str, at: float) -> Change | None:
    """Our condition of the node, as `kubectl describe` shows it."""
    old = node.condition
    if (old.get("status"), old.get("reason"), old.get("message")) == (status, reason, message):
        return None
    since = old.get("lastTransitionTime") if old.get("status") == status else None
    row = {
        "type": k8s.CONDITION,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": k8s.stamp(at),
        "lastTransitionTime": since or k8s.stamp(at),
    }
    return {"status": {"conditions": [row]}}


def event(node: KubernetesNode, name: str, kind: str, reason: str, message: str, at: float) -> Change:
    """`kubectl describe node` looks for the node's name as the uid of the involved object, as kubelets write it."""
    return {
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.name},
        "type": kind,
        "reason": reason,
        "message": message,
        "source": {"component": k8s.MANAGER},
        "reportingComponent": k8s.MANAGER,
        "firstTimestamp": k8s.stamp(at),
        "lastTimestamp": k8s.stamp(at),
        "count": 1,
    }


def _change(
    node: KubernetesNode,
    spec: Mapping[str, Any],
    annotations: Mapping[str, str | None],
    labels: Mapping[str, str | None] | None = None,
) -> Change | None:
    if not (spec or annotations or labels):
        return None
    meta: dict[str, Any] = {"resourceVersion": node.version}
    if annotations:
        meta["annotations"] = annotations
    if labels:
        meta["labels"] = labels
    return {"metadata": meta, "spec": spec} if spec else {"metadata": meta}


def _without(taints: Sequence[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    return [taint for taint in taints if taint.get("key") != key]


def _value(cause: str) -> str:
    """A valid taint value: a limited character set, alphanumeric at both ends."""
    return _NOT_IN_A_VALUE.sub("-", cause)[:63].strip("._-")
