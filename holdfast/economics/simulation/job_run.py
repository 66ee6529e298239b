"""A simulated job: waits for nodes, starts, runs, is interrupted, rolls back, and restarts."""

from enum import Enum

from holdfast.economics.simulation.failures import Failure
from holdfast.economics.simulation.scenario import PlannedMaintenance, SimulatedJob
from holdfast.economics.simulation.spread import Draws, Spread, SpreadKind
from holdfast.economics.simulation.work import Point, WorkCycle

FIXED = SpreadKind.FIXED


class Phase(Enum):
    QUEUED = "queued"  # has no nodes
    WAITING = "waiting"  # has some nodes and waits for others
    STOPPED = "stopped"  # interrupted; the reason is not known yet
    STARTING = "starting"
    RUNNING = "running"
    DONE = "done"


RESTARTING = (Phase.STOPPED, Phase.STARTING)


class JobRun:
    def __init__(self, job: SimulatedJob, draws: Draws) -> None:
        self.job = job
        self.work = WorkCycle(job.checkpoints)
        self.phase = Phase.QUEUED
        self.nodes: set[int] = set()
        self.leaving: dict[int, Failure | PlannedMaintenance] = {}  # nodes that the job leaves, and why
        self.clean: dict[int, Point] = {}  # node -> last save before the node began to corrupt
        self.epoch = 0  # actions that were scheduled in an earlier epoch are void
        self.from_memory = False
        self.begun = False
        self.finished: float | None = None
        self.interruptions = self.in_restart = self.planned_stops = self.changes = 0
        self.restart_node_seconds = self.waiting_node_seconds = 0.0
        self.preempting = False
        self._since = job.submitted
        self._draws = draws
        self._rng: Failure | None = None

    def settle(self, now: float) -> None:
        """Counts the time since the last change."""
        seconds, self._since = now - self._since, now
        if self.phase is Phase.RUNNING:
            self.work.advance(seconds)
        elif self.phase in RESTARTING:
            self.restart_node_seconds += seconds * len(self.nodes)
        elif self.phase is Phase.WAITING:
            self.waiting_node_seconds += seconds * len(self.nodes)

    def become(self, phase: Phase, now: float) -> None:
        self.settle(now)
        self.changes += phase is not self.phase
        self.phase = phase
        self.epoch += 1

    def stop(self, now: float, failure: Failure, memory_is_left: bool) -> float:
        """Interrupts the job and rolls it back. Returns the seconds until the failure is detected and diagnosed."""
        running = self.phase is Phase.RUNNING
        self.become(Phase.STOPPED, now)
        self.interruptions += 1
        self.in_restart += not running
        self.from_memory = (
            memory_is_left and (running or self.from_memory) and bool(self.job.checkpoints.memory_interval)
        )
        self.work.go_back(self.work.memory if self.from_memory else self.work.storage)
        return self._stage_seconds(failure, self.job.restart.detect, self.job.restart.diagnose)

    def stop_as_planned(self, now: float) -> None:
        """Stops the job right after a checkpoint, so that nothing is lost."""
        self.become(Phase.WAITING, now)
        self.planned_stops += 1
        self.from_memory = False
        self.work.go_back(self.work.memory)

    def seconds_to_start(self) -> float:
        restart = self.job.restart
        load = restart.load_memory if self.from_memory else restart.load
        return self._stage_seconds(self._rng, restart.reschedule, load, restart.warm_up)

    def _stage_seconds(self, rng: Failure | None, *stages: Spread) -> float:
        """Durations of the restart stages.

        The failure supplies the random numbers; a first start uses the job's own.
        """
        self._rng = rng
        seconds = 0.0
        if rng is not None and all(stage.kind is FIXED for stage in stages):
            rng.used += len(stages)  # keeps later numbers independent of the stages
            for stage in stages:
                seconds += stage.first
            return seconds
        draw = rng.draw if rng is not None else self._draws.random
        for stage in stages:
            seconds += stage.at(draw())
        return seconds

    @property
    def lacks(self) -> int:
        return self.job.nodes - len(self.nodes)
