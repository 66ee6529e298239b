"""A node's reason and history as text. Related entries share a line; `--json` has every entry."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from holdfast.config.quantities import lasting

MOST_NAMED = 6
SILENT_SECONDS = 60.0  # two heartbeats
_INTERMEDIATE = ("proposed", "claimed")

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PrintedLine:
    at: float
    kind: str
    what: str
    why: str


def lines(entries: Sequence[Entry]) -> list[PrintedLine]:
    """Lines of these entries, oldest first.

    First verdicts are only counted; an action and its outcome share one line.
    """
    shown = _without_steps(entries)
    return [line for first, run in groupby(shown, _is_first_verdict) for line in _run(first, list(run))]


def _run(first: bool, run: Sequence[Entry]) -> Iterator[PrintedLine]:
    if first and len(run) > 1:
        yield _counted(run)
        return
    for entry in run:
        yield PrintedLine(entry["at"], entry["kind"], entry["title"], entry["detail"])


def _is_first_verdict(entry: Entry) -> bool:
    return entry["kind"] == "verdict" and not entry["facts"].get("before")


def _counted(run: Sequence[Entry]) -> PrintedLine:
    healths = Counter(str(entry["facts"].get("after")) for entry in run)
    what = f"{len(run)} checks: {', '.join(f'{count} {health}' for health, count in healths.most_common())}"
    return PrintedLine(run[-1]["at"], "verdict", what, "; ".join(_named(run)))


def _named(run: Sequence[Entry]) -> Iterator[str]:
    """The checks that did not pass, by name."""
    other: dict[str, list[str]] = {}
    for entry in run:
        if entry["facts"].get("after") not in ("pass", "not_applicable"):
            other.setdefault(str(entry["facts"].get("after")), []).append(str(entry["facts"].get("check")))
    for health, checks in other.items():
        more = f" and {len(checks) - MOST_NAMED} more" if len(checks) > MOST_NAMED else ""
        yield f"{health}: {', '.join(sorted(checks)[:MOST_NAMED])}{more}"


def _without_steps(entries: Iterable[Entry]) -> list[Entry]:
    """Keeps the last state of each action and leaves out that it was proposed and claimed."""
    entries = list(entries)
    last = {entry["facts"].get("action"): number for number, entry in enumerate(entries) if entry["kind"] == "action"}
    return [
        entry
        for number, entry in enumerate(entries)
        if entry["kind"] != "action"
        or last[entry["facts"].get("action")] == number
        or entry["facts"].get("state") not in _INTERMEDIATE
    ]


def why(node: Mapping[str, Any], now: float, factor: float = 1.0) -> str:
    """Why a node is in its stage: which fault, which job, how long without a report. `now` is the controller's clock;
    a demo's clock runs `factor` times as fast."""
    text = str(node["reason"])
    if node["stage"] == "allocated":
        text = f"runs {', '.join(node['jobs'])}" if node["jobs"] else text
    elif node["stage"] not in ("ready", "cleaning", "provisioning") and node["cause"]:
        text = f"{node['cause']}: {text}"
    if node["degraded_by"]:
        text += f"; degraded by {node['degraded_by']}"
    silent = now - (node["last_report_at"] or node["since"])
    return f"{text}; no report for {lasting(factor * silent)}" if silent > SILENT_SECONDS else text
