"""The business context of incidents: prices, milestones with their jobs, and on-call names. One TOML file."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from holdfast.config.tables import Document
from holdfast.economics.costs.finding import Prices
from holdfast.model.settings import SettingsError

T = TypeVar("T")
LONGEST_HORIZON_HOURS = 24.0 * 366


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    name: str
    due: datetime
    float_days: float = 0.0
    """Days that its runs may be late before the date is."""
    value_per_day: float | None = None
    """What a day's delay costs. Without it a slip is given in days, not in money."""
    critical_chance: float = 1.0

    def __post_init__(self) -> None:
        _at_least_0(self, "float_days", "value_per_day")
        _share(self, "critical_chance")
        if self.due.tzinfo is None:
            raise ValueError(f"due: expected a time with its zone, such as 2026-12-01T00:00:00Z, found {self.due}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BusinessJob:
    name: str
    """As in the topology: llama is job/llama, pool/decode is a pool."""
    gpus: float | None = None
    tokens_per_second: float | None = None
    milestone: str = ""

    def __post_init__(self) -> None:
        _at_least_0(self, "gpus", "tokens_per_second")

    @property
    def subject(self) -> str:
        return self.name if "/" in self.name else f"job/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BusinessContext:
    prices: Prices = field(default_factory=Prices)
    horizon_hours: float = 24.0
    """Hours beyond now for which an incident is priced."""
    jobs: Mapping[str, BusinessJob] = field(default_factory=dict)
    milestones: Mapping[str, Milestone] = field(default_factory=dict)
    on_call: Mapping[str, str] = field(default_factory=dict)
    """By the names that the topology's owners have: who to call, and how."""

    def milestone_of(self, subject: str) -> Milestone | None:
        job = self.jobs.get(subject)
        return self.milestones.get(job.milestone) if job is not None else None


def parse(text: str, origin: str) -> BusinessContext:
    """Parses the file. All mistakes are reported at once, each with its line."""
    document = Document(text, origin)
    mistakes: list[str] = []
    raw = document.raw

    def tried(make: Callable[[], T], otherwise: T) -> T:
        try:
            return make()
        except (SettingsError, ValueError) as error:
            mistakes.append(str(error))
            return otherwise

    known = ("prices", "horizon_hours", "job", "milestone", "on_call")
    tried(lambda: bool(document.only(raw, known, "")), False)
    context = BusinessContext(
        prices=tried(lambda: document.fill(Prices, raw.get("prices", {}), "prices"), Prices()),
        horizon_hours=tried(lambda: _horizon(document), 24.0),
        jobs={one.subject: one for one in _each(document, BusinessJob, "job", tried)},
        milestones={one.name: one for one in _each(document, Milestone, "milestone", tried)},
        on_call=tried(lambda: _on_call(document), {}),
    )
    mistakes += _loose_ends(document, context)
    if mistakes:
        raise SettingsError("; ".join(mistakes))
    return context


def _each(document: Document, kind: type[T], name: str, tried: Callable[[Callable[[], Any], Any], Any]) -> list[T]:
    tables = document.raw.get(name, [])
    if not isinstance(tables, list):
        tables = [tables]
    found = []
    for number, table in enumerate(tables):
        one = tried(partial(document.fill, kind, table, f"{name}[{number}]"), None)
        found += [one] if one is not None else []
    return found


def _on_call(document: Document) -> dict[str, str]:
    table = document.raw.get("on_call", {})
    if not isinstance(table, dict):
        raise document.refuse("", "on_call", f"expected a table, found {table!r}")
    for team, who in table.items():
        if not isinstance(who, str) or not who.strip():
            raise document.refuse("on_call", team, f"expected an on-call contact, found {who!r}")
    return table


def _horizon(document: Document) -> float:
    found = document.raw.get("horizon_hours", 24.0)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= LONGEST_HORIZON_HOURS:
        raise document.refuse("", "horizon_hours", f"expected hours above 0, found {found!r}")
    return float(found)


def _loose_ends(document: Document, context: BusinessContext) -> list[str]:
    """References to something that does not exist, or that is named twice."""
    found = []
    for number, table in enumerate(_tables(document, "job")):
        wanted = table.get("milestone", "")
        known = ", ".join(sorted(context.milestones)) or "none"
        if wanted and wanted not in context.milestones:
            why = f"no milestone is called {wanted!r}; known: {known}"
            found.append(str(document.refuse(f"job[{number}]", "milestone", why)))
    for name in ("job", "milestone"):
        counted = Counter(str(table.get("name", "")) for table in _tables(document, name))
        found += [f"{document.origin}: {name}: {twice!r} is listed twice" for twice, n in counted.items() if n > 1]
    return found


def _tables(document: Document, name: str) -> list[dict[str, Any]]:
    found = document.raw.get(name, [])
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _at_least_0(of: object, *names: str) -> None:
    for name in names:
        value = getattr(of, name)
        if value is not None and not 0 <= value < float("inf"):
            raise ValueError(f"{_called(of)}{name}: expected 0 or more, found {value:g}")


def _share(of: object, name: str) -> None:
    if not 0 <= getattr(of, name) <= 1:
        raise ValueError(f"{_called(of)}{name}: expected a share from 0 to 1, found {getattr(of, name):g}")


def _called(of: Any) -> str:
    """The entry's name for an error message."""
    named = next((getattr(of, one.name) for one in fields(of) if one.name == "name"), "")
    return f"{named}: " if named else ""
