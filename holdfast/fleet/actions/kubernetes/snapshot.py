"""Nodes and pods of a cluster, kept up to date by two watches."""

from dataclasses import dataclass

from holdfast.fleet.actions.kubernetes.mirror import Mirror
from holdfast.formats.kubernetes.nodes import KubernetesNode
from holdfast.formats.kubernetes.pods import KubernetesPod
from holdfast.formats.kubernetes.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class WatchedObjects:
    nodes: Mirror[KubernetesNode]
    pods: Mirror[KubernetesPod]

    def start(self) -> None:
        self.nodes.start()
        self.pods.start()

    def stop(self) -> None:
        self.nodes.stop()
        self.pods.stop()

    def look(self) -> Snapshot:
        """Raises NoAnswer while either is blind."""
        return Snapshot(self.nodes.held(), self.pods.held())
