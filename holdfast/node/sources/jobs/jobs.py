"""Which Slurm job, pod or process holds which GPU, and its NCCL settings. Only NCCL_*, TORCH_NCCL_* and TORCH_FR_*
leave an environment."""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from holdfast.catalog import nccl
from holdfast.formats.host import cgroup
from holdfast.formats.host.proc import first_number
from holdfast.formats.nccl import settings as nccl_settings
from holdfast.model import subject
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import Subject
from holdfast.node.sources.open_files import error_text
from holdfast.node.sources.timeout import Timeout

_MAX_BYTES = 16 << 20
_MAX_CONF_BYTES = 1 << 16
_MOST_ENTRIES = 10_000
_LIBRARY_ATTEMPTS = 20  # a process maps NCCL some time after its start; after this its version is not read again
_TIMEOUT_SECONDS = 2.0
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
GpuProcesses = Callable[[], Mapping[int, Sequence[int]] | None]


@dataclass(slots=True)
class _Process:
    started: float | None  # seconds since the epoch, on the clock that gives `now`
    job: str
    settings: dict[str, str]
    settings_absent: str
    container: str
    version: str = ""
    attempts: int = 0


@dataclass(slots=True)
class _Job:
    processes: dict[int, _Process] = field(default_factory=dict)
    gpus: set[int] = field(default_factory=set)


class JobsSource:
    """`gpu_processes` gives the processes on every GPU, or None while it is unknown."""

    name = "jobs"
    every = 15.0
    deadline = 10.0
    carries = ("jobs_running", "job_processes", "job_gpus", "job_nccl_ib_timeout", "job_nccl_ib_retries",
               "job_nccl_version", "job_nccl_ib_hca", "job_nccl_uses_rdma")  # fmt: skip

    def __init__(self, node: str, proc: str, gpu_processes: GpuProcesses) -> None:
        self._node = node
        self._proc = proc
        self._gpu_processes = gpu_processes
        self._files = Timeout(_TIMEOUT_SECONDS)
        self._processes: dict[tuple[int, str], _Process] = {}  # by pid and start, for pids are used again
        self._last: set[str] = set()

    def read(self, now: float) -> Reading:
        held = self._gpu_processes()
        if held is None:
            return Reading(source=self.name, at=now, blind="it is unknown which processes hold GPUs")
        jobs = self._jobs(held, now)
        here = subject.node(self._node)
        signals: list[Signal] = []
        absent: dict[tuple[Subject, str], str] = {}
        if any(held.values()) and not jobs:
            absent[(here, "jobs_running")] = f"no process that holds a GPU is in {self._proc}: another PID namespace?"
        else:
            signals.append(Signal(here, "jobs_running", float(len(jobs))))
        for job_id, job in jobs.items():
            _report(subject.job(job_id), job, signals, absent)
        for ended in self._last - jobs.keys():
            absent[(subject.job(ended), "job_processes")] = "the job ended"
        self._last = set(jobs)
        return Reading(source=self.name, at=now, signals=signals, absent=absent)

    def _jobs(self, held: Mapping[int, Sequence[int]], now: float) -> dict[str, _Job]:
        jobs: dict[str, _Job] = {}
        living: dict[tuple[int, str], _Process] = {}
        booted = self._booted(now)
        for gpu, pids in held.items():
            for pid in pids:
                ticks = self._start_ticks(pid)
                process = self._process(pid, ticks, booted) if ticks else None
                if process is None:
                    continue  # it ended between two reads
                living[(pid, ticks)] = process
                job = jobs.setdefault(process.job, _Job())
                job.processes[pid] = process
                job.gpus.add(gpu)
        self._processes = living
        return jobs

    def _process(self, pid: int, ticks: str, booted: float | None) -> _Process | None:
        process = self._processes.get((pid, ticks))
        if process is None:
            try:
                groups = self._read(pid, "cgroup").decode("utf-8", "replace")
            except OSError:
                return None
            settings, why = self._settings(pid)
            started = None if booted is None else booted + int(ticks) / _CLOCK_TICKS
            process = _Process(started, _job_id(groups, pid), settings, why, cgroup.container(groups))
        if not process.version and process.attempts < _LIBRARY_ATTEMPTS:
            process.attempts += 1
            process.version = self._version(pid)
        return process

    def _settings(self, pid: int) -> tuple[dict[str, str], str]:
        try:
            own = nccl_settings.nccl_settings(self._read(pid, "environ"))
            shared = self._files.ask(lambda: self._nccl_conf(pid), "")
            return {**nccl_settings.nccl_conf(shared), **own}, ""
        except OSError as error:
            return {}, f"environment of pid {pid} cannot be read: {error_text(error)}"

    def _nccl_conf(self, pid: int) -> str:
        """The administrator's settings as the process sees them. A container may put anything there: only a regular
        file is read, without blocking."""
        path = os.path.join(self._proc, str(pid), "root", "etc", "nccl.conf")
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return ""
        try:
            plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return os.read(descriptor, _MAX_CONF_BYTES).decode("utf-8", "replace") if plain else ""
        except OSError:
            return ""
        finally:
            os.close(descriptor)

    def _version(self, pid: int) -> str:
        """The NCCL version, from the name of the mapped library or from its package."""
        try:
            library = nccl_settings.mapped_library(self._read(pid, "maps").decode("utf-8", "replace"))
        except OSError:
            return ""
        reported = nccl_settings.version_in_path(library)
        return reported if reported or not library else self._files.ask(lambda: self._version_beside(pid, library), "")

    def _version_beside(self, pid: int, library: str) -> str:
        """The version from the names of files around the library, in the process's file system."""
        folder = os.path.join(self._proc, str(pid), "root") + os.path.dirname(library)
        packages = os.path.join(folder, "..", "..", "..")  # nvidia/nccl/lib inside site-packages
        try:
            reported = [nccl_settings.version_in_path(entry) for entry in _entries(folder)]
            reported += [nccl_settings.version_in_wheel(entry) for entry in _entries(packages)]
        except OSError:
            return ""
        return next(filter(None, reported), "")

    def _start_ticks(self, pid: int) -> str:
        try:
            text = self._read(pid, "stat").decode("utf-8", "replace")
        except OSError:
            return ""
        fields = text.rpartition(")")[2].split()  # the command's name may hold spaces and brackets
        return fields[19] if len(fields) > 19 and fields[19].isdecimal() else ""

    def _booted(self, now: float) -> float | None:
        """On the clock of `now`, which is never set; btime of /proc/stat moves with the wall clock."""
        try:
            with open(os.path.join(self._proc, "uptime"), encoding="ascii", errors="replace") as file:
                uptime = first_number(file.read(_MAX_CONF_BYTES))
        except OSError:
            return None
        return None if uptime is None else now - uptime

    def _read(self, pid: int, name: str) -> bytes:
        with open(os.path.join(self._proc, str(pid), name), "rb") as file:
            return file.read(_MAX_BYTES)


def _entries(folder: str) -> list[str]:
    """The job chose the folder, which may contain millions of files."""
    with os.scandir(folder) as found:
        return [entry.name for entry in islice(found, _MOST_ENTRIES)]


def _job_id(groups: str, pid: int) -> str:
    if job := cgroup.slurm_job(groups):
        return job
    if uid := cgroup.pod(groups):
        return f"pod-{uid}"
    if container := cgroup.container(groups):
        return f"container-{container}"
    return f"pid-{pid}"


def _report(where: Subject, job: _Job, signals: list[Signal], absent: dict[tuple[Subject, str], str]) -> None:
    settings: dict[str, str] = {}
    for process in job.processes.values():
        settings.update(process.settings)
    starts = [process.started for process in job.processes.values() if process.started is not None]
    signals += [Signal(where, "job_start_timestamp_seconds", min(starts))] if starts else []
    uses_rdma = any(nccl_settings.may_use_rdma(process.settings) for process in job.processes.values())
    signals += [
        Signal(where, "job_processes", float(len(job.processes))),
        Signal(where, "job_gpus", ",".join(map(str, sorted(job.gpus)))),
        Signal(where, "job_pids", ",".join(map(str, sorted(job.processes)))),
        Signal(where, "job_nccl_uses_rdma", float(uses_rdma)),
    ]
    unread = next((process.settings_absent for process in job.processes.values() if process.settings_absent), "")
    numbers = {
        "job_nccl_ib_timeout": "NCCL_IB_TIMEOUT",
        "job_nccl_ib_retries": "NCCL_IB_RETRY_CNT",
        "job_nccl_port_failover": nccl.failover_setting(),
        "job_nccl_ras_enabled": "NCCL_RAS_ENABLE",
        "job_flight_recorder_entries": nccl_settings.recorder_setting(settings),
    }
    for name, variable in numbers.items():
        number = nccl_settings.whole_number(settings.get(variable))
        if number is not None:
            signals.append(Signal(where, name, float(number)))
        elif unread:
            absent[(where, name)] = unread
    texts = {
        "job_container": (",".join(sorted({p.container for p in job.processes.values() if p.container})), ""),
        "job_nccl_ib_hca": (settings.get("NCCL_IB_HCA", ""), unread),
        "job_nccl_version": (
            next((process.version for process in job.processes.values() if process.version), ""),
            "no mapped library contains the NCCL version",
        ),
    }
    for name, (text, why) in texts.items():
        if text:
            signals.append(Signal(where, name, text))
        elif why:
            absent[(where, name)] = why
