"""The simulated fleet of the demo in virtual time, with the demo's policy, against the real decisions."""

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.policy import file as policy_file
from holdfast.fleet.standalone.up import BY_AGENTS
from holdfast.lab.demo.files import POLICY
from holdfast.lab.twin.fleet.kinds import kinds, scenario
from holdfast.lab.twin.fleet.simulation import Simulation
from holdfast.model.incident import Incident
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import Step
from holdfast.model.wire.order import Order
from holdfast.model.wire.report import Report

NODES = 64
STEP_SECONDS = 10.0


class VirtualDemo:
    def __init__(self, name: str, seed: int) -> None:
        self.policy = policy_file.parse(POLICY, "demo")
        self.fleet = Fleet(self.policy, new_key=lambda: "key")
        self.world = Simulation(scenario(name), NODES, seed)
        self.incidents: dict[str, Incident] = {}
        self._orders = 0
        self._sequence: dict[str, int] = {}
        for node in self.world.nodes:
            self._do(self.fleet.enrol(node.name, "default", node.place, 0.0))

    def run(self, hours: float) -> None:
        until = self.world.now + hours * 3600
        while self.world.now < until:
            for told in self.world.advance(self.world.now + STEP_SECONDS):
                node = self.world.nodes[told.node]
                self._sequence[node.name] = number = self._sequence.get(node.name, 0) + 1
                report = Report(
                    node=node.name,
                    session=str(told.session),
                    seq=number,
                    at=told.at,
                    changes=tuple(told.changes),
                    outcomes=tuple(told.outcomes),
                )
                self._do(self.fleet.take(report, self.world.now))
            self._do(self.fleet.observe([self._status(node) for node in self.world.nodes], self.world.now))
            self._do(self.fleet.tick(self.world.now))
            self.incidents.update({one.id: one for one in self.fleet.incidents.take_changed()})

    def _status(self, node):  # type: ignore[no-untyped-def]
        jobs = frozenset({node.job} if node.job else ())
        return NodeStatus(
            node=node.name, accepts_work=node.open, cordoned=not node.open, down=False, busy=bool(jobs), jobs=jobs
        )

    def _do(self, steps: list[Step]) -> None:
        names = {node.name: node for node in self.world.nodes}
        for step in steps:
            for action in step.actions:
                if action.verb in BY_AGENTS:
                    self._orders += 1
                    order = Order(id=self._orders, verb=action.verb.value, suite=self.policy.suite, key=action.key)
                    self.world.orders.give(names[action.node], order)

    @property
    def in_service(self) -> float:
        """Neither out of service nor held; a node between two jobs is tested, and is in service."""
        states = self.fleet.nodes.values()
        return sum(not node.out and not node.held for node in states) / len(states)


def test_a_calm_hour_has_no_incident() -> None:
    day = VirtualDemo("quiet", seed=1)
    day.run(1.0)
    assert day.incidents == {}
    assert day.in_service == 1.0


def test_a_dead_leaf_is_one_incident_and_drains_none_of_its_nodes() -> None:
    demo = VirtualDemo("leaf", seed=1)
    demo.run(1.0)
    shared = [one for one in demo.incidents.values() if not one.subject.startswith("node/")]
    assert [one.subject.partition("/")[0] for one in shared] == ["leaf"]
    assert not any(node.offences for node in demo.fleet.nodes.values())


def test_the_technician_repairs_what_no_reset_can() -> None:
    demo = VirtualDemo("quiet", seed=1)
    demo.run(0.2)
    node = demo.world.nodes[0]
    kind = next(one for one in kinds().values() if one.unreachable)
    demo.world.strike(node, kind, (3,), lasts=1e9)
    demo.run(4.0)
    assert not node.faults
    assert demo.fleet.nodes[node.name].takes_work
