"""Jobs that may have had connections over a port when it went down, and when those are presumed lost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.catalog import nccl
from holdfast.formats.nccl.settings import may_use_port
from holdfast.model.subject import Subject
from holdfast.model.window import Window
from holdfast.node.checks.fabric.rdma_ports import device_and_number


@dataclass(frozen=True, slots=True)
class PortUser:
    name: str
    started: float
    hca: str
    timeout: nccl.TransportTimeout
    may_fail_over: bool


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the connections over a port are presumed lost, and the source of that limit."""

    seconds: float
    whose: str
    jobs: tuple[PortUser, ...] = ()  # jobs that had connections, the shortest timeout first
    known: bool = True  # whether the jobs on the node are known

    @property
    def limit(self) -> float | None:
        return None if math.isinf(self.seconds) else self.seconds

    @property
    def using(self) -> str:
        """The jobs on the port, as the end of a sentence."""
        if self.jobs:
            return ""
        return "no job was using it" if self.known else "whether a job was using it is not known"


def rdma_jobs(window: Window) -> list[PortUser]:
    """Every job on the node except those that set NCCL not to use RDMA."""
    return [job for subject in window.values("job_processes") if (job := rdma_job(window, subject))]


def rdma_job(window: Window, subject: Subject) -> PortUser | None:
    if window.number(subject, "job_nccl_uses_rdma") == 0:
        return None
    version = str(window.value(subject, "job_nccl_version") or "")
    timeout = nccl.transport_timeout(
        version,
        window.number(subject, "job_nccl_ib_timeout"),
        window.number(subject, "job_nccl_ib_retries"),
    )
    fails_over = nccl.can_fail_over(version) and window.number(subject, "job_nccl_port_failover") == 1
    started = window.number(subject, "job_start_timestamp_seconds") or 0.0
    hca = str(window.value(subject, "job_nccl_ib_hca") or "")
    return PortUser(subject.removeprefix("job/"), started, hca, timeout, fails_over)


def deadline(window: Window, port: Subject, jobs: Sequence[PortUser], went_down: float) -> Deadline:
    """The shortest timeout of the jobs that ran when the port went down. Later jobs lost nothing."""
    device, number = device_and_number(port)
    users = [job for job in jobs if job.started <= went_down and may_use_port(job.hca, device, number)]
    users.sort(key=lambda job: job.timeout.seconds)
    if users:
        first = users[0]
        return Deadline(first.timeout.seconds, f"of job {first.name} ({first.timeout.because})", tuple(users))
    known = window.number(window.node, "jobs_running") is not None
    return Deadline(nccl.transport_timeout().seconds, "(the shortest default of NCCL in use)", known=known)
