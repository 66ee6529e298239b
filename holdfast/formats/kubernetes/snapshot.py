"""Nodes and pods of a cluster at one moment, and the status of each node."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from holdfast.formats.kubernetes.claims import ResourceClaim, ResourceSlice, offered
from holdfast.formats.kubernetes.nodes import KubernetesNode
from holdfast.formats.kubernetes.objects import MANAGER
from holdfast.formats.kubernetes.pods import KubernetesPod
from holdfast.model.node_status import NodeStatus


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Two lists, read as close together as the API allows."""

    nodes: tuple[KubernetesNode, ...]
    pods: tuple[KubernetesPod, ...]

    def counted(self, claims: Iterable[ResourceClaim], slices: Iterable[ResourceSlice]) -> "Snapshot":
        """The snapshot with the GPUs of dynamic resource allocation added, which pods and nodes do not list
        themselves."""
        known = {(claim.namespace, claim.name): claim.gpus for claim in claims}
        gpus = offered(slices)
        return Snapshot(
            tuple(replace(node, gpus=max(node.gpus, gpus.get(node.name, 0))) for node in self.nodes),
            tuple(pod.counted(known) if pod.claims else pod for pod in self.pods),
        )


def statuses(snapshot: Snapshot) -> list[NodeStatus]:
    """Status by node. Jobs are pods that request GPUs; a node is busy while it has pods that would have to leave
    first."""
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
