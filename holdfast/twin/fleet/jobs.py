"""Jobs on the simulated fleet: they take free nodes, run steps, end, and die or move away when a node fails."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.model.job import JobState
from holdfast.model.signal import Event
from holdfast.model.subject import job as job_subject
from holdfast.twin.fleet.chance import Chance
from holdfast.twin.fleet.clock import VirtualClock
from holdfast.twin.fleet.node import FleetNode

SIZES = (1, 2, 4, 8, 16)
WEIGHTS = (4.0, 3.0, 3.0, 2.0, 1.0)
MEAN_SECONDS = 2400.0
STEP_SECONDS = 5.0
SCHEDULE_SECONDS = 20.0
OCCUPIED_SHARE = 0.7
STARTED, ENDED = "job_started", "job_ended"
Tell = Callable[[FleetNode, Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetJob:
    number: int
    nodes: tuple[FleetNode, ...]
    start: float
    end: float  # planned

    def steps(self, now: float) -> int:
        return int((now - self.start) / STEP_SECONDS)


class Jobs:
    def __init__(self, clock: VirtualClock, chance: Chance, nodes: list[FleetNode], tell: Tell) -> None:
        self._clock, self._chance, self._tell = clock, chance, tell
        self._free = deque(nodes)
        self._most = int(OCCUPIED_SHARE * len(nodes))
        self._busy = 0
        self._number = 0
        self.running: dict[int, FleetJob] = {}

    def schedule(self) -> None:
        """Start jobs while nodes are free, then again in a while."""
        while self._start_one():
            pass
        self._clock.after(SCHEDULE_SECONDS, self.schedule)

    def _start_one(self) -> bool:
        number = self._number + 1
        size = self._chance.one_of(SIZES, WEIGHTS, "size", number)
        if self._busy + size > self._most:
            return False
        chosen = self._choose(size)
        if len(chosen) < size:
            self._free.extend(chosen)
            return False
        self._number = number
        lasts = 60.0 + self._chance.exponential(MEAN_SECONDS, "lasts", number)
        job = FleetJob(number=number, nodes=tuple(chosen), start=self._clock.now, end=self._clock.now + lasts)
        self.running[number] = job
        self._busy += size
        for node in chosen:
            node.job = number
            self._tell(node, _event(STARTED, job, f"job {number} started on {size} nodes", self._clock.now))
        self._clock.at(job.end, lambda: self.end(number, JobState.COMPLETED))
        return True

    def _choose(self, size: int) -> list[FleetNode]:
        """The nodes that have been free the longest, passing over those that are ill or being worked on."""
        chosen: list[FleetNode] = []
        for _ in range(len(self._free)):
            node = self._free.popleft()
            fit = not (node.faults or node.down or node.working_on)
            (chosen if fit else self._free).append(node)
            if len(chosen) == size:
                break
        return chosen

    def end(self, number: int, state: JobState) -> None:
        job = self.running.pop(number, None)
        if job is None:
            return
        self._busy -= len(job.nodes)
        now = self._clock.now
        for node in job.nodes:
            node.job = 0
            self._free.append(node)
            words = f"job {number} ended after {job.steps(now)} steps: {state.value}"
            self._tell(node, _event(ENDED, job, words, now))


def _event(kind: str, job: FleetJob, text: str, now: float) -> Event:
    name = f"twin-{job.number}"
    return Event(kind=kind, at=now, text=text, subject=job_subject(name), code=name, severity="info")
