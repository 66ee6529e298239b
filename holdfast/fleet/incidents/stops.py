"""Stops of jobs: from the last reported step to the next one, while the job is known to run.

The window drops old signals. This module keeps the last step of every job, so that a hang of hours counts in full, and
a restart of minutes too. Used only on the event loop; the result of `look` may be read by other threads.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from statistics import median

from holdfast.model.job import Job
from holdfast.model.wire.progress import RankWindow

PAUSE_SECONDS = 300.0  # a longer time without a step is a stop; checkpoints and evaluations are shorter
PAUSE_STEPS = 3.0  # a stop also lasts at least this many usual steps, because a step may take minutes
RESTART_SECONDS = 1800.0  # a job that restarts within this time after its processes ended kept its nodes
HEARD_SECONDS = 120.0  # a report of an agent within this time proves that its ranks' processes run
REPORT_SECONDS = 60.0  # in addition to a usual step: the last step may not be reported yet
SPEAKER_SECONDS = 60.0
STEP_TIMES = 31
MOST_STOPS = 64
MOST_JOBS = 20_000
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class JobStops:
    """One job at one evaluation. `since`: the last step before a stop that continues or just ended; None: no stop."""

    since: float | None = None
    goes_on: bool = False
    spans: tuple[tuple[float, float], ...] = ()  # from the last step to the next; a stop that continues ends now
    redone: tuple[tuple[float, float], ...] = ()  # time of the restart, and hours of the repeated steps
    settled: float | None = None  # up to here it is known whether the job was stopped
    known: bool = False  # the scheduler or an agent reports that the job runs
    ended: bool = False
    step: int = -1
    usual: float | None = None


@dataclass(slots=True)
class _Progress:
    at: float  # time of its last step
    step: int = -1
    rank: int = -1
    cadence: float = 0.0
    restored: bool = False  # restored from the store as a stopped job
    session: str = ""
    node: str = ""
    ended: str = ""
    ended_at: float = 0.0
    times: deque[float] = field(default_factory=lambda: deque(maxlen=STEP_TIMES))
    spans: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MOST_STOPS))
    redone: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MOST_STOPS))

    @property
    def usual(self) -> float | None:
        return median(self.times) if self.times else None

    @property
    def hung(self) -> bool:
        """Whether the job was stopped before it ended."""
        return bool(self.ended) and self.ended_at - self.at > self.pause

    @property
    def pause(self) -> float:
        return max(PAUSE_SECONDS, PAUSE_STEPS * max(self.cadence, self.usual or 0.0))


class StopWatch:
    """Stops of all jobs. `lived` converts wall-clock time to fleet time, which runs `factor` times as fast."""

    def __init__(self, lived: Callable[[float], float] = float, factor: float = 1.0) -> None:
        self._lived, self._factor = lived, factor
        self._jobs: dict[str, _Progress] = {}

    def take_window(self, job: str, node: str, window: RankWindow, now: float = inf) -> None:
        """Takes a window of the rank that represents the job, because ranks step together. `now`: wall-clock time of a
        reported end."""
        at, seconds = self._lived(window.at), window.seconds * self._factor
        known = self._jobs.get(job)
        if known is not None and known.rank not in (-1, window.rank) and at - known.at < SPEAKER_SECONDS:
            return
        if known is not None and window.ended and known.session in ("", window.session):
            known.ended, known.ended_at = window.ended, at if now == inf else max(at, self._lived(now))
        if not window.steps:
            return
        work = max(0.0, seconds - window.checkpoint_seconds * self._factor)
        if known is None:
            known = self._first(job, at)
        elif self._is_anew(known, window):
            if known.ended != "closed":
                self._restarted(known, window, at - seconds)
        else:
            self._stepped(known, at, seconds - work + window.steps * (known.usual or work / window.steps))
        known.times.append(work / window.steps)
        known.at, known.step, known.restored = max(known.at, at), window.step, False
        known.rank, known.session, known.node, known.ended = window.rank, window.session, node, window.ended

    def take_signal(self, job: str, at: float, step_seconds: float, cadence: float) -> None:
        """Takes the step time of a job without rank reports, in fleet time."""
        known = self._jobs.get(job)
        if known is None:
            known = self._first(job, at)
        elif known.rank >= 0:
            return
        known.cadence, known.restored = cadence, False
        self._stepped(known, at, max(cadence, min(step_seconds, known.usual or step_seconds)))
        known.times.append(step_seconds)
        known.at = max(known.at, at)

    def restore(self, job: str, since: float, step: int, usual: float | None) -> None:
        """Continues a stop that was stored with its incident, until a step or the end of the job is reported."""
        if job not in self._jobs:
            self._jobs[job] = _Progress(since, step, restored=True)
            self._jobs[job].times.extend([] if usual is None else [usual])

    def _first(self, job: str, at: float) -> _Progress:
        if len(self._jobs) >= MOST_JOBS:
            del self._jobs[min(self._jobs, key=lambda one: self._jobs[one].at)]
        self._jobs[job] = known = _Progress(at)
        return known

    def _is_anew(self, known: _Progress, window: RankWindow) -> bool:
        """Whether the window belongs to a new start of the processes."""
        other = known.rank == window.rank and known.session != window.session
        return other or self._lived(window.began) > known.at or window.step < known.step

    @staticmethod
    def _stepped(known: _Progress, at: float, worked: float) -> None:
        if at - worked - known.at > known.pause:
            known.spans.append((known.at, at - worked))

    @staticmethod
    def _restarted(known: _Progress, window: RankWindow, begin: float) -> None:
        """Whether the processes restarted soon enough for the gap to be a stop. A night between two runs is not."""
        on_its_way = not known.ended or begin - known.ended_at <= RESTART_SECONDS
        if on_its_way and begin > known.at:
            known.spans.append((known.at, begin))
        elif not on_its_way and known.hung:
            known.spans.append((known.at, known.ended_at))
        again = known.step - (window.step - window.steps)
        if known.step >= 0 and again > 0 and known.usual:
            known.redone.append((max(begin, known.at), again * known.usual / HOUR))

    def silent(self, now: float) -> set[str]:
        """Jobs that have made no step for longer than a pause explains."""
        return {job for job, known in self._jobs.items() if now - known.at > known.pause}

    def look(
        self, now: float, running: Iterable[Job], heard: Mapping[str, float], places: Mapping[str, Collection[str]]
    ) -> dict[str, JobStops]:
        """The stops now. `heard`: time of each agent's last report. `places`: the nodes of each job's live ranks."""
        jobs = list(running)
        names = {f"job/{name}" for job in jobs for name in (job.id, job.shown_as) if name}
        holds: dict[str, float] = {}  # node -> time since which the scheduler runs a job there
        for one in jobs:
            for node in one.nodes:
                holds[node] = min(one.start or 0.0, holds.get(node, now))
        return {
            job: self._look(known, now, *_there(job, known, now, names, holds, heard, places.get(job, ())))
            for job, known in self._jobs.items()
        }

    @staticmethod
    def _look(known: _Progress, now: float, until: float, sure: bool) -> JobStops:
        spans, redone = tuple(known.spans), tuple(known.redone)
        stops = JobStops(spans=spans, redone=redone, settled=known.at, known=sure, step=known.step, usual=known.usual)
        if now - known.at <= known.pause:
            return replace(stops, since=_just_over(known, now))
        if until <= known.at:  # the job is not running; its processes may be restarting
            last = known.ended_at if known.hung else known.at
            over = now - max(last, known.ended_at) > RESTART_SECONDS or known.ended == "closed"
            spans = (*spans, (known.at, last)) if known.hung else spans
            return replace(stops, spans=spans, settled=now if over else last, ended=over or bool(known.ended))
        late = REPORT_SECONDS + max(known.cadence, known.usual or 0.0)
        return replace(
            stops, since=known.at, goes_on=True, spans=(*spans, (known.at, until)), settled=max(known.at, until - late)
        )


def _just_over(known: _Progress, now: float) -> float | None:
    """Begin of the last stop, if it ended recently and cost more than a pause: a short stop with lost work."""
    if not known.spans or now - known.spans[-1][1] > PAUSE_SECONDS:
        return None
    begin, end = known.spans[-1]
    again = sum(hours for at, hours in known.redone if at == end)
    return begin if end - begin + again * HOUR > PAUSE_SECONDS else None


def _there(
    job: str,
    known: _Progress,
    now: float,
    names: Collection[str],
    holds: Mapping[str, float],
    heard: Mapping[str, float],
    nodes: Collection[str],
) -> tuple[float, bool]:
    """The time until which the job is known to run, and whether this is reported now."""
    since = min(known.at, known.spans[-1][0]) if known.spans else known.at
    if job in names or holds.get(known.node, now) <= since or (known.restored and not known.ended):
        return now, True
    if nodes:
        last = min(now, max(heard.get(node, 0.0) for node in nodes))
        return last, now - last <= HEARD_SECONDS
    if known.rank >= 0 or known.ended or names:
        return known.at, False
    return now, False  # neither a scheduler nor an agent reports an end, so the job continues
