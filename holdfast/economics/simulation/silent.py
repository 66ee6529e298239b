"""Silent failures: slow nodes, which slow their job, and nodes that compute wrong numbers."""

from collections.abc import Callable
from typing import Any

from holdfast.economics.simulation.clock import Clock
from holdfast.economics.simulation.failures import Failure
from holdfast.economics.simulation.fleet import SimulatedFleet
from holdfast.economics.simulation.job_run import JobRun, Phase
from holdfast.economics.simulation.scenario import PlannedMaintenance, SimulatedDomain
from holdfast.model.lifecycle import EventKind, Stage

_H = EventKind
SINGLE = (SimulatedDomain.GPU, SimulatedDomain.NODE)
Slow = tuple[Failure, list[int]]


class Silent:
    def __init__(
        self,
        fleet: SimulatedFleet,
        clock: Clock,
        job_of: dict[int, JobRun],
        set_speed: Callable[[JobRun], None],
        take_out: Callable[[int, Failure | PlannedMaintenance, str], None],
        interrupt: Callable[[JobRun, Failure, dict[int, Any]], None],
    ) -> None:
        self._fleet, self._clock, self._job_of = fleet, clock, job_of
        self._set_speed, self._take_out, self._interrupt = set_speed, take_out, interrupt
        self._slow: dict[int, dict[int, Failure]] = {}  # node -> its slowdowns
        self._corrupt: dict[int, Failure] = {}

    def speed(self, run: JobRun) -> float:
        """Speed of a job: that of its slowest node."""
        slowed = (by for node, by in self._slow.items() if node in run.nodes)
        return min((one.hazard.speed for by in slowed for one in by.values()), default=1.0)

    def join(self, run: JobRun) -> None:
        """Starts a job, perhaps on nodes that corrupt its results."""
        for node in self._corrupt:
            if node in run.nodes:
                run.clean.setdefault(node, run.work.storage)

    def cure(self, node: int) -> None:
        """Ends the node's own slowdowns after a repair; those of a whole loop stay."""
        self._corrupt.pop(node, None)
        for number, failure in list(self._slow.get(node, {}).items()):
            if failure.hazard.on in SINGLE:
                self._forget(node, number)

    def _forget(self, node: int, number: int) -> bool:
        slowed_by = self._slow.get(node, {})
        known = slowed_by.pop(number, None) is not None
        if not slowed_by:
            self._slow.pop(node, None)
        return known

    def slow_down(self, failure: Failure, nodes: list[int]) -> None:
        for node in nodes:
            self._slow.setdefault(node, {})[failure.number] = failure
        self._set_speed_again(nodes)
        who: Slow = (failure, nodes)
        self._clock.after(failure.hazard.noticed.at(failure.draw()), self._slow_noticed, who)
        if failure.hazard.lasts is not None:
            self._clock.after(failure.hazard.lasts.at(failure.draw()), self._slow_over, who)

    def _set_speed_again(self, nodes: list[int]) -> None:
        for run in {id(run): run for node in nodes if (run := self._job_of.get(node))}.values():
            self._set_speed(run)

    def _slow_noticed(self, who: Slow) -> None:
        """Lets the rules decide whether a slow node stays in service. A node that is slow because of its loop stays."""
        failure, nodes = who
        if failure.hazard.on not in SINGLE:
            return
        for node in self._fleet.in_service(nodes):
            if failure.number in self._slow.get(node, {}) and not self._fleet.guard.open():
                self._fleet.happen(node, _H.DEGRADED, failure.hazard.name)
                if self._fleet.stage(node) is Stage.DRAINING:
                    self.drain(node, failure)

    def drain(self, node: int, why: Failure | PlannedMaintenance) -> None:
        """Makes the job leave the node at its next checkpoint."""
        run = self._job_of.get(node)
        if run is None:
            self._take_out(node, why, "")
            return
        run.leaving[node] = why
        self._set_speed(run)

    def _slow_over(self, who: Slow) -> None:
        failure, nodes = who
        for node in nodes:
            known = self._forget(node, failure.number)
            if known and self._fleet.histories[node].state.life.degraded_by == failure.hazard.name:
                self._fleet.happen(node, _H.RECOVERED, failure.hazard.name)
        self._set_speed_again(nodes)

    def corrupt(self, failure: Failure, node: int) -> None:
        if node in self._corrupt:
            return
        self._corrupt[node] = failure
        run = self._job_of.get(node)
        if run is not None and run.phase is Phase.RUNNING:
            run.settle(self._clock.now)
            run.clean.setdefault(node, run.work.storage)
        self._clock.after(failure.hazard.noticed.at(failure.draw()), self._corruption_noticed, (failure, node))

    def _corruption_noticed(self, who: tuple[Failure, int]) -> None:
        failure, node = who
        if self._corrupt.get(node) is not failure or not self._fleet.in_service((node,)):
            return
        del self._corrupt[node]
        run = self._job_of.get(node)
        if run is None:
            self._take_out(node, failure, "")
            return
        run.settle(self._clock.now)
        if node in run.clean:
            run.work.go_back(run.clean.pop(node))
        self._interrupt(run, failure, {node: failure})
