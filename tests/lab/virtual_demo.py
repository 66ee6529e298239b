"""The simulated fleet of the demo in virtual time, with the demo's policy and technician, against the real decisions.

The controller lives by the clock and the fleet `speed` times as fast: so does this.
"""

from collections import Counter
from dataclasses import replace

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.inbox.node_items import waits
from holdfast.fleet.policy import file as policy_file
from holdfast.fleet.standalone.up import BY_AGENTS
from holdfast.lab.demo import POLICY
from holdfast.lab.twin.fleet.kinds import scenario
from holdfast.lab.twin.fleet.node import FleetNode
from holdfast.lab.twin.fleet.simulation import NodeUpdate, Simulation
from holdfast.lab.twin.fleet.technician import Technician
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import OUT_OF_SERVICE, EventKind, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.order import Order
from holdfast.model.wire.report import Report

NODES = 64
STEP_SECONDS = 10.0


class VirtualDemo:
    def __init__(self, name: str, seed: int, speed: float = 1.0, nodes: int = NODES) -> None:
        self.policy = policy_file.parse(POLICY, "demo")
        self.fleet = Fleet(self.policy, new_key=lambda: "key")
        self.world = Simulation(scenario(name), nodes, seed)
        self.technician = Technician(self.world)
        self.incidents: dict[str, Incident] = {}
        self.visits = 0
        self.taken_out: Counter[str] = Counter()  # nodes that left service, by cause
        self._speed = speed
        self._orders = 0
        self._sequence: dict[str, int] = {}
        for node in self.world.nodes:
            self._do(self.fleet.enrol(node.name, "default", node.place, 0.0))

    def run(self, hours: float) -> None:
        until = self.world.now + hours * 3600
        while self.world.now < until:
            for update in self.world.advance(self.world.now + STEP_SECONDS):
                self._take(update)
            self._do(self.fleet.observe([_status(node) for node in self.world.nodes], self.now))
            self._do(self.fleet.tick(self.now))
            self._repair()
            self.incidents.update({one.id: one for one in self.fleet.incidents.take_changed()})

    @property
    def now(self) -> float:
        """The controller's clock."""
        return self.world.now / self._speed

    @property
    def in_service(self) -> float:
        """Neither out of service nor held; a node between two jobs is tested, and is in service."""
        states = self.fleet.nodes.values()
        return sum(not node.out and not node.held for node in states) / len(states)

    @property
    def breaker_open(self) -> bool:
        return any(one.subject.startswith("pool/") and one.closed is None for one in self.incidents.values())

    def _take(self, update: NodeUpdate) -> None:
        node = self.world.nodes[update.node]
        self._sequence[node.name] = number = self._sequence.get(node.name, 0) + 1
        report = Report(
            node=node.name,
            session=str(update.session),
            seq=number,
            at=update.at / self._speed,
            changes=tuple(replace(change, at=change.at / self._speed) for change in update.changes),
            outcomes=tuple(update.outcomes),
        )
        self._do(self.fleet.take(report, self.now))

    def _repair(self) -> None:
        for node in list(self.fleet.nodes.values()):
            if waits(node, self.policy):
                self.visits += self.technician.call(f"{node.name}@{node.since}", node.name)
        for one in self.technician.take_requests():
            self._do(self.fleet.operator(one.node, EventKind(one.verb), one.reason, "technician", self.now))

    def _do(self, steps: list[LifecycleStep]) -> None:
        names = {node.name: node for node in self.world.nodes}
        for step in steps:
            moved = step.transition
            if moved.after in OUT_OF_SERVICE and moved.before not in OUT_OF_SERVICE:
                self.taken_out[moved.event.cause] += 1
            for action in step.actions:
                self.visits += action.verb is Verb.INSPECT  # the last repair step is a technician
                if action.verb in BY_AGENTS:
                    self._orders += 1
                    order = Order(id=self._orders, verb=action.verb.value, suite=self.policy.suite, key=action.key)
                    self.world.orders.give(names[action.node], order)


def _status(node: FleetNode) -> NodeStatus:
    jobs = frozenset({node.job} if node.job else ())
    return NodeStatus(
        node=node.name, accepts_work=node.open, cordoned=not node.open, down=False, busy=bool(jobs), jobs=jobs
    )
