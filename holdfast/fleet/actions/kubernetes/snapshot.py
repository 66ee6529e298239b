"""A look at Kubernetes: nodes and pods of one moment, and what they say in the words of every scheduler."""

from dataclasses import dataclass

from holdfast.fleet.actions.kubernetes.mirror import Mirror
from holdfast.formats.kubernetes import objects as words
from holdfast.formats.kubernetes.nodes import KubernetesNode
from holdfast.formats.kubernetes.pods import KubernetesPod
from holdfast.model.node_status import NodeStatus


@dataclass(frozen=True, slots=True)
class Look:
    """Nodes and pods of one moment, as nearly as two lists can be."""

    nodes: tuple[KubernetesNode, ...]
    pods: tuple[KubernetesPod, ...]


@dataclass(frozen=True, slots=True)
class Watched:
    nodes: Mirror[KubernetesNode]
    pods: Mirror[KubernetesPod]

    def start(self) -> None:
        self.nodes.start()
        self.pods.start()

    def stop(self) -> None:
        self.nodes.stop()
        self.pods.stop()

    def look(self) -> Look:
        """Raises NoAnswer while either is blind."""
        return Look(self.nodes.held(), self.pods.held())


def statuses(look: Look) -> list[NodeStatus]:
    """Jobs are pods that ask for GPUs; busy is whatever would have to leave before the node is empty."""
    held: dict[str, list[KubernetesPod]] = {}
    for pod in look.pods:
        if pod.holds_node:
            held.setdefault(pod.node, []).append(pod)
    return [_status(node, held.get(node.name, [])) for node in look.nodes]


def _status(node: KubernetesNode, pods: list[KubernetesPod]) -> NodeStatus:
    return NodeStatus(
        node=node.name,
        accepts_work=node.accepts_work,
        cordoned=node.unschedulable or node.untested,
        down=not node.ready,
        busy=bool(pods),
        ours=node.untested or node.closed_by_us,
        note=node.note,
        note_by=words.MANAGER if node.closed_by_us else "",
        jobs=frozenset(pod.uid for pod in pods if pod.is_gpu_work),
        state=node.state,
    )
