"""job.nccl_settings: would a job survive the outages that this node's ports really have, and leave a trace if not?

A job's settings are its owner's choice and not a fault of the node. So this check only advises: it passes with the
advice as its reason, and is not applicable if nothing is known about a job. fabric.port_down evaluates what an outage
did to a job.
"""

import math

from holdfast.catalog import nccl, nccl_tuning
from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.fabric.port_users import PortUser, rdma_job
from holdfast.node.checks.fabric.rdma_ports import for_seconds

_TUNED = nccl_tuning.environment()
_REMEDY = "start the job with `holdfast run --tune-nccl`, or set the variables that the reason names"


def judge(window: Window, limits: Limits) -> Verdict:
    jobs = window.values("job_processes")
    if not jobs:
        return Verdict(rows=(Row(window.node, Health.NOT_APPLICABLE, reason="no job is seen here"),))
    rows = tuple(_judge_job(window, subject) for subject in jobs)
    advised = any(row.reason for row in rows if row.health is Health.PASS)
    return Verdict(rows=rows, remedy=_REMEDY if advised else "")


def _judge_job(window: Window, subject: Subject) -> Row:
    version = str(window.value(subject, "job_nccl_version") or "")
    if not version:
        return Row(subject, Health.NOT_APPLICABLE, reason=f"no NCCL: {window.why_absent(subject, 'job_nccl_version')}")
    if "cannot be read" in (unread := window.why_absent(subject, "job_nccl_ib_timeout")):
        return Row(subject, Health.NOT_APPLICABLE, reason=unread)
    job = rdma_job(window, subject)
    advice = [_timeout(window, job), _flight_recorder(window, subject), _ras(window, subject, version)]
    limit = None if job is None or math.isinf(job.timeout.seconds) else job.timeout.seconds
    return Row(subject, Health.PASS, _longest_outage(window), limit, "; ".join(filter(None, advice)))


def _longest_outage(window: Window) -> float:
    """The longest outage of any port of this node within a day, including an ongoing one."""
    ended = window.values("port_longest_outage_seconds_24h").values()
    return max([0.0, *ended, *window.values("port_outage_seconds").values()])


def _timeout(window: Window, job: PortUser | None) -> str:
    longest = _longest_outage(window)
    if job is None or longest < job.timeout.seconds:
        return ""
    return (
        f"a port here was down for {for_seconds(longest)} within a day, its connections give up after "
        f"{for_seconds(job.timeout.seconds)} ({job.timeout.because}): NCCL_IB_TIMEOUT={_TUNED['NCCL_IB_TIMEOUT']}"
    )


def _flight_recorder(window: Window, subject: Subject) -> str:
    entries = window.number(subject, "job_flight_recorder_entries")
    if entries:
        return ""
    how = "is off" if entries == 0 else "was not switched on, and only the newest PyTorch switches it on by default"
    value = _TUNED["TORCH_NCCL_TRACE_BUFFER_SIZE"]
    return f"the Flight Recorder {how}: TORCH_NCCL_TRACE_BUFFER_SIZE={value}"


def _ras(window: Window, subject: Subject, version: str) -> str:
    if not nccl.has_ras(version):
        return f"NCCL {version} has no RAS: {nccl.facts()['ras_from']} and later report which ranks are behind"
    off = window.number(subject, "job_nccl_ras_enabled") == 0
    return "RAS is off: NCCL_RAS_ENABLE=1" if off else ""


CHECK = Check(
    name="job.nccl_settings",
    asks="Would the jobs here survive the outages that the ports of this node have, and leave a trace of a hang?",
    about="job",
    part="host",
    reads=(),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy=_REMEDY,
    owner="the job's owner",
)
