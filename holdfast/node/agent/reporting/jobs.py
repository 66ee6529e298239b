"""Jobs that hold this node's GPUs, from the readings of the source `jobs`.

Only jobs of a scheduler or a container runtime count: any other process may be a driver daemon and would keep the node
busy forever. While the suite runs, and until a reading that began after it, jobs are unknown, because the suite's own
programs use GPUs too.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.model.signal import Reading, Value
from holdfast.model.wire.report import LONGEST_NAME, MOST_JOBS, JobSeen
from holdfast.node.sources.jobs.jobs import JobsSource

PLAIN_PROCESS = "pid-"


class JobsHere:
    """The evaluation thread calls `receive`, the reporter's thread `seen`, and the thread that runs the suite
    `testing`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._seen: tuple[JobSeen, ...] | None = None
        self._testing = 0
        self._tested_until = float("-inf")

    def seen(self) -> tuple[JobSeen, ...] | None:
        return self._seen

    def record(self, reading: Reading) -> bool:
        """True if the jobs changed; the controller should learn this at once."""
        if reading.source != JobsSource.name:
            return False
        with self._guard:
            before = self._seen
            ours = self._testing or reading.at <= self._tested_until
            self._seen = None if ours else _jobs(reading)
            return self._seen is not None and {job.id for job in self._seen} != {job.id for job in before or ()}

    @contextmanager
    def testing(self) -> Iterator[None]:
        with self._guard:
            self._testing += 1
            self._seen = None
        try:
            yield
        finally:
            with self._guard:
                self._testing -= 1
                self._tested_until = self._clock()


def _jobs(reading: Reading) -> tuple[JobSeen, ...] | None:
    if reading.blind or not any(signal.name == "jobs_running" for signal in reading.signals):
        return None
    facts: dict[str, dict[str, Value]] = {}
    for subject, name, value in reading.signals:
        kind, _, job = subject.partition("/")
        if kind == "job" and not job.startswith(PLAIN_PROCESS) and 0 < len(job) <= LONGEST_NAME:
            facts.setdefault(job, {})[name] = value
    return tuple(_job(name, found) for name, found in sorted(facts.items()))[:MOST_JOBS]


def _job(name: str, found: dict[str, Value]) -> JobSeen:
    start, gpus = found.get("job_start_timestamp_seconds"), found.get("job_gpus")
    return JobSeen(
        id=name,
        start=start if isinstance(start, float) else None,
        gpus=len(gpus.split(",")) if isinstance(gpus, str) and gpus else None,
    )
