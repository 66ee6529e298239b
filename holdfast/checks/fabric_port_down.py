"""fabric.port_down: downtime is the signal, not the number of flaps."""

import math
from dataclasses import dataclass

from holdfast.catalog import nccl, nics
from holdfast.checks.check import Check, Limits
from holdfast.checks.rdma_ports import device_and_number, expected_ports, for_seconds
from holdfast.formats.infiniband import DISABLED, state_name
from holdfast.formats.nccl_settings import may_use_port
from holdfast.model.health import FailureClass, Health, worst
from holdfast.model.subject import Subject, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window

_WINDOWS = (("10m", "10 min"), ("1h", "1 h"), ("24h", "24 h"))


@dataclass(frozen=True, slots=True)
class _Job:
    name: str
    started: float
    hca: str
    timeout: nccl.TransportTimeout
    may_fail_over: bool


@dataclass(frozen=True, slots=True)
class _Deadline:
    """When the connections over a port are presumed lost, and who says so."""

    seconds: float
    whose: str
    using: str  # what is known of the jobs on the port, to end a sentence with
    job: _Job | None

    @property
    def limit(self) -> float | None:
        return None if math.isinf(self.seconds) else self.seconds


def judge(window: Window, limits: Limits) -> Verdict:
    jobs = _jobs(window)
    rows, lost = [], set()
    for port in expected_ports(window):
        up = window.number(port, "port_up")
        if up is not None:
            deadline = _deadline(window, port, jobs)
            row = _judge_up(window, port, deadline) if up else _judge_down(window, port, deadline)
            rows.append(_worse(row, _judge_downtime(window, port, limits)))
            if row.health is Health.FAIL and deadline.job:
                lost.add(deadline.job.name)
    if not rows and not expected_ports(window) and (idle := window.values("port_up")):
        why = f"none of {len(idle)} ports was ever up: list those that should be in the manifest"
        rows.append(Row(window.node, Health.UNKNOWN, reason=why))
    return Verdict(rows=tuple(rows), evidence=_evidence(window), remedy=_remedy(sorted(lost)) if lost else "")


def _jobs(window: Window) -> list[_Job]:
    jobs = []
    for subject in window.values("job_processes"):
        version = str(window.value(subject, "job_nccl_version") or "")
        timeout = nccl.transport_timeout(
            version,
            window.number(subject, "job_nccl_ib_timeout"),
            window.number(subject, "job_nccl_ib_retries"),
        )
        fails_over = nccl.can_fail_over(version) and window.number(subject, "job_nccl_port_failover") == 1
        started = window.number(subject, "job_start_timestamp_seconds") or 0.0
        hca = str(window.value(subject, "job_nccl_ib_hca") or "")
        jobs.append(_Job(subject.removeprefix("job/"), started, hca, timeout, fails_over))
    return jobs


def _deadline(window: Window, port: Subject, jobs: list[_Job]) -> _Deadline:
    device, number = device_and_number(port)
    users = [job for job in jobs if may_use_port(job.hca, device, number)]
    if users:
        first = min(users, key=lambda job: job.timeout.seconds)
        return _Deadline(first.timeout.seconds, f"of job {first.name} ({first.timeout.because})", "", first)
    default = nccl.transport_timeout()
    using = "no job was using it"
    if window.number(window.node, "jobs_running") is None:
        using = "whether a job was using it is not known"
    return _Deadline(default.seconds, "(the shortest default of NCCL in use)", using, None)


def _judge_down(window: Window, port: Subject, deadline: _Deadline) -> Row:
    outage = window.number(port, "port_outage_seconds") or 0.0
    left = deadline.seconds - outage
    said = f"{_how(window, port)}down {for_seconds(outage)}"
    if left > 0:
        users = f"; {deadline.using}" if deadline.using else ""
        coming = f"connections presumed lost in {for_seconds(left)}, by the transport timeout {deadline.whose}"
        if math.isinf(left):
            coming = f"connections wait for ever, by the transport timeout {deadline.whose}"
        return Row(port, Health.DEGRADED, outage, deadline.limit, f"{said}, {coming}{users}")
    return Row(port, Health.FAIL, outage, deadline.seconds, f"{said}, {_beyond(deadline, outage, 0.0)}")


def _how(window: Window, port: Subject) -> str:
    """What is known of the way it is down, to begin a sentence with."""
    state = window.number(port, "port_state")
    if state is None:
        return f"{window.why_absent(port, 'port_state')}; "
    if window.number(port, "port_phys_state") == DISABLED:
        return "disabled; "
    waiting = state_name(state) in ("INIT", "ARMED")
    return f"the link is there but {state_name(state)} (does a subnet manager run?); " if waiting else ""


def _judge_up(window: Window, port: Subject, deadline: _Deadline) -> Row:
    """Up again: the job that lived through an outage too long for it still waits for its dead connections."""
    outage = window.number(port, "port_last_outage_seconds") or 0.0
    ended = window.number(port, "port_last_outage_end_timestamp_seconds") or 0.0
    ago = max(0.0, window.now - ended)
    job = deadline.job
    if job is None or outage < deadline.seconds or job.started > ended - outage or ago > nccl.watchdog_seconds():
        return Row(port, Health.PASS, 0.0, deadline.limit)
    said = f"was down {for_seconds(outage)} until {for_seconds(ago)} ago, {_beyond(deadline, outage, ago)}"
    return Row(port, Health.FAIL, outage, deadline.seconds, said)


def _beyond(deadline: _Deadline, outage: float, ago: float) -> str:
    """The sentence about an outage that outlasted the transport. Presumed is not confirmed."""
    longer = f"longer than the {for_seconds(deadline.seconds)} transport timeout {deadline.whose}"
    if deadline.job is None:
        return f"{longer}: any connection over it is presumed lost; {deadline.using}"
    since = for_seconds(outage + ago - deadline.seconds)
    left = nccl.watchdog_seconds() - outage - ago
    watchdog = f"would notice in {for_seconds(left)}" if left > 0 else "should have noticed by now"
    failover = "; NCCL may have failed over to another port" if deadline.job.may_fail_over else ""
    return f"{longer}: connections over it presumed lost {since} ago; PyTorch's watchdog {watchdog}{failover}"


def _judge_downtime(window: Window, port: Subject, limits: Limits) -> Row:
    found = Row(port, Health.PASS, window.number(port, "port_down_seconds_10m"), limits["degraded_seconds_10m"])
    for key, words in _WINDOWS:
        down = window.number(port, f"port_down_seconds_{key}") or 0.0
        for health in (Health.FAIL, Health.DEGRADED):
            limit = limits[f"{health.value}_seconds_{key}"]
            if down >= limit:
                said = f"down {for_seconds(down)} in the last {words}, limit {limit:g} s"
                found = _worse(found, Row(port, health, down, limit, said))
                break
    return found


def _worse(first: Row, second: Row) -> Row:
    return first if worst((first.health, second.health)) is first.health and first.health is not Health.PASS else second


def _evidence(window: Window) -> tuple[str, ...]:
    said = []
    for port in expected_ports(window):
        flaps = window.number(port, "port_flaps_24h") or 0.0
        if flaps:
            down = window.number(port, "port_down_seconds_24h") or 0.0
            said.append(f"{local_name(port)}: went down {flaps:.0f} times in 24 h, {for_seconds(down)} in all")
        last = window.number(port, "port_last_outage_seconds") or 0.0
        at_most = window.number(port, "port_last_outage_at_most_seconds") or 0.0
        if at_most > last:
            said.append(
                f"{local_name(port)}: last outage at least {for_seconds(last)}, at most {for_seconds(at_most)}: "
                "nobody looked at its end"
            )
        downed = window.number(port, "port_link_downed_total")
        if downed is not None and nics.is_saturated("port_link_downed_total", downed):
            said.append(f"{local_name(port)}: link_downed stands at {downed:.0f} and counts no further")
    if window.number(window.node, "port_ledger_writable") == 0:
        said.append(f"outages are kept in memory only: {window.why_absent(window.node, 'port_ledger_file')}")
    return tuple(said)


def _remedy(jobs: list[str]) -> str:
    return (
        f"look whether job {', '.join(jobs)} still makes progress; if it stopped, restart it now from its last "
        "checkpoint instead of waiting for the watchdog; then have cable, transceiver and switch port checked"
    )


CHECK = Check(
    name="fabric.port_down",
    asks="Was any RDMA port down long enough to break a collective?",
    about="nic",
    part="rdma",
    reads=("port_up", "port_outage_seconds", "port_down_seconds_10m"),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="have cable, transceiver and switch port checked; compare with the other ports of the same switch",
    owner="network",
    limits={
        "degraded_seconds_10m": 7.5,
        "fail_seconds_10m": 60.0,
        "degraded_seconds_1h": 20.0,
        "fail_seconds_1h": 120.0,
        "degraded_seconds_24h": 60.0,
        "fail_seconds_24h": 600.0,
    },
)
