"""Evidence on one clock: completes years, finds hosts, and removes what the run survived."""

import calendar
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from holdfast.catalog import causes
from holdfast.catalog.job_errors import of_kernel_event
from holdfast.model.evidence import Evidence

YEARLESS = 1972  # the year that readers give to stamps without one
_BETWEEN_WORDS = re.compile(r"[^0-9A-Za-z]+")
_MOST_EDGES = 40
SURVIVED_STEPS = 5  # the run made so many steps after it: it was not what ended it
_NEVER_SURVIVED = (
    "steps",
    "nccl.plugin",
    "exit",
    "slurm",
    "kubernetes",
)  # what the run does while it goes on, or its end
_LOOKUP_ERRORS = frozenset({"KeyError", "AttributeError", "IndexError", "StopIteration", "LookupError"})


def prepared(evidence: Sequence[Evidence]) -> list[Evidence]:
    placed = _with_hosts([*evidence])
    year = _year(placed)
    dated = [_in_year(one, year) for one in placed]
    return sorted(dated, key=lambda one: (one.at or float("inf"), one.file, one.event.line))


def _year(evidence: Sequence[Evidence]) -> int | None:
    years = Counter(_moment(one.at).year for one in evidence if one.at)
    reported = {year: count for year, count in years.items() if year > YEARLESS}
    return max(reported, key=lambda year: reported[year], default=None)


def _in_year(one: Evidence, year: int | None) -> Evidence:
    if year is None or _moment(one.at).year != YEARLESS:
        return one
    moment = _moment(one.at)
    try:
        at = calendar.timegm(moment.replace(year=year).timetuple()) + moment.microsecond / 1e6
    except ValueError:  # the 29th of February of another year
        return one
    return replace(one, event=replace(one.event, at=at))


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _with_hosts(evidence: list[Evidence]) -> list[Evidence]:
    """A line that does not name its host takes the one that its rank, or its file, belongs to."""
    of_rank = {one.rank: one.host for one in evidence if one.rank is not None and one.host}
    known = {one.host for one in evidence if one.host}
    of_file: dict[str, Counter[str]] = {}
    for one in evidence:
        if one.host:
            of_file.setdefault(one.file, Counter())[one.host] += 1
    placed = []
    for one in evidence:
        if not one.host:
            host = of_rank.get(one.rank, "") if one.rank is not None else ""
            host = host or _named_in(one.file, known) or _only(of_file.get(one.file))
            one = replace(one, host=host) if host else one
        placed.append(one)
    return placed


def _named_in(file: str, hosts: set[str]) -> str:
    """The longest host that the file or one of its folders is named after, as a word or several."""
    fitting = [name for part in file.split("/")[-3:] for name in _names_in(part) if name in hosts]
    return max(fitting, key=len, default="")


def _names_in(part: str) -> Iterator[str]:
    """Every run of words of a file's name: of a-1.log these are a, a-1, a-1.log, 1, 1.log and log."""
    edges = [0, *(place for match in _BETWEEN_WORDS.finditer(part) for place in match.span()), len(part)]
    for first in range(0, min(len(edges), _MOST_EDGES), 2):
        for last in range(first + 1, min(len(edges), _MOST_EDGES), 2):
            yield part[edges[first] : edges[last]]


def _only(hosts: Counter[str] | None) -> str:
    return next(iter(hosts)) if hosts and len(hosts) == 1 else ""


def with_named_origins(evidence: Sequence[Evidence]) -> list[Evidence]:
    """A follower that names its origin stands for it where the origin's own line is not in what was given."""
    seen = {str(one.event.code) for one in evidence if one.event.kind == "xid"}
    return [_as_its_origin(one) if one.word("caused_by") not in {"", *seen} else one for one in evidence]


def _as_its_origin(one: Evidence) -> Evidence:
    if one.event.kind != "xid" or one.role != "effect":
        return one
    origin = of_kernel_event("xid", one.word("caused_by"), "fatal")
    return replace(one, role="likely", cause=origin.cause) if origin.cause.startswith("gpu.") else one


def without_followers(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Of exceptions raised one from the other, the first tells the cause, unless it was only a failed look-up."""
    reported: dict[tuple[str, int | None], int] = {}
    kept: list[Evidence] = []
    failed_tasks = {one.file for one in evidence if one.event.kind == "slurm" and one.role == "exit"}
    for one in sorted(evidence, key=lambda item: (item.file, item.event.line)):
        process = (one.file, one.rank)
        if one.event.kind == "exception" and one.word("chained") and process in reported:
            first = kept[reported[process]]
            if _is_failed_lookup(first, one):
                kept[reported[process]] = replace(first, role="effect", cause="")
                reported[process] = len(kept)
            else:
                one = replace(one, role="effect", cause="")
        elif one.event.kind == "slurm" and one.event.code == "cancelled" and one.file in failed_tasks:
            one = replace(one, role="effect", cause="")  # srun ends the others when one task fails
        elif one.event.kind == "exception" and one.cause:
            reported[process] = len(kept)
        kept.append(one)
    return sorted(kept, key=lambda item: (item.at or float("inf"), item.file, item.event.line))


def _is_failed_lookup(first: Evidence, then: Evidence) -> bool:
    """A key that is not there is asked for and made: what fails while it is made is the cause."""
    is_lookup = str(first.event.code) in _LOOKUP_ERRORS and str(then.event.code) not in _LOOKUP_ERRORS
    return is_lookup and then.word("chained") == "handling" and bool(then.cause)


def _only_slows(one: Evidence) -> bool:
    """What a run goes on with, but slowly."""
    return bool(one.cause) and causes.find(one.cause).failure_class == "slowdown" and one.event.kind == "problem"


def survived(one: Evidence, done: dict[str, int], connected: dict[str, int] | None = None) -> bool:
    """Whether the run went on after it as if nothing had been: handled, or words in a sample of the data."""
    if one.role == "note" or one.event.kind in _NEVER_SURVIVED or _only_slows(one):
        return False
    if one.event.line < done.get(one.file, 0):
        return True
    if one.event.code == "call_failed" and one.event.line < (connected or {}).get(one.file, 0):
        return True
    if one.role == "effect" and one.file in done:  # processes that end after the work is done close their connections
        return True
    return (one.number("steps_after") or 0) >= SURVIVED_STEPS
