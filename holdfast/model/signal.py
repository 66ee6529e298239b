"""Signals (measured values), events (occurrences), and the reading that carries both from a source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.model.subject import Subject

Value = float | str  # numbers are measured; strings are identities (driver version, serial)
_YEAR_2100 = 4_102_444_800.0


def usable_time(at: float) -> float:
    """Seconds since the epoch; 0.0 for an impossible time, such as digits that look like a time stamp."""
    return at if 0.0 < at < _YEAR_2100 else 0.0


class Signal(NamedTuple):
    """A measured quantity of a subject. The name ends in its unit, Prometheus style."""

    subject: Subject
    name: str
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, with its source text. Equal messages in a storm are one event with a count."""

    kind: str  # xid, sxid, aer, mlx5, oom, ...: see docs/events.md
    at: float  # seconds since the epoch; 0.0 if the text has no usable time
    text: str
    subject: Subject = ""  # filled if the source knows it; otherwise the inventory resolves `device`
    device: str = ""  # the address the text names, normalised: '0000:9b:00', 'mlx5_4', 'sda'
    code: int | str | None = None
    severity: str = ""  # fatal, nonfatal, correctable, warning, info
    action: str = ""  # the catalog's class: reset_gpu, restart_node, restart_app, ignore, ...
    count: int = 1
    line: int = 0  # line of the file it was first seen in, 0 for a stream
    detail: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of one read of one source."""

    source: str
    at: float
    signals: tuple[Signal, ...] | list[Signal] = ()
    events: tuple[Event, ...] | list[Event] = ()
    absent: Mapping[tuple[Subject, str], str] = field(default_factory=dict)
    """Why a signal that could be there is not: 'not supported by this GPU', 'permission denied'."""
    present: tuple[Subject, ...] | list[Subject] = ()
    """Subjects seen to exist by this source, readable or not."""
    blind: str = ""
    """Set when the whole source sees nothing: the reason, as one sentence for an operator."""
