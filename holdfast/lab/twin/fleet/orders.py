"""Orders in the simulated fleet: each runs once, takes its time, and succeeds with a probability."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from holdfast.lab.twin.fleet.node import FleetNode, NodeFault
from holdfast.model.health import Health
from holdfast.model.wire.order import Order as Order
from holdfast.model.wire.report import OrderOutcome

if TYPE_CHECKING:
    from holdfast.lab.twin.fleet.simulation import Simulation

SUITE_SECONDS = 120.0
RESET_SECONDS = 25.0
REBOOT_SECONDS = 240.0
INSPECT_SECONDS = 3600.0  # until a technician has replaced the broken part
BLIND_SHARE = 0.01  # share of suites whose result is unknown
MOST_REMEMBERED = 32
GATE = {"cordon": False, "drain": False, "uncordon": True}


_Finish = Callable[[FleetNode, Order, float], None]


class OrderBook:
    def __init__(self, simulation: "Simulation") -> None:
        self._fleet = simulation

    def give(self, node: FleetNode, order: Order) -> None:
        """Starts an order. A finished order returns its earlier outcome; a running one continues."""
        if known := node.outcomes.get(order.id):
            self._fleet.report(node, outcomes=(known,))
        elif order.id not in (node.working_on, node.probing) and not node.down:
            self._begin(node, order)

    def _begin(self, node: FleetNode, order: Order) -> None:
        if order.verb in GATE:
            node.open = GATE[order.verb]
            node.draining = order.verb == "drain" or (node.draining and not node.open)
            text = "open: work may start here" if node.open else "closed: nothing new starts here"
            self.answer(node, outcome_of(order, ok=True, reason=f"the gate is {text}"))
        elif order.verb == "retest":
            self._later(node, order, SUITE_SECONDS, self._tested)
        elif order.verb == "probe":
            self._fleet.probe_sessions.come(node, order)
        elif order.verb in ("reset_gpu", "reboot") and node.job:
            self.answer(node, outcome_of(order, ok=False, reason=f"GPUs are in use ({node.job})"))
        elif order.verb == "reset_gpu":
            self._later(node, order, RESET_SECONDS, self._reset)
        elif order.verb == "reboot":
            self._later(node, order, REBOOT_SECONDS, self._rebooted)
            node.down = True
        elif order.verb == "inspect":
            self._later(node, order, INSPECT_SECONDS, self._inspected)
        else:
            self.answer(node, outcome_of(order, ok=False, reason=f"this agent does not know how to {order.verb!r}"))

    def _later(self, node: FleetNode, order: Order, seconds: float, finish: _Finish) -> None:
        node.working_on = order.id
        began = self._fleet.now
        spread = 0.8 + 0.4 * self._fleet.rng.uniform("takes", node.index, order.id)
        self._fleet.clock.after(seconds * spread, partial(finish, node, order, began))

    def _tested(self, node: FleetNode, order: Order, began: float) -> None:
        health, cause, reason = node.suite()
        if self._fleet.rng.uniform("blind", node.index, order.id) < BLIND_SHARE and health is Health.PASS:
            health, cause, reason = Health.UNKNOWN, "dcgm.diag", "the diagnosis did not end within its time"
        update = outcome_of(order, ok=True, health=health.value, cause=cause, reason=reason, began=began)
        update = replace(update, repair=node.repair(cause) if health is Health.FAIL else "")
        self.answer(node, update)
        if health is Health.PASS:
            self._fleet.passed(node)

    def _reset(self, node: FleetNode, order: Order, began: float) -> None:
        lost = sorted(part for fault in node.faults if fault.kind.unreachable for part in fault.parts)
        if lost:
            which = ", ".join(map(str, lost))
            why = f"GPU {which} does not answer: a reset cannot reach it, a power cycle may"
            self.answer(node, outcome_of(order, ok=False, reason=why, began=began))
            return
        self._cure(node, order)
        self.answer(node, outcome_of(order, ok=True, reason="all GPUs were reset and answer", began=began))

    def _rebooted(self, node: FleetNode, order: Order, began: float) -> None:
        node.down = False
        node.session += 1
        self._cure(node, order)
        self.answer(node, outcome_of(order, ok=True, reason="the node was rebooted and is back", began=began))

    def _inspected(self, node: FleetNode, order: Order, began: float) -> None:
        """The simulated technician replaces every broken part of the node."""
        self._fleet.repair(node, list(node.faults))
        why = "a technician inspected the node and changed the broken parts"
        self.answer(node, outcome_of(order, ok=True, reason=why, began=began))

    def _cure(self, node: FleetNode, order: Order) -> None:
        self._fleet.repair(node, [fault for fault in node.faults if self._cures(node, order, fault)])

    def _cures(self, node: FleetNode, order: Order, fault: NodeFault) -> bool:
        likely = 1.0 if fault.cured_by == order.verb else fault.kind.cures.get(order.verb, 0.0)
        return self._fleet.rng.uniform("cure", order.verb, node.index, fault.number, order.id) < likely

    def answer(self, node: FleetNode, outcome: OrderOutcome) -> None:
        if node.working_on == outcome.order:
            node.working_on = 0
        node.outcomes[outcome.order] = outcome
        if len(node.outcomes) > MOST_REMEMBERED:
            del node.outcomes[next(iter(node.outcomes))]
        self._fleet.report(node, outcomes=(outcome,))


def outcome_of(
    order: Order, *, ok: bool, reason: str, health: str = "", cause: str = "", began: float = 0.0
) -> OrderOutcome:
    suite = order.suite if order.verb == "retest" else ""
    return OrderOutcome(
        order=order.id,
        verb=order.verb,
        ok=ok,
        health=health,
        cause=cause,
        reason=reason,
        began=began,
        suite=suite,
    )
