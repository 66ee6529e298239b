"""Gang scheduler of a simulation: higher priorities first, no backfill past a waiting job."""

from bisect import insort
from collections.abc import Callable

from holdfast.economics.simulation.clock import Clock
from holdfast.economics.simulation.fleet import SimulatedFleet
from holdfast.economics.simulation.job_run import JobRun, Phase
from holdfast.model.lifecycle import EventKind


def _rank(run: JobRun) -> tuple[int, float]:
    return -run.job.priority, run.job.submitted


class SimulatedScheduler:
    def __init__(
        self,
        runs: list[JobRun],
        fleet: SimulatedFleet,
        clock: Clock,
        test: Callable[[int], None],
        go: Callable[[JobRun], None],
    ) -> None:
        self._fleet, self._clock, self._test, self._go = fleet, clock, test, go
        self._runs = sorted(runs, key=_rank)
        self._waiting: list[JobRun] = []
        self.job_of: dict[int, JobRun] = {}
        self.preemptions = 0
        self.idle_node_seconds = 0.0
        self._idle_since: dict[int, float] = dict.fromkeys(range(len(fleet.histories)), 0.0)

    def wait(self, run: JobRun) -> None:
        """Puts a job into the queue."""
        insort(self._waiting, run, key=_rank)
        self.place()

    def place(self) -> None:
        """Starts all jobs that can start. Spares are for jobs that lost a node, not for new ones."""
        while self._waiting:
            run = self._waiting[0]
            if self._fleet.free(run.begun) < run.lacks:
                self._preempt_for(run)
                return
            del self._waiting[0]
            self._start(run)

    def _start(self, run: JobRun) -> None:
        run.become(Phase.STARTING, self._clock.now)
        for node in self._fleet.take(run.lacks, run.job.name):
            run.nodes.add(node)
            self.job_of[node] = run
            self.idle_node_seconds += self._clock.now - self._idle_since.pop(node)
        run.begun, run.preempting = True, False
        self._clock.after(run.seconds_to_start(), self._started, (run, run.epoch))

    def _started(self, who: tuple[JobRun, int]) -> None:
        run, epoch = who
        if run.epoch == epoch:
            self._go(run)

    def _preempt_for(self, run: JobRun) -> None:
        """Preempts the running jobs with the lowest priority, once per wait. Their nodes are tested before reuse."""
        if run.preempting:
            return
        short = run.lacks - self._fleet.free(run.begun)
        victims = []
        for other in reversed(self._runs):
            if short > 0 and other.job.priority < run.job.priority and other.nodes:
                victims.append(other)
                short -= len(other.nodes)
        if short > 0:
            return
        run.preempting = True
        for victim in victims:
            self.preemptions += 1
            if victim.phase is not Phase.WAITING:
                insort(self._waiting, victim, key=_rank)
            victim.become(Phase.QUEUED, self._clock.now)
            victim.work.go_back(victim.work.storage)
            self.release(victim)

    def release(self, run: JobRun) -> None:
        """Cleans and tests the nodes of a job that ended."""
        for node in sorted(run.nodes):
            self.leave(run, node)
            self._fleet.happen(node, EventKind.JOB_ENDED, job=run.job.name)
            self._test(node)

    def leave(self, run: JobRun, node: int) -> None:
        run.nodes.discard(node)
        run.clean.pop(node, None)
        run.leaving.pop(node, None)
        del self.job_of[node]
        self._idle_since[node] = self._clock.now

    def close(self) -> None:
        self.idle_node_seconds += sum(self._clock.end - since for since in self._idle_since.values())
