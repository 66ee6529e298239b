"""Nodes and pods of a Kubernetes cluster at one moment, and the status of each node in the words of every scheduler."""

from dataclasses import dataclass

from holdfast.formats.kubernetes.nodes import KubernetesNode
from holdfast.formats.kubernetes.objects import MANAGER
from holdfast.formats.kubernetes.pods import KubernetesPod
from holdfast.model.node_status import NodeStatus


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Two lists, read as close together as the API allows."""

    nodes: tuple[KubernetesNode, ...]
    pods: tuple[KubernetesPod, ...]


def statuses(snapshot: Snapshot) -> list[NodeStatus]:
    """Jobs are pods that ask for GPUs; busy is whatever would have to leave before the node is empty."""
    held: dict[str, list[KubernetesPod]] = {}
    for pod in snapshot.pods:
        if pod.holds_node:
            held.setdefault(pod.node, []).append(pod)
    return [_status(node, held.get(node.name, [])) for node in snapshot.nodes]


def _status(node: KubernetesNode, pods: list[KubernetesPod]) -> NodeStatus:
    return NodeStatus(
        node=node.name,
        accepts_work=node.accepts_work,
        cordoned=node.unschedulable or node.untested,
        down=not node.ready,
        busy=bool(pods),
        ours=node.untested or node.closed_by_us,
        note=node.note,
        note_by=MANAGER if node.closed_by_us else "",
        jobs=frozenset(pod.uid for pod in pods if pod.is_gpu_work),
        state=node.state,
        addresses=node.addresses,
    )
