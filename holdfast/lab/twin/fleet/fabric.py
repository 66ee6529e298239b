"""Cost of a collective on a leaf-spine fabric by the alpha-beta model: latency per message, time per byte.

A ring visits the nodes leaf by leaf; the slowest hop sets the speed of all its steps. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FabricPort:
    """A node's place on the fabric: its leaf, and the share of its ports that are up."""

    leaf: str
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Path:
    latency_seconds: float
    bytes_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFabric:
    """Default: eight 400 Gbit/s ports per node, and half as much capacity from leaf to spine as below the leaf."""

    software_seconds: float = 4e-6
    """Added to every message, however short its path."""
    hop_seconds: float = 0.6e-6
    node_bytes_per_second: float = 400e9
    oversubscription: float = 2.0

    def path(self, one: FabricPort, other: FabricPort) -> Path:
        """The path between two nodes: through one leaf, or up to a spine and down. Ports that are down slow it."""
        rate = self.node_bytes_per_second * min(one.share, other.share)
        if one.leaf == other.leaf:
            return Path(self.software_seconds + 2 * self.hop_seconds, rate)
        uplink = self.node_bytes_per_second / self.oversubscription
        return Path(self.software_seconds + 4 * self.hop_seconds, min(rate, uplink))

    def all_reduce_seconds(self, ports: Iterable[FabricPort], size_bytes: float) -> float:
        """Time of a ring all-reduce: 2 (n - 1) steps with 1/n of the data each. Infinite if a node has no port left."""
        ring = sorted(ports, key=lambda port: port.leaf)
        count = len(ring)
        if count < 2:
            return 0.0
        paths = self._around(ring)
        slowest = min(path.bytes_per_second for path in paths)
        if slowest <= 0:
            return float("inf")
        return 2 * (count - 1) * (max(path.latency_seconds for path in paths) + size_bytes / count / slowest)

    def _around(self, ring: Sequence[FabricPort]) -> list[Path]:
        return [self.path(port, ring[(number + 1) % len(ring)]) for number, port in enumerate(ring)]
