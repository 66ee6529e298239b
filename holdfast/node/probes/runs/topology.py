"""Location of hosts in the fabric: from a file, the controller's inventory, or the InfiniBand subnet."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from holdfast.client.client import connect
from holdfast.formats.fabric import routes as ib_routes
from holdfast.formats.fabric import subnet as ib_topology
from holdfast.formats.fabric.subnet import End, IbFabric
from holdfast.formats.slurm import topology as slurm_topology
from holdfast.model.refusal import Refusal
from holdfast.model.wire.sweep import SweepFinding
from holdfast.node.probes.isolation.fabric_map import FabricMap, by_cables, by_hosts
from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.sources.fabric import subnet as ib_fabric

CONTROLLER, SUBNET = "controller", "ib"
MOST_PORTS = 4  # of a suspect, in its evidence


@dataclass(slots=True)
class FabricTopology:
    """The known part of the fabric; with a live subnet, also the switch ports' counters at the start."""

    map: FabricMap
    fabric: IbFabric | None = None
    before: dict[End, dict[str, int]] = field(default_factory=dict)

    def with_counters(self, suspects: Sequence[SweepFinding]) -> list[SweepFinding]:
        """The suspects, with the counters of their switch ports as evidence."""
        if self.fabric is None or not suspects:
            return list(suspects)
        try:
            now = _errors()
        except ib_fabric.CannotAsk as error:
            return [replace(one, evidence=(*one.evidence, f"switch counters unknown: {error}")) for one in suspects]
        return [replace(one, evidence=(*one.evidence, *self._port_evidence(one.subject, now))) for one in suspects]

    def _port_evidence(self, part: str, now: dict[End, dict[str, int]]) -> list[str]:
        assert self.fabric is not None
        lines = []
        ends = self.map.ends(part)
        for end in sorted(ends, key=lambda end: -sum(self._grown(end, now).values())):
            if counts := now.get(end):
                grown = sum(self._grown(end, now).values())
                counted = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
                about = ib_fabric.port_subject(self.fabric, *end)
                lines.append(f"{about}: {counted} ({grown} more since the probe began{self._waiting(end)})")
        if ends and not lines:
            lines.append(f"none of the {len(ends)} switch ports behind it has counted an error")
        return lines[:MOST_PORTS]

    def _grown(self, end: End, now: dict[End, dict[str, int]]) -> dict[str, int]:
        before = self.before.get(end, {})
        return {name: max(0, count - before.get(name, 0)) for name, count in now.get(end, {}).items()}

    def _waiting(self, end: End) -> str:
        """Time that the port waited for credit, which perfquery counts; it is not an error."""
        assert self.fabric is not None
        try:
            ticks = ib_fabric.counters(self.fabric.lids[end[0], 0], end[1]).get("PortXmitWait", 0)
        except (ib_fabric.CannotAsk, KeyError):
            return ""
        return f"; {ticks} ticks spent waiting for credit" if ticks else ""


def find(origin: str, adaptive: bool, hosts: Sequence[Host]) -> FabricTopology:
    """Finds the topology; without one, only the leaves in the list of hosts are known."""
    if not origin:
        return FabricTopology(by_hosts(hosts))
    if origin == SUBNET:
        found = _live(adaptive)
    else:
        found = FabricTopology(_inventory() if origin == CONTROLLER else _file(origin, adaptive))
    if not any(host.name in found.map.leaves for host in hosts):
        known = ", ".join(sorted(found.map.leaves)[:4]) or "no host"
        raise Refusal(f"--topology {origin}: it has none of these hosts; it knows {known}")
    return found


def _live(adaptive: bool) -> FabricTopology:
    try:
        fabric = ib_fabric.topology()
        tables = {} if adaptive else ib_fabric.routes()
        return FabricTopology(by_cables(fabric, tables, adaptive), fabric, _errors())
    except ib_fabric.CannotAsk as error:
        raise Refusal(f"--topology {SUBNET}: {error}") from None


def _errors() -> dict[End, dict[str, int]]:
    return {(one.guid, one.port): one.counts for one in ib_fabric.errors()}


def _inventory() -> FabricMap:
    return _places(connect("", "").get("/v1/nodes")["nodes"], CONTROLLER)


def _places(nodes: Any, origin: str) -> FabricMap:
    try:
        return FabricMap({str(one["name"]): str(one["place"]["leaf"]) for one in nodes if one["place"].get("leaf")})
    except (TypeError, KeyError, AttributeError):
        raise Refusal(f"--topology {origin}: expected the output of `holdfast node list --json`") from None


def _file(path: str, adaptive: bool) -> FabricMap:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Refusal(f"--topology {path}: cannot be read: {error.strerror}") from None
    if text.lstrip().startswith(("{", "[")):
        return _places(_nodes_of(text, path), path)
    fabric = ib_topology.parse(text)
    if fabric.cables:
        return by_cables(fabric, ib_routes.parse(text), adaptive)
    try:
        return FabricMap(slurm_topology.parse(text, path))
    except slurm_topology.TopologyError as error:
        expected = "neither ibnetdiscover's output nor an inventory, nor Slurm's topology.conf"
        raise Refusal(f"--topology: {expected}: {error}") from None


def _nodes_of(text: str, path: str) -> Any:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"--topology {path}: not JSON: {error}") from None
    return document.get("nodes") if isinstance(document, dict) else document
