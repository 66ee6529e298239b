"""Varies a scenario: one value (`--set`) or many combinations (`--sweep`), and finds the best."""

import re
from collections.abc import Sequence
from itertools import product
from math import isfinite, nan
from typing import Any

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.planning.chart import ChartLine, PlanChart
from holdfast.economics.planning.formatting import percent
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.simulation.estimate import difference
from holdfast.economics.studies.replicas import Results
from holdfast.economics.studies.tasks import Changes
from holdfast.model.refusal import Refusal

SHORT = {
    "spares": "cluster.spares",
    "mttr": "repair.time",
    "crews": "repair.crews",
    "interval": "checkpoint.interval",
    "write": "checkpoint.write",
    "rate": "hazard.rate",
    "detect": "restart.detect",
    "days": "cluster.days",
}
POINTS = 5  # number of points without a named step
MOST_POINTS = 10_000
EXAMPLE = "such as spares=0:64:8, mttr=1h:3d or policy.service_degraded=fail|choose_last"
_KEY = re.compile(r"[a-z_]+(\[[0-9]+\])?(\.[a-z_]+)?")


def parse_change(text: str) -> tuple[str, Any]:
    key, value = _key_and_value("--set", text, "such as policy.spares=20")
    return key, as_toml(value)


def parse_sweep(text: str) -> list[Changes]:
    """Every combination of the values."""
    axes = []
    for part in text.split(","):
        key, values = _key_and_value("--sweep", part.strip(), EXAMPLE)
        axes.append([(key, value) for value in _values(key, values)])
    keys = [axis[0][0] for axis in axes]
    if len(set(keys)) < len(keys):
        raise Refusal("--sweep: the same key twice")
    found = list(product(*axes))
    if len(found) > MOST_POINTS:
        raise Refusal(f"--sweep: {len(found):,} combinations; expected at most {MOST_POINTS:,}")
    return found


def _key_and_value(flag: str, text: str, example: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not _KEY.fullmatch(key) or not value:
        raise Refusal(f"{flag}: expected KEY=VALUE {example}; found {text!r}")
    return SHORT.get(key, key), value


def as_toml(value: str) -> Any:
    """A number, true or false as in TOML, or else a text."""
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def _values(key: str, text: str) -> list[Any]:
    if ":" not in text:
        return [as_toml(one) for one in text.split("|")]
    ends = text.split(":")
    if len(ends) > 3:
        raise Refusal(f"--sweep: {key}: expected FROM:TO or FROM:TO:STEP, found {text!r}")
    numbers = [as_toml(end) for end in ends]
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers):
        if not all(isfinite(one) for one in numbers):
            raise Refusal(f"--sweep: {key}: expected numbers with an end, found {text!r}")
        whole = all(isinstance(one, int) for one in numbers)
        return [round(value) if whole else value for value in _between(key, [float(one) for one in numbers], False)]
    seconds = [PlanInputs().duration(key, end) for end in ends]
    return [f"{value:.6g}s" for value in _between(key, seconds, True)]


def _between(key: str, ends: Sequence[float], ratios: bool) -> list[float]:
    """Values between two ends, in steps. Without a step, a few points (of a duration with equal ratios)."""
    low, high = ends[0], ends[1]
    if high < low or (len(ends) == 3 and ends[2] <= 0):
        raise Refusal(f"--sweep: {key}: expected FROM below TO and a STEP above 0")
    if len(ends) == 3:
        count = int((high - low) / ends[2] + 1e-9) + 1
        if count > MOST_POINTS:
            raise Refusal(f"--sweep: {key}: {count:.6g} values; expected at most {MOST_POINTS:,}")
        return [low + ends[2] * number for number in range(count)]
    parts = [number / (POINTS - 1) for number in range(POINTS)]
    if ratios and low > 0:
        return [float(low * (high / low) ** part) for part in parts]
    return [low + (high - low) * part for part in parts]


def changes_text(changes: Changes) -> str:
    names = {key: short for short, key in SHORT.items()}
    return ", ".join(f"{names.get(key, key)}={value}" for key, value in changes)


def best_of(swept: list[Results]) -> tuple[Results, str]:
    """The setting with the most productive time, and whether it differs significantly from the next."""
    ranked = sorted(swept, key=lambda one: -one.figure("productive").mean)
    best = ranked[0]
    share = percent(best.figure("productive").mean)
    sentence = f"Best: {changes_text(best.setting.changes)}, with {share} of the paid time productive"
    if len(ranked) == 1:
        return best, sentence + "."
    found = difference(ranked[1].values("productive"), best.values("productive"))
    sure = "significantly" if found.significant else "not significantly"
    return best, f"{sentence}; {sure} better than {changes_text(ranked[1].setting.changes)} (p = {found.p:.3f})."


def document(swept: list[Results]) -> dict[str, Any]:
    _, sentence = best_of(swept)
    return {
        "verdict": sentence,
        "replicas": len(swept[0].outcomes),
        "points": [
            {
                "changes": dict(one.setting.changes),
                **{name: one.figure(name).document() for name in ("productive", "ettr", "interruptions")},
                "ledger": {part: one.share(part).document() for part in one.parts},
            }
            for one in swept
        ],
    }


def refuse_text_axis(first: tuple[str, Any]) -> None:
    """The x axis of a chart needs a number or a time."""
    key, value = first
    try:
        number = float(value) if not isinstance(value, str) else PlanInputs().duration(key, value)
    except BadNumber:
        number = nan
    if not isfinite(number):
        raise Refusal(f"--plot: {key} has text values, and the x axis needs numbers; expected a key with numbers first")


def chart(swept: list[Results]) -> PlanChart:
    """The first key is the x axis; every combination of the others is a line."""
    lines: dict[str, list[tuple[float, float]]] = {}
    key = swept[0].setting.changes[0][0]
    for one in swept:
        (_, value), *rest = one.setting.changes
        at = PlanInputs().duration(key, value) / 3600 if isinstance(value, str) else float(value)
        lines.setdefault(changes_text(tuple(rest)), []).append((at, one.figure("productive").mean))
    unit = " (hours)" if isinstance(swept[0].setting.changes[0][1], str) else ""
    return PlanChart(
        title=swept[0].setting.parsed().scenario.title,
        across=changes_text(((key, ""),)).rstrip("=") + unit,
        up="productive share of paid time",
        lines=tuple(ChartLine(name, tuple(points)) for name, points in lines.items()),
    )
