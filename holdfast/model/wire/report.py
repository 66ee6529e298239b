"""Report: a numbered message from an agent to the controller. It can be sent again and is stored once."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite
from sys import intern
from typing import Any, NamedTuple

from holdfast.model.assets import Part
from holdfast.model.job import JobState
from holdfast.model.signal import Event
from holdfast.model.subject import Subject
from holdfast.model.wire.keeper import KeeperReport
from holdfast.model.wire.probe import Fingerprint
from holdfast.model.wire.progress import RankWindow

LONGEST_NAME = 255  # characters; a host name has at most 253
LONGEST_TEXT = 16_384
LONGEST_DOCUMENT = 400_000  # document of a probe; a request has at most 1 MB
MOST_EVENTS = 1_000
MOST_CHANGES = 1_000
MOST_PARTS = 256
MOST_OUTCOMES = 100
MOST_JOBS = 256
MOST_PROGRESS = 4_096
MOST_KEEPERS = 64
MOST_SUBJECTS = 1_024
MOST_EVIDENCE = 64
LARGEST_DIGEST = 1_024  # bytes: a digest is at most 64 float32 with a header
LARGEST_TIME = 1e11  # seconds from the epoch: about the year 5000
LARGEST_SEQUENCE = 2**53 - 1  # the largest integer that JSON numbers represent exactly


class ReportMark(NamedTuple):
    """When something was reported: the session of the agent, the number of the report, the time of the change.

    Values, or the columns of a table that hold them.
    """

    session: Any
    seq: Any
    at: Any


def is_current(new: ReportMark, old: ReportMark) -> Any:
    """Whether `new` replaces `old`. Within a session the report's number decides, because an agent's clock may be set
    back; between sessions the time decides. For columns, the answer is an SQL expression."""
    same = (new.session == old.session) & (new.seq >= old.seq)
    return same | ((new.session != old.session) & (new.at >= old.at))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """A change of a check's verdict on a node."""

    at: float
    check: str
    before: str  # "" when it is the first verdict of this check
    after: str
    reason: str = ""
    subjects: tuple[Subject, ...] = ()
    evidence: tuple[str, ...] = ()
    remedy: str = ""  # what to do; "" from an older agent and for a verdict without a remedy
    owner: str = ""  # the team that the remedy is assigned to
    repair: str = ""  # the first repair step that can help; "" from an older agent

    def __post_init__(self) -> None:
        """A controller holds half a million verdicts: equal texts are one object."""
        keep = object.__setattr__
        keep(self, "check", intern(self.check))
        keep(self, "before", intern(self.before))
        keep(self, "after", intern(self.after))
        keep(self, "reason", intern(self.reason))

    @property
    def bounded(self) -> bool:
        """Whether the change is within all bounds of a report. Most verdicts are short passes, for which this combined
        test costs a tenth of the single tests."""
        names, text = self.check + self.before + self.after + self.repair, self.reason + self.remedy + self.owner
        bare = not self.subjects and not self.evidence
        return bare and len(names) <= LONGEST_NAME and len(text) <= LONGEST_TEXT and abs(self.at) <= LARGEST_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderOutcome:
    """The outcome of an order that the controller gave an agent."""

    order: int
    verb: str
    ok: bool  # whether the order was carried out; the result of a test is in `health`
    health: str = ""  # of a re-test: pass, degraded, fail or unknown
    cause: str = ""  # of a re-test: the check that decided
    reason: str = ""
    began: float = 0.0  # the agent's clock; 0.0 when nothing was begun
    suite: str = ""
    key: str = ""  # copied from the order: after the loss of a store its number alone may be reused
    bytes_per_second: float | None = None  # of a probe; 0: the data arrived corrupted
    about: str = ""  # of a failed probe: the node at fault, if it is not the sender
    fingerprints: tuple[Fingerprint, ...] = ()  # of a re-test with active probes
    under_way: bool = False  # of a running probe: `reason` says what it does now
    document: str = ""  # of a requested probe: its report as JSON
    repair: str = ""  # of a re-test that failed: the first repair step that can help


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSeen:
    """A job that uses GPUs of the node, as the agent sees it. A job that just ended may be listed once more."""

    id: str
    state: JobState = JobState.RUNNING
    start: float | None = None
    gpus: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`(node, session, seq)` identifies a report. A session is one run of an agent; its reports are numbered from 1."""

    node: str
    session: str
    seq: int
    at: float  # the agent's clock
    events: tuple[Event, ...] = ()
    changes: tuple[VerdictChange, ...] = ()
    heartbeat: bool = False
    digest: bytes = b""  # kept in the controller's memory, never stored
    twin: bool = False  # from simulated hardware
    outcomes: tuple[OrderOutcome, ...] = ()
    jobs: tuple[JobSeen, ...] | None = None  # all jobs that use GPUs here now; None if the agent does not know
    progress: tuple[RankWindow, ...] = ()  # from ranks on this node; the controller stores only its counters
    unsaved: tuple[str, ...] = ()  # jobs whose state is only in the memory of this node, not in storage
    keepers: tuple[KeeperReport, ...] = ()  # checkpoint keepers of this node; kept in memory, not stored

    parts: tuple[Part, ...] = ()  # all parts with a serial number; sent at intervals and after changes

    def when(self, at: float, now: float) -> float:
        """An event without a time gets the time of the report. No event is later than its report or before the
        epoch."""
        return min(max(at or self.at, 0.0), now)

    def dated(self, change: VerdictChange, now: float) -> VerdictChange:
        """The change with a valid time; most already have one."""
        at = self.when(change.at, now)
        return change if at == change.at else replace(change, at=at)

    def __post_init__(self) -> None:
        """Refuses values out of bounds, also when a report is decoded."""
        _require(0 < len(self.node) <= LONGEST_NAME, "node", f"1 to {LONGEST_NAME} characters")
        _require(0 < len(self.session) <= LONGEST_NAME, "session", f"1 to {LONGEST_NAME} characters")
        _require(0 <= self.seq <= LARGEST_SEQUENCE, "seq", f"0 to {LARGEST_SEQUENCE}")
        _require_time("at", self.at)
        _require(len(self.events) <= MOST_EVENTS, "events", f"at most {MOST_EVENTS}")
        _require(len(self.changes) <= MOST_CHANGES, "changes", f"at most {MOST_CHANGES}")
        _require(len(self.digest) <= LARGEST_DIGEST, "digest", f"at most {LARGEST_DIGEST} bytes")
        for event in self.events:
            _require_time("events.at", event.at)
            _require(0 <= event.count <= LARGEST_SEQUENCE, "events.count", f"0 to {LARGEST_SEQUENCE}")
            _require_short("events", (event.kind, event.subject, event.device), LONGEST_NAME)
            _require_short("events.text", (event.text, str(event.code or "")), LONGEST_TEXT)
            _require(len(event.detail) <= MOST_EVIDENCE, "events.detail", f"at most {MOST_EVIDENCE} entries")
            _require_short("events.detail", (*event.detail, *map(str, event.detail.values())), LONGEST_TEXT)
        for change in self.changes:
            if change.bounded:
                continue
            _require_time("changes.at", change.at)
            _require_short(
                "changes", (change.check, change.before, change.after, change.repair, *change.subjects), LONGEST_NAME
            )
            _require_short("changes", (change.reason, change.remedy, change.owner, *change.evidence), LONGEST_TEXT)
            _require(len(change.subjects) <= MOST_SUBJECTS, "changes.subjects", f"at most {MOST_SUBJECTS}")
            _require(len(change.evidence) <= MOST_EVIDENCE, "changes.evidence", f"at most {MOST_EVIDENCE}")
        _require(len(self.parts) <= MOST_PARTS, "parts", f"at most {MOST_PARTS}")
        for part in self.parts:
            _require_short("parts", (part.place, part.serial, part.model), LONGEST_NAME)
        _require(len(self.outcomes) <= MOST_OUTCOMES, "outcomes", f"at most {MOST_OUTCOMES}")
        for outcome in self.outcomes:
            _require_time("outcomes.began", outcome.began)
            rate = outcome.bytes_per_second or 0.0
            _require(isfinite(rate) and rate >= 0, "outcomes.bytes_per_second", "a finite number of at least 0")
            _require(0 <= outcome.order <= LARGEST_SEQUENCE, "outcomes.order", f"0 to {LARGEST_SEQUENCE}")
            _require_short(
                "outcomes", (outcome.verb, outcome.health, outcome.cause, outcome.suite, outcome.repair), LONGEST_NAME
            )
            _require_short("outcomes.reason", (outcome.reason, outcome.key, outcome.about), LONGEST_TEXT)
            _require(len(outcome.fingerprints) <= MOST_SUBJECTS, "outcomes.fingerprints", f"at most {MOST_SUBJECTS}")
            for one in outcome.fingerprints:
                _require_short("outcomes.fingerprints", (one.subject, one.kind, one.bits), LONGEST_NAME)
            _require_short("outcomes.document", (outcome.document,), LONGEST_DOCUMENT)
        _require(len(self.jobs or ()) <= MOST_JOBS, "jobs", f"at most {MOST_JOBS}")
        _require(len(self.progress) <= MOST_PROGRESS, "progress", f"at most {MOST_PROGRESS}")
        _require(len(self.keepers) <= MOST_KEEPERS, "keepers", f"at most {MOST_KEEPERS}")
        _require(len(self.unsaved) <= MOST_JOBS, "unsaved", f"at most {MOST_JOBS}")
        _require_short("unsaved", self.unsaved, LONGEST_NAME)
        for job in self.jobs or ():
            _require(0 < len(job.id) <= LONGEST_NAME, "jobs.id", f"1 to {LONGEST_NAME} characters")
            _require_time("jobs.start", job.start or 0.0)
            _require(0 <= (job.gpus or 0) <= MOST_SUBJECTS, "jobs.gpus", f"0 to {MOST_SUBJECTS}")


def _require(holds: bool, what: str, expected: str) -> None:
    if not holds:
        raise ValueError(f"report field {what}: expected {expected}")


def _require_time(what: str, at: float) -> None:
    _require(-LARGEST_TIME <= at <= LARGEST_TIME, what, "seconds since the epoch")  # no NaN either


def _require_short(what: str, texts: Iterable[str], longest: int) -> None:
    _require(all(len(text) <= longest for text in texts), what, f"at most {longest} characters each")
