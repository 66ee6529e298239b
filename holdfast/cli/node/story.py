"""A node's story as lines for people: what belongs together is one line. `--json` has every entry."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

MOST_NAMED = 6
_ON_THE_WAY = ("proposed", "claimed")

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    at: float
    kind: str
    what: str
    why: str


def lines(entries: Sequence[Entry]) -> list[Line]:
    """Of entries oldest first. First verdicts are counted, and an action is told when it came to its end."""
    told = _without_steps(entries)
    return [line for first, run in groupby(told, _is_first_verdict) for line in _run(first, list(run))]


def _run(first: bool, run: Sequence[Entry]) -> Iterator[Line]:
    if first and len(run) > 1:
        yield _counted(run)
        return
    for entry in run:
        yield Line(entry["at"], entry["kind"], entry["title"], entry["detail"])


def _is_first_verdict(entry: Entry) -> bool:
    return entry["kind"] == "verdict" and not entry["facts"].get("before")


def _counted(run: Sequence[Entry]) -> Line:
    healths = Counter(str(entry["facts"].get("after")) for entry in run)
    what = f"{len(run)} checks: {', '.join(f'{count} {health}' for health, count in healths.most_common())}"
    return Line(run[-1]["at"], "verdict", what, "; ".join(_named(run)))


def _named(run: Sequence[Entry]) -> Iterator[str]:
    """What did not pass, by name."""
    other: dict[str, list[str]] = {}
    for entry in run:
        if entry["facts"].get("after") not in ("pass", "not_applicable"):
            other.setdefault(str(entry["facts"].get("after")), []).append(str(entry["facts"].get("check")))
    for health, checks in other.items():
        more = f" and {len(checks) - MOST_NAMED} more" if len(checks) > MOST_NAMED else ""
        yield f"{health}: {', '.join(sorted(checks)[:MOST_NAMED])}{more}"


def _without_steps(entries: Iterable[Entry]) -> list[Entry]:
    """Of each action only the last that is known: that it was proposed and claimed goes without saying."""
    entries = list(entries)
    last = {entry["facts"].get("action"): number for number, entry in enumerate(entries) if entry["kind"] == "action"}
    return [
        entry
        for number, entry in enumerate(entries)
        if entry["kind"] != "action"
        or last[entry["facts"].get("action")] == number
        or entry["facts"].get("state") not in _ON_THE_WAY
    ]
