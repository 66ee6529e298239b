"""Scheduler of the simulated fleet: jobs wait, take open nodes, train, end, and are requeued after a node failure."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from holdfast.lab.twin.fleet.clock import VirtualClock
from holdfast.lab.twin.fleet.keyed_random import KeyedRandom
from holdfast.lab.twin.fleet.kinds import FleetTraining
from holdfast.lab.twin.fleet.node import GPUS, FleetNode
from holdfast.lab.twin.fleet.training import SAVE_SECONDS, TrainingJob
from holdfast.model.job import JobState
from holdfast.model.signal import Event
from holdfast.model.subject import job as job_subject
from holdfast.model.wire.report import JobSeen

SIZES = (1, 2, 4, 8, 16)
WEIGHTS = (4.0, 3.0, 3.0, 2.0, 1.0)
MEAN_STEPS = 480.0
FEWEST_STEPS = 12
SCHEDULE_SECONDS = 20.0
# how long a run waits for the nodes it wants, unless one of them broke; then it takes any nodes
TIMEOUT_SECONDS = 3600.0
ENDLESS_STEPS = 10_000_000
RUNS_SHARE = 0.75  # share of the usable nodes; the rest is for jobs of random size
OCCUPIED_SHARE = 0.7
STARTED, ENDED = "job_started", "job_ended"
ReportJob = Callable[[FleetNode, Event, Sequence[JobSeen]], None]


class Jobs:
    def __init__(
        self,
        clock: VirtualClock,
        rng: KeyedRandom,
        nodes: list[FleetNode],
        report: ReportJob,
        runs: Sequence[FleetTraining] = (),
    ) -> None:
        self._clock, self._rng, self._report = clock, rng, report
        self._nodes, self._free = nodes, deque(nodes)
        self._most = max(1, int(OCCUPIED_SHARE * len(nodes)))
        self._waiting = deque(_fitting(runs, len(nodes), RUNS_SHARE * self._most))
        self._number = len(self._waiting)
        left = self._most - sum(job.size for job in self._waiting)
        self._sizes = [size for size in SIZES if size <= left]
        self._busy = 0
        self.save_seconds = SAVE_SECONDS  # depends on storage
        self.running: dict[str, TrainingJob] = {}
        self.runs = tuple(job.training for job in self._waiting)
        self.started: Callable[[FleetNode], None] = lambda node: None
        self.run_started: Callable[[str], None] = lambda run: None  # called when a run starts for the first time

    def schedule(self) -> None:
        """Starts jobs in their order while there are nodes for the first one, and schedules the next call."""
        while self._start(self._first()):
            self._waiting.popleft()
        self._clock.after(SCHEDULE_SECONDS, self.schedule)

    def _first(self) -> TrainingJob:
        if not self._waiting:
            self._number += 1
            size = self._rng.one_of(self._sizes, WEIGHTS[: len(self._sizes)], "size", self._number)
            steps = FEWEST_STEPS + int(self._rng.exponential(MEAN_STEPS, "steps", self._number))
            self._waiting.append(TrainingJob(self._number, size, steps))
        return self._waiting[0]

    def _start(self, job: TrainingJob) -> bool:
        if self._busy + job.size > self._most:
            return False
        chosen = self._choose(job.size, job.wanted if self._waits(job) else frozenset())
        if len(chosen) < job.size:
            self._free.extendleft(reversed(chosen))
            return False
        now = self._clock.now
        job.nodes, job.start = tuple(chosen), now
        self.running[job.name] = job
        self._busy += job.size
        again = f" from step {job.saved}" if job.attempts else ""
        for node in chosen:
            node.job, node.job_since = job.name, now
            self.started(node)
            self._report(node, _event(STARTED, job, f"{job.name} started on {job.size} nodes{again}", now), ())
        if job.title and not job.attempts:
            self.run_started(job.title)
        self._clock.at(job.begin_stretch(now, self.save_seconds), partial(self._checkpoint, job, job.name))
        return True

    def _waits(self, job: TrainingJob) -> bool:
        """Whether the job still waits for the nodes it wants, however long their first tests take."""
        broken = any(node.faults or node.draining for node in self._nodes if node.index in job.wanted)
        return self._clock.now < TIMEOUT_SECONDS and not job.attempts and not broken

    def _choose(self, size: int, wanted: frozenset[int]) -> list[FleetNode]:
        """Nodes behind one leaf if they suffice, else those that have been free the longest. Closed nodes, nodes
        that are off and nodes in repair are left out."""
        fit = [
            node
            for node in self._free
            if node.open and not (node.down or node.working_on) and (not wanted or node.index in wanted)
        ]
        leaves = Counter(node.place.get("leaf", "") for node in fit)
        near = [leaf for leaf, count in leaves.items() if count >= size]
        chosen = [node for node in fit if not near or node.place.get("leaf", "") == near[0]][:size]
        taken = {node.index for node in chosen}
        self._free = deque(node for node in self._free if node.index not in taken)
        return chosen

    def _checkpoint(self, job: TrainingJob, attempt: str) -> None:
        """Ends a stretch between two checkpoints, unless the job died in it."""
        if attempt not in self.running:
            return
        drained = [node.name for node in job.nodes if node.draining]
        if job.end_stretch():
            self._leave(job, JobState.COMPLETED, f"{job.name} completed {job.steps} steps")
        elif drained:
            self._move(job, drained)
        else:
            self._clock.at(
                job.begin_stretch(self._clock.now, self.save_seconds), partial(self._checkpoint, job, attempt)
            )

    def _move(self, job: TrainingJob, drained: Sequence[str]) -> None:
        """Moves a job without an end off a draining node: it continues on other nodes from its checkpoint."""
        text = f"{job.name} leaves {', '.join(drained)}, which will be drained, and continues from step {job.saved}"
        self._leave(job, JobState.PREEMPTED, text)
        job.move()
        self._waiting.appendleft(job)

    def node_failed(self, node: FleetNode) -> None:
        """Ends the node's job, which then waits for a restart from its last checkpoint."""
        job = self.running.get(node.job)
        if job is None:
            return
        lost = job.since_checkpoint(self._clock.now)
        text = f"{job.name} died with {node.name}: {lost} steps lost, continues from step {job.saved}"
        self._leave(job, JobState.NODE_FAILED, text)
        job.die(self._clock.now)
        self._waiting.appendleft(job)

    def _leave(self, job: TrainingJob, state: JobState, text: str) -> None:
        """Closes the used nodes until they are tested again."""
        del self.running[job.name]
        self._busy -= job.size
        now = self._clock.now
        seen = JobSeen(id=job.name, state=state, start=job.start, gpus=GPUS)
        for node in job.nodes:
            node.job = ""
            node.open = False
            self._free.append(node)
            self._report(node, _event(ENDED, job, text, now), (seen,))


def _fitting(runs: Sequence[FleetTraining], nodes: int, room: float) -> Iterator[TrainingJob]:
    """Runs for which a fleet of this size has enough nodes."""
    for number, run in enumerate(runs, 1):
        room -= run.size
        if room < 0 or run.first - 1 + run.size > nodes:
            return
        wanted = frozenset(range(run.first - 1, run.first - 1 + run.size))
        yield TrainingJob(number, run.size, ENDLESS_STEPS, title=run.name, wanted=wanted)


def _event(kind: str, job: TrainingJob, text: str, now: float) -> Event:
    return Event(kind=kind, at=now, text=text, subject=job_subject(job.name), code=job.name, severity="info")
