"""What is counted of a training job as text and back, so that a controller which starts anew goes on counting.

The looks of the last minutes are not kept: who is slow is known again after a few more.
"""

from collections import deque

import msgspec

from holdfast.fleet.jobs.accounts import PACES, Accounts, Restart
from holdfast.fleet.jobs.record import JobRecord, Rank
from holdfast.fleet.jobs.verdicts import USUAL_LOOKS, JobVerdicts
from holdfast.model.ledger import Ledger
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict


class _Counted(msgspec.Struct):
    ledger: Ledger
    restarts: list[Restart]
    began: float | None
    at: float
    step: int
    best_step: int
    attempt: int
    made_before: int
    paces: list[float]


class _Kept(msgspec.Struct):
    ranks: list[Rank]
    counted: _Counted
    attempt: int
    saved_step: int
    heard_at: float
    trouble: str
    verdicts: list[Verdict]
    slow_since: dict[Subject, float]
    usual: dict[str, list[float]]


def dump(judge: JobVerdicts) -> str:
    record = judge.record
    kept = _Kept(
        ranks=list(record.ranks.values()),
        counted=_count(record.accounts),
        attempt=record.attempt,
        saved_step=record.saved_step,
        heard_at=record.heard_at,
        trouble=record.trouble,
        verdicts=list(judge.verdicts),
        slow_since=judge.slow_since,
        usual={part: list(looks) for part, looks in judge.usual.items()},
    )
    return msgspec.json.encode(kept).decode()


def restore(name: str, owner: str, text: str) -> JobVerdicts:
    """Raises ValueError where the text is none of ours, such as another version's."""
    try:
        kept = msgspec.json.decode(text, type=_Kept)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    record = JobRecord(name, owner, accounts=_recount(kept.counted))
    record.attempt, record.saved_step = kept.attempt, kept.saved_step
    record.heard_at, record.trouble = kept.heard_at, kept.trouble
    for rank in kept.ranks:
        record.remember(rank)
    judge = JobVerdicts(record, tuple(kept.verdicts), kept.slow_since)
    judge.usual |= {part: deque(looks, USUAL_LOOKS) for part, looks in kept.usual.items()}
    return judge


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
        paces=list(accounts.paces),
    )


def _recount(counted: _Counted) -> Accounts:
    accounts = Accounts()
    accounts.ledger, accounts.began, accounts.at = counted.ledger, counted.began, counted.at
    accounts.restarts.extend(counted.restarts)
    accounts.step, accounts.best_step = counted.step, counted.best_step
    accounts.attempt, accounts.made_before = counted.attempt, counted.made_before
    accounts.paces = deque(counted.paces, PACES)
    return accounts
