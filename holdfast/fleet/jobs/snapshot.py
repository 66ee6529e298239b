"""Counters of a training job as JSON and back, so that a restarted controller continues them.

Readings of the last minutes are not stored: after a few more minutes the slow ranks are known again.
"""

from collections import deque
from dataclasses import replace

import msgspec

from holdfast.fleet.jobs.accounts import STEP_TIMES, Accounts, RestartCost
from holdfast.fleet.jobs.record import JobRecord, Rank
from holdfast.fleet.jobs.verdicts import USUAL_READINGS, JobVerdicts
from holdfast.model.ledger import Ledger
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict


class _Counted(msgspec.Struct):
    ledger: Ledger
    restarts: list[RestartCost]
    began: float | None
    at: float
    step: int
    best_step: int
    attempt: int
    made_before: int
    step_times: list[float] = msgspec.field(name="paces")  # the name in stored documents


class _Stored(msgspec.Struct):
    ranks: list[Rank]
    counted: _Counted
    attempt: int
    saved_step: int
    last_report_at: float = msgspec.field(name="heard_at")  # the name in stored documents
    trouble: str
    verdicts: list[Verdict]
    slow_since: dict[Subject, float]
    usual: dict[str, list[float]]


_decoder = msgspec.json.Decoder(_Stored)


def dump(job: JobVerdicts) -> str:
    record = job.record
    stored = _Stored(
        ranks=list(record.ranks.values()),
        counted=_count(record.accounts),
        attempt=record.attempt,
        saved_step=record.saved_step,
        last_report_at=record.last_report_at,
        trouble=record.trouble,
        verdicts=list(job.verdicts),
        slow_since=job.slow_since,
        usual={part: list(readings) for part, readings in job.usual.items()},
    )
    return msgspec.json.encode(stored).decode()


def restore(name: str, owner: str, text: str) -> JobVerdicts:
    """Restores the counters. Raises ValueError for invalid text, such as that of another version."""
    try:
        stored = _decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error
    record = JobRecord(name, owner, accounts=_recount(stored.counted))
    record.attempt, record.saved_step = stored.attempt, stored.saved_step
    record.last_report_at, record.trouble = stored.last_report_at, stored.trouble
    for rank in stored.ranks:
        record.remember(rank)
    job = JobVerdicts(record, tuple(stored.verdicts), stored.slow_since)
    job.usual |= {part: deque(readings, USUAL_READINGS) for part, readings in stored.usual.items()}
    return job


def _count(accounts: Accounts) -> _Counted:
    return _Counted(
        ledger=accounts.ledger,
        restarts=list(accounts.restarts),
        began=accounts.began,
        at=accounts.at,
        step=accounts.step,
        best_step=accounts.best_step,
        attempt=accounts.attempt,
        made_before=accounts.made_before,
        step_times=list(accounts.step_times),
    )


def _recount(counted: _Counted) -> Accounts:
    accounts = Accounts()
    accounts.ledger, accounts.began, accounts.at = counted.ledger, counted.began, counted.at
    last = counted.attempt - len(counted.restarts)
    accounts.restarts.extend(
        one if one.attempt >= 0 else replace(one, attempt=max(0, last + place))
        for place, one in enumerate(counted.restarts)
    )
    accounts.step, accounts.best_step = counted.step, counted.best_step
    accounts.attempt, accounts.made_before = counted.attempt, counted.made_before
    accounts.step_times = deque(counted.step_times, STEP_TIMES)
    return accounts
