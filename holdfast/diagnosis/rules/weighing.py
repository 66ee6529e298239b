"""Evidence against a candidate: its time, an outage that ended in time, a run that continued."""

from collections.abc import Sequence
from math import inf

from holdfast.catalog import nccl
from holdfast.diagnosis.rules.candidate import MOST_OF_HINTS, Candidate
from holdfast.diagnosis.rules.waiting import Waiting
from holdfast.model.evidence import Evidence

CLOCK_SKEW_SECONDS = 120.0  # between hosts; logs alone cannot show more
BEFORE_SECONDS = 900.0  # an event longer before the wait did not cause it
_GOES_ON_LINES = 2  # normal lines of any kind
_LONGEST_WAIT_SECONDS = 1800.0  # longest watchdog timeout in use: a scheduler may report a failure this late


def weigh(candidates: Sequence[Candidate], evidence: Sequence[Evidence], waiting: Waiting | None) -> None:
    failed = _failed_at(evidence)
    since = _trouble_since(evidence, waiting) if failed else 0.0
    spoke = _first_lines(waiting) if waiting else {}
    for one in candidates:
        if waiting:
            _against_the_wait(one, waiting, spoke)
        if failed:
            _against_the_end(one, failed, since, waiting)
        _without_an_end(one, evidence)
        if one.name == "fabric.port_down":
            _short_outage(one, evidence)
        if one.name == "storage.stall":
            _storage_came_back(one, evidence, waiting)
            _only_paused(one, evidence)


def _without_an_end(one: Candidate, evidence: Sequence[Evidence]) -> None:
    """Limits a cause that rests on one line below which the log continues: nothing shows that the run ended."""
    if one.base is not None or one.confidence <= MOST_OF_HINTS or any(_ends(item) for item in one.evidence):
        return
    if any(item.role in ("exit", "watchdog", "effect") for item in evidence):
        return
    if all(item.word("quoted") for item in one.evidence):
        one.against(MOST_OF_HINTS / one.confidence, "it is quoted in a text that people wrote")
        return
    if all(item.number_or_zero("quiet_end") >= (1 if item.word("logged") else _GOES_ON_LINES) for item in one.evidence):
        one.against(MOST_OF_HINTS / one.confidence, "nothing shows that the run ended: the log continues below it")


def _ends(one: Evidence) -> bool:
    """Whether the line itself shows the end of its process, or comes from a kernel."""
    return bool(one.event.action) or one.event.kind == "steps" or bool(one.word("where") and not one.word("logged"))


def _failed_at(evidence: Sequence[Evidence]) -> float:
    """When the job itself first reported a problem."""
    return min((one.at for one in _job_messages(evidence)), default=0.0)


def _trouble_since(evidence: Sequence[Evidence], waiting: Waiting | None) -> float:
    """When the trouble began: at the first problem that the job reported, or at the start of the wait."""
    began = min(one.at - (_LONGEST_WAIT_SECONDS if one.event.kind == "job" else 0.0) for one in _job_messages(evidence))
    return min(began, waiting.since) if waiting and waiting.since else began


def _job_messages(evidence: Sequence[Evidence]) -> list[Evidence]:
    return [one for one in evidence if one.at and _of_the_job(one) and one.role not in ("note", "hint")]


def _of_the_job(one: Evidence) -> bool:
    """Whether the job reported it, not a kernel, whose log may reach back for months."""
    return not one.event.action


def _against_the_wait(one: Candidate, waiting: Waiting, spoke: dict[str, int]) -> None:
    if one.base is not None and one.evidence[0].role == "watchdog":
        return
    if waiting.fired and one.began > waiting.fired + CLOCK_SKEW_SECONDS:
        one.against(0.3, "it was reported only after the watchdog had fired")
    elif not (waiting.fired and one.began) and _all_below(one, spoke):
        own = {item.rank for item in one.evidence} <= {*waiting.ranks}  # its own rank had already timed out
        one.against(0.3 if own else 0.5, "in the log it comes after the watchdog's message")


def _first_lines(waiting: Waiting) -> dict[str, int]:
    """The line of the first watchdog message in each file."""
    first: dict[str, int] = {}
    for reported in waiting.reported:
        first[reported.file] = min(reported.event.line, first.get(reported.file, reported.event.line))
    return first


def _all_below(one: Candidate, spoke: dict[str, int]) -> bool:
    return all(item.event.kind != "watchdog" and item.event.line > spoke.get(item.file, inf) for item in one.evidence)


def _against_the_end(one: Candidate, failed: float, since: float, waiting: Waiting | None) -> None:
    if not one.began or any(_of_the_job(item) for item in one.evidence):
        return
    last = waiting.fired if waiting else failed
    if one.began > last + CLOCK_SKEW_SECONDS:
        one.against(0.3, "it happened after the job had failed")
    moments = (at for item in one.evidence for at in (item.at, item.event.detail.get("last_at")) if at)
    if max(map(float, moments)) < since - BEFORE_SECONDS:
        one.against(0.25, "it happened long before the job failed")


def _short_outage(one: Candidate, evidence: Sequence[Evidence]) -> None:
    """A port that recovered before the transport timeout did not end the job, unless a completion error says so."""
    if any(item.event.kind == "nccl.completion" and item.word("status") != "5" for item in evidence):
        return
    downs = [item for item in one.evidence if item.event.kind == "link" and _clock(item)]
    if not downs or len(downs) < len(one.evidence):
        return
    versions = [item.word("version") for item in evidence if item.word("version")]
    limit = nccl.transport_timeout(versions[0] if versions else "").seconds
    longest = max(_outage(down, evidence) for down in downs)
    if longest < limit:
        factor = 0.25 if _suffered(evidence) else 0.1
        one.against(factor, f"the port was back after {longest:.0f} s, before the transport gives up ({limit:.0f} s)")


def _outage(down: Evidence, evidence: Sequence[Evidence]) -> float:
    ups = [
        _clock(item) for item in evidence
        if item.event.kind == "link" and item.event.code == "up" and _clock(item) >= _clock(down)
        and item.event.device == down.event.device and item.host == down.host
    ]  # fmt: skip
    return min(ups) - _clock(down) if ups else float("inf")


def _clock(one: Evidence) -> float:
    """Its time, or the seconds since its host booted, which are comparable only on that host."""
    since_start = one.event.detail.get("since_boot_seconds", 0.0)
    return one.at or (float(since_start) if isinstance(since_start, int | float) else 0.0)


def _suffered(evidence: Sequence[Evidence]) -> bool:
    """Whether any process reports that it ended, hung or lost a peer."""
    return any(item.role in ("exit", "effect", "watchdog") or item.event.kind == "exception" for item in evidence)


def _only_paused(one: Candidate, evidence: Sequence[Evidence]) -> None:
    """Lowers a storage stall if storage answered again and no process reports a problem: servers pause at times."""
    lost = [item for item in one.evidence if item.event.kind == "storage" and item.event.code == "not_responding"]
    back = {item.file: item.event.line for item in evidence if item.event.kind == "storage" and item.event.code == "ok"}
    if (
        len(lost) == len(one.evidence)
        and not _suffered(evidence)
        and all(item.event.line < back.get(item.file, 0) for item in lost)
    ):
        one.against(0.1, "storage answered again, and nothing failed")


def _storage_came_back(one: Candidate, evidence: Sequence[Evidence], waiting: Waiting | None) -> None:
    lost = [item for item in one.evidence if item.event.kind == "storage" and item.event.code == "not_responding"]
    if len(lost) < len(one.evidence) or not waiting or not waiting.since:
        return
    back = [item.at for item in evidence if item.event.kind == "storage" and item.event.code == "ok" and item.at]
    if back and max(back) < waiting.since - CLOCK_SKEW_SECONDS:
        one.against(0.3, "storage answered again before the job began to wait")
