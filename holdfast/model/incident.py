"""Incident: a verdict or finding with a lifecycle, on a node or on something that several nodes share."""

from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.account import Account
from holdfast.model.subject import Subject


class IncidentState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    id: str
    opened: float
    subject: Subject
    parent: Subject = ""  # the rack, loop, switch or feed that the nodes share
    cause: str = ""
    reason: str = ""
    evidence: tuple[str, ...] = ()
    state: IncidentState = IncidentState.OPEN
    closed: float | None = None
    account: Account | None = None  # of a finding's incident: its evidence and its cost
