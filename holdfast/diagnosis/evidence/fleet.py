"""Evidence from the controller's records: the end of a job and the history of its nodes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from holdfast.catalog import job_errors
from holdfast.formats.job.message import of_kernel
from holdfast.model.evidence import Evidence
from holdfast.model.job import Job, JobState
from holdfast.model.signal import Event
from holdfast.runtime import codec

_TROUBLE = ("fail", "degraded")
_OF_STATE = {  # how the scheduler says that it ended -> (role, cause)
    JobState.OUT_OF_MEMORY: ("strong", "host.oom"),
    JobState.NODE_FAILED: ("strong", "host.other"),
    JobState.TIMED_OUT: ("strong", "host.killed"),
    JobState.PREEMPTED: ("strong", "host.killed"),
    JobState.CANCELLED: ("weak", "host.killed"),
}


def of_job(job: Job) -> list[Evidence]:
    """Evidence from the end of the job, as the scheduler or agent reported it."""
    where = f"controller/job/{job.id}"
    says = f"{job.source} says of job {job.shown_as or job.id}: {job.state.value.replace('_', ' ')}"
    exit_code = _exit(job.exit_code) or (1 if job.state is JobState.FAILED else None)
    event = Event(
        kind="job", code=job.state.value, at=job.end or 0.0, severity="info", line=1,
        text=f"{says}, exit code {job.exit_code}" if job.exit_code else says,
        detail={"says": says} if exit_code is None else {"says": says, "exit": float(exit_code)},
    )  # fmt: skip
    role, cause = _OF_STATE.get(job.state, ("exit", "") if exit_code else ("note", ""))
    host = job.nodes[0] if len(job.nodes) == 1 else ""
    return [Evidence(event=event, file=where, host=host, role=role, cause=cause)]


def of_history(node: str, entries: Iterable[Mapping[str, Any]]) -> list[Evidence]:
    """Evidence from history entries of the API, oldest first. Entries that cannot be read are skipped."""
    readers = {"event": _event, "verdict": _verdict, "transition": _transition}
    found = []
    for number, entry in enumerate(entries, 1):
        read = readers.get(str(entry.get("kind")))
        evidence = read(node, entry) if read else None
        if evidence is not None:
            placed = replace(evidence.event, line=number)
            found.append(replace(evidence, event=placed, file=f"controller/{node}", host=node))
    return found


def _event(node: str, entry: Mapping[str, Any]) -> Evidence | None:
    try:
        event = codec.convert({**entry["facts"], "at": entry["at"]}, Event)
    except (msgspec.ValidationError, KeyError, TypeError):
        return None
    return of_kernel(event, node)


def _verdict(node: str, entry: Mapping[str, Any]) -> Evidence | None:
    facts = entry.get("facts") or {}
    check, after = str(facts.get("check", "")), str(facts.get("after", ""))
    if after not in _TROUBLE:
        return None
    meaning = job_errors.of_verdict(check, after)
    severity = "fatal" if after == "fail" else "warning"
    return _reported("verdict", check, entry, severity, meaning.role, meaning.cause)


def _transition(node: str, entry: Mapping[str, Any]) -> Evidence | None:
    """Evidence from a transition. Only the loss of a node's reports adds something to its verdicts."""
    kind = str((entry.get("facts") or {}).get("kind", ""))
    if kind != "blind":
        return _reported("transition", kind, entry, "info", "note", "")
    return _reported("transition", kind, entry, "warning", "weak", "host.other")


def _reported(kind: str, code: str, entry: Mapping[str, Any], severity: str, role: str, cause: str) -> Evidence:
    says = f"{entry.get('title', '')}: {entry.get('detail', '')}".strip(": ")
    event = Event(
        kind=kind, code=code, at=float(entry.get("at") or 0.0), text=says, severity=severity, action="see_node",
        detail={"says": says},
    )  # fmt: skip
    return Evidence(event=event, role=role, cause=cause)


def _exit(reported: str) -> int | None:
    """'1:0' and '0:9' as Slurm writes exit code and signal; a signal is negative."""
    code, _, number = reported.partition(":")
    if number.isdecimal() and int(number):
        return -int(number)
    return int(code) if code.isdecimal() and int(code) else None
