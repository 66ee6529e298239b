"""The simulated fleet without network or real time: takes seconds and orders, returns agent reports."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from holdfast.lab.twin.fleet import strikes
from holdfast.lab.twin.fleet.clock import VirtualClock
from holdfast.lab.twin.fleet.jobs import Jobs
from holdfast.lab.twin.fleet.keyed_random import KeyedRandom
from holdfast.lab.twin.fleet.kinds import FleetEventKind, FleetScenario, checks, kinds
from holdfast.lab.twin.fleet.node import GPUS, FleetNode, NodeFault, fault_events
from holdfast.lab.twin.fleet.orders import OrderBook
from holdfast.lab.twin.fleet.probes import SimulatedProbeSessions
from holdfast.model.health import Health
from holdfast.model.signal import Event
from holdfast.model.wire.report import JobSeen, OrderOutcome, VerdictChange

if TYPE_CHECKING:
    from holdfast.lab.twin.fleet.plant import FleetPlant

HEARTBEAT_SECONDS = 30.0
YEAR_SECONDS = 365.25 * 86400.0
# nodes; in a larger fleet each agent starts with one verdict, so that the start does not flood the controller
SMALL_FLEET = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUpdate:
    """Report of one node's agent at one moment; the session number changes with each restart."""

    at: float
    node: int
    session: int
    heartbeat: bool = False
    changes: Sequence[VerdictChange] = ()
    events: Sequence[Event] = ()
    outcomes: Sequence[OrderOutcome] = ()
    jobs: Sequence[JobSeen] = ()


class Simulation:
    def __init__(self, scenario: FleetScenario, nodes: int, seed: int, infant_shape: float = 1.0) -> None:
        """`infant_shape` below 1 makes young nodes fail more often than old ones (Weibull shape)."""
        self.clock = VirtualClock()
        self.rng = KeyedRandom(seed)
        self.scenario = scenario
        self.reports_progress = scenario.reports_progress
        self._shape = infant_shape
        self.nodes = [FleetNode(i, name, place) for i, (name, place) in enumerate(places(scenario, nodes))]
        self._updates: list[NodeUpdate] = []
        self._tested = False
        self.jobs = Jobs(self.clock, self.rng, self.nodes, self._report_job, scenario.runs)
        self.orders = OrderBook(self)
        self.probe_sessions = SimulatedProbeSessions(self)
        self.slow_trunks: dict[frozenset[str], float] = {}
        self.jobs.started = self.probe_sessions.leave
        self.jobs.run_started = self._begin_strikes
        self._hazards = list(kinds().values())
        self._weights = [kind.per_gpu_year for kind in self._hazards]
        self.plant = self._built(seed) if scenario.plant else None
        self._plan()

    def _built(self, seed: int) -> "FleetPlant":
        from holdfast.lab.twin.fleet.plant import FleetPlant  # needs NumPy, which a fleet without a plant does not need

        return FleetPlant(self, self.scenario.places["rack"], self.scenario.places["loop"], seed)

    @property
    def now(self) -> float:
        return self.clock.now

    def advance(self, until: float) -> list[NodeUpdate]:
        """All reports up to this moment, in order."""
        self.clock.advance(until)
        updates, self._updates = self._updates, []
        return updates

    def report(
        self,
        node: FleetNode,
        changes: Sequence[VerdictChange] = (),
        events: Sequence[Event] = (),
        outcomes: Sequence[OrderOutcome] = (),
        ended: Sequence[JobSeen] = (),
        *,
        heartbeat: bool = False,
    ) -> None:
        """Queues a report. Every report lists the node's jobs, so that a lost one does no harm."""
        if node.down or not (changes or events or outcomes or heartbeat):
            return
        self._updates.append(
            NodeUpdate(
                at=self.clock.now,
                node=node.index,
                session=node.session,
                heartbeat=heartbeat,
                changes=changes,
                events=events,
                outcomes=outcomes,
                jobs=(*node.jobs(), *ended),
            )
        )

    def _report_job(self, node: FleetNode, event: Event, ended: Sequence[JobSeen]) -> None:
        self.report(node, events=(event,), ended=ended)

    def strike(
        self, node: FleetNode, kind: FleetEventKind, parts: tuple[int, ...], lasts: float = 0.0, cured_by: str = ""
    ) -> None:
        """Starts a fault, unless the node is off or already has this fault on the same part."""
        if node.down or any(fault.kind is kind and set(fault.parts) & set(parts) for fault in node.faults):
            return
        node.struck += 1
        fault = NodeFault(kind, parts, node.struck, cured_by=cured_by)
        node.faults.append(fault)
        self.report(node, events=fault_events(node.name, fault, self.clock.now))
        for verdict in kind.verdicts:
            self.clock.after(verdict.after, partial(self._say, node, fault))
        if kind.heals_seconds and not lasts:
            lasts = self.rng.exponential(kind.heals_seconds, "heals", node.index, fault.number)
        if lasts:
            self.clock.after(lasts, partial(self.repair, node, [fault]))

    def repair(self, node: FleetNode, faults: Iterable[NodeFault]) -> None:
        """Removes faults; a node that is on reports it."""
        gone = [fault for fault in faults if fault in node.faults]
        node.faults = [fault for fault in node.faults if fault not in gone]
        if gone and not node.down:
            self.report(node, node.changes((s.check for fault in gone for s in fault.kind.verdicts), self.clock.now))

    def passed(self, node: FleetNode) -> None:
        """Handles a passed suite. The first one on node 0 starts the strikes whose run does not fit into this fleet."""
        if node.index == 0 and not self._tested:
            self._tested = True
            for name in {strike.once_running for strike in self.scenario.strikes} - {"", *self.jobs.runs}:
                self._begin_strikes(name)

    def _begin_strikes(self, run: str) -> None:
        """Schedules the strikes that wait for this run, so that they hit the right job on a slow machine too."""
        for number, strike in enumerate(self.scenario.strikes):
            if strike.once_running == run:
                strikes.plan(self, number, strike)

    def _say(self, node: FleetNode, fault: NodeFault) -> None:
        """Reports the next verdict of a fault. A failure closes the node's gate and ends its job."""
        if fault not in node.faults:
            return
        verdict = fault.kind.verdicts[fault.reported]
        fault.reported += 1
        if node.down:
            return
        self.report(node, node.changes((verdict.check,), self.clock.now))
        if verdict.health is Health.FAIL:
            node.open = False
            self.jobs.node_failed(node)

    def _plan(self) -> None:
        for node in self.nodes:
            phase = HEARTBEAT_SECONDS * self.rng.uniform("phase", node.index)
            self.clock.at(phase, partial(self._arrive, node))
            self._plan_fault(node)
        self._begin_strikes("")
        self.clock.at(90.0, self.jobs.schedule)

    def _arrive(self, node: FleetNode) -> None:
        """Starts an agent, which reports every verdict once."""
        known = checks() if len(self.nodes) <= SMALL_FLEET else checks()[:1]
        self.report(node, node.first(known, self.clock.now))
        self._beat(node)

    def _beat(self, node: FleetNode) -> None:
        self.report(node, heartbeat=True)
        self.clock.after(HEARTBEAT_SECONDS, partial(self._beat, node))

    def _plan_fault(self, node: FleetNode, count: int = 0) -> None:
        """Schedules the next fault; the rate falls with age if the shape is below 1."""
        per_second = sum(self._weights) * GPUS * self.scenario.acceleration / YEAR_SECONDS
        if per_second <= 0:
            return
        risk = (self.clock.now * per_second) ** self._shape + self.rng.exponential(1.0, "gap", node.index, count)
        self.clock.at(risk ** (1 / self._shape) / per_second, partial(self._break_something, node, count))

    def _break_something(self, node: FleetNode, count: int) -> None:
        kind = self.rng.one_of(self._hazards, self._weights, "kind", node.index, count)
        self.strike(node, kind, (self.rng.below(GPUS, "part", node.index, count),))
        self._plan_fault(node, count + 1)


def places(scenario: FleetScenario, nodes: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Name of each node and the infrastructure that it shares: rack1, leaf1, loop1, feed1."""
    width = max(3, len(str(nodes)))
    for index in range(nodes):
        yield f"n{index + 1:0{width}d}", {kind: f"{kind}{index // size + 1}" for kind, size in scenario.places.items()}
