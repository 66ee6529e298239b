"""Fetches a job and the history of its nodes from the controller, as evidence for a diagnosis."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from holdfast.client import history
from holdfast.client.client import Client
from holdfast.diagnosis.evidence import fleet as fleet_evidence
from holdfast.model.evidence import Evidence
from holdfast.model.job import Job, JobState
from holdfast.model.refusal import Refusal
from holdfast.runtime import codec

_MOST_JOBS = 10_000
_PAGE = 1_000
_MOST_PAGES = 20
_BEFORE_SECONDS = 300.0  # what happened so shortly before the start may be why it failed
_AFTER_SECONDS = 300.0  # clocks differ, and agents report what they saw a little later
_A_DAY = 86_400.0  # where its start is not known


@dataclass(frozen=True, slots=True)
class ControllerRecords:
    job: Job
    evidence: list[Evidence]
    unseen: list[str]


def known_of(client: Client, job_id: str) -> ControllerRecords:
    """Raises Refusal where the controller knows no such job."""
    job = _find(client, job_id)
    since = (job.start or (job.end or time.time()) - _A_DAY) - _BEFORE_SECONDS
    until = (job.end or time.time()) + _AFTER_SECONDS
    found, unseen = fleet_evidence.of_job(job), []
    for node in job.nodes:
        try:
            entries = [entry for entry in _history(client, node, since) if entry["at"] <= until]
        except Refusal as why:
            unseen.append(f"{node}: {why}")
            continue
        found += fleet_evidence.of_history(node, entries[::-1])
    if not job.nodes:
        unseen.append(f"the controller does not know which nodes job {job_id} ran on")
    if job.state is JobState.COMPLETED:  # whatever happened there, the job outlived it
        found = [replace(one, role="note", cause="") for one in found]
    return ControllerRecords(job, found, unseen)


def _find(client: Client, job_id: str) -> Job:
    """The whole job. If the scheduler and the agents both report it, the scheduler's record counts."""
    reported = codec.convert(client.get("/v1/jobs", limit=_MOST_JOBS)["jobs"], list[Job])
    named = [one for one in reported if job_id in (one.id, one.shown_as) and not one.step]
    if not named:
        raise Refusal(
            f"--job {job_id}: the controller knows no such job among its latest {len(reported)}; expected a job's id", 1
        )
    first = min(named, key=lambda one: one.source == "agent")
    return replace(first, nodes=tuple(sorted({node for one in named for node in one.nodes})))


def _history(client: Client, node: str, since: float) -> Iterator[Any]:
    """Newest first, page by page, back to a time."""
    before = ""
    for _ in range(_MOST_PAGES):
        page = history.of_node(client, node, _PAGE, before)
        for entry in page["entries"]:
            if entry["at"] < since:
                return
            yield entry
        before = page["next"]
        if not before:
            return
