"""Probe sessions in the simulated fleet: the fabric between two nodes determines their speed."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from holdfast.lab.twin.fleet.fabric import FleetFabric
from holdfast.lab.twin.fleet.node import GPUS, FleetNode
from holdfast.lab.twin.fleet.orders import Order, outcome_of
from holdfast.model.wire.probe import ProbeRequest

if TYPE_CHECKING:
    from holdfast.lab.twin.fleet.simulation import Simulation

MEET_SECONDS = 20.0
FABRIC = FleetFabric()


class SimulatedProbeSessions:
    def __init__(self, simulation: "Simulation") -> None:
        self._fleet = simulation
        self._waiting: dict[str, tuple[FleetNode, Order]] = {}  # waiting probes, by node

    def come(self, node: FleetNode, order: Order) -> None:
        """Adds a node to its session. A node with a job refuses; otherwise it waits for its peer until a timeout."""
        ask = order.probe
        if ask is None or node.job or node.working_on:
            why = f"the node is in use ({node.job or 'an order'})" if ask else "no partner is named"
            self._fleet.orders.answer(node, outcome_of(order, ok=False, reason=why))
            return
        node.probing = order.id
        self._waiting[node.name] = (node, order)
        self._fleet.clock.after(ask.seconds, partial(self._give_up, node, order))
        peer, theirs = self._waiting.get(ask.peer, (None, None))
        if peer is not None and theirs is not None and theirs.probe is not None and theirs.probe.peer == node.name:
            self._fleet.clock.after(MEET_SECONDS, partial(self._met, (node, order), (peer, theirs)))

    def leave(self, node: FleetNode) -> None:
        """Ends the probe at once because work starts on the node."""
        _, order = self._waiting.get(node.name, (node, None))
        if order is not None:
            self._end(node, order, f"stopped: {node.job} starts here")

    def _give_up(self, node: FleetNode, order: Order) -> None:
        if node.probing == order.id and order.probe is not None:
            self._end(node, order, f"set-up failed: {order.probe.peer} did not come within {order.probe.seconds:g} s")

    def _end(self, node: FleetNode, order: Order, why: str) -> None:
        self._waiting.pop(node.name, None)
        node.probing = 0
        self._fleet.orders.answer(node, outcome_of(order, ok=False, reason=why))

    def _met(self, *ends: tuple[FleetNode, Order]) -> None:
        if any(node.probing != order.id for node, order in ends):
            return
        one, other = ends[0][0], ends[1][0]
        rate = self.rate(one, other, ends[0][1].probe)
        for node, order in ends:
            self._waiting.pop(node.name, None)
            node.probing = 0
            outcome = outcome_of(order, ok=True, reason=f"{rate / 1e9:.1f} GB/s with {other.name}")
            self._fleet.orders.answer(node, replace(outcome, bytes_per_second=rate))

    def rate(self, one: FleetNode, other: FleetNode, ask: ProbeRequest | None) -> float:
        """Bandwidth of a pair that is alone on the fabric, so a leaf's uplinks are not shared. Healthy pairs differ
        by up to a factor of 1.6."""
        trunk = frozenset((one.place.get("leaf", ""), other.place.get("leaf", "")))
        share = min(share_of(one), share_of(other), self._fleet.slow_trunks.get(trunk, 1.0))
        variation = 0.6 + 0.4 * self._fleet.rng.uniform("probe", one.index, other.index, int(self._fleet.now))
        size = ask.bytes if ask else 1
        seconds = FABRIC.software_seconds + size / (FABRIC.node_bytes_per_second * max(share, 1e-6) * variation)
        return size / seconds


def share_of(node: FleetNode) -> float:
    down = {part for fault in node.faults if fault.kind.on == "port" for part in fault.parts}
    slow = min((fault.kind.fabric_share for fault in node.faults), default=1.0)
    return min(1 - len(down) / GPUS, slow)
