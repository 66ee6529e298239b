"""API views of the seams, and the signals that clients report: job steps, transfers of a service."""

from dataclasses import dataclass
from math import isfinite

from holdfast.catalog import seam_signals

MOST_SAMPLES = 2_000
MOST_GAPS = 200
LONGEST_NAME = 255
OLDEST_SECONDS = 7_200.0
WORK_DOMAINS = ("cooling", "power", "fabric", "storage", "software", "serving", "schedule", "sensor")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeamView:
    name: str
    asks: str
    kinds: tuple[str, ...]
    reads: tuple[str, ...]
    domains: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """State of a source of another domain."""

    name: str
    carries: tuple[str, ...]
    read_at: float | None = None
    values: int = 0
    blind: str = ""
    """Why nothing can be read at all."""
    blind_since: float | None = None
    absent: tuple[str, ...] = ()
    """What of it cannot be read, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeamsView:
    watched: bool
    """False where the controller has no [seams] in its configuration."""
    seams: tuple[SeamView, ...] = ()
    sources: tuple[SourceView, ...] = ()
    signals: int = 0
    """Kinds of signals in the window."""
    subjects: int = 0
    evaluated_at: float | None = None
    trouble: str = ""
    """Why the last evaluation failed."""
    planned: tuple[str, ...] = ()
    """Findings that announced work accounts for now: 'cdu/c2 cooling.flow_low: filter change'."""
    gaps: tuple[str, ...] = ()
    """Of the topology: names that no source reports, and nodes that are in no edge."""
    more_gaps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWorkView:
    """Announced work: its subjects and times. Findings that it explains open no incident."""

    name: str
    subjects: tuple[str, ...]
    start: float
    end: float
    what: str = ""
    source: str = "api"

    def __post_init__(self) -> None:
        if not 0 < len(self.name.strip()) <= LONGEST_NAME or "/" in self.name:
            raise ValueError("name: expected 1 to 255 characters without a slash")
        if not 0 < len(self.subjects) <= MOST_SAMPLES:
            raise ValueError(f"subjects: expected 1 to {MOST_SAMPLES}")
        if any(not 0 < len(one) <= LONGEST_NAME or "/" not in one for one in self.subjects):
            raise ValueError("subjects: expected addresses such as cdu/c2 or rack/r1")
        if not (isfinite(self.start) and isfinite(self.end) and self.end > self.start):
            raise ValueError("end: expected a time after start")
        if self.what and self.what not in WORK_DOMAINS:
            raise ValueError(f"what: expected one of {', '.join(WORK_DOMAINS)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWorksView:
    planned: tuple[PlannedWorkView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalSample:
    subject: str
    name: str
    value: float
    age_seconds: float = 0.0
    """How long ago it was measured: no clock but ours is needed."""

    def __post_init__(self) -> None:
        if not 0 < len(self.subject) <= LONGEST_NAME or "/" not in self.subject:
            raise ValueError("subject: expected an address such as job/llama or path/prefill-decode")
        if not seam_signals.known(self.name):
            raise ValueError(f"name: {self.name[:80]!r} is not one of the signals in docs/facility.md")
        if not isfinite(self.value):
            raise ValueError("value: expected a finite number")
        if not 0 <= self.age_seconds <= OLDEST_SECONDS:
            raise ValueError(f"age_seconds: expected 0 to {OLDEST_SECONDS:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedEvent:
    subject: str
    kind: str
    text: str = ""
    age_seconds: float = 0.0
    version: str = ""

    def __post_init__(self) -> None:
        if not 0 < len(self.subject) <= LONGEST_NAME or "/" not in self.subject:
            raise ValueError("subject: expected an address such as switch/leaf1")
        if not 0 < len(self.kind) <= LONGEST_NAME or len(self.text) + len(self.version) > 4_096:
            raise ValueError("kind and text: expected at most 255 and 4096 characters")
        if not 0 <= self.age_seconds <= OLDEST_SECONDS:
            raise ValueError(f"age_seconds: expected 0 to {OLDEST_SECONDS:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalsRequest:
    signals: tuple[SignalSample, ...] = ()
    events: tuple[ReportedEvent, ...] = ()
    cadence_seconds: float = 10.0
    """How often these are sent: a value holds two and a half times as long."""

    def __post_init__(self) -> None:
        if not 0 < len(self.signals) + len(self.events) <= MOST_SAMPLES:
            raise ValueError(f"signals: expected 1 to {MOST_SAMPLES}")
        if not 0 < self.cadence_seconds <= OLDEST_SECONDS:
            raise ValueError(f"cadence_seconds: expected more than 0 and at most {OLDEST_SECONDS:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalsTaken:
    taken: int
    absurd: tuple[str, ...] = ()
    """Values that cannot be; they count as not seen."""
