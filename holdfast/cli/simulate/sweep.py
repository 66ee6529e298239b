"""Values other than the file's: one (`--set`), or many to go through (`--sweep`)."""

import re
from collections.abc import Sequence
from itertools import product
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from holdfast.cli.simulate.show import share as as_share
from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.planning.inputs import Asked
from holdfast.economics.planning.words import percent
from holdfast.economics.simulation.estimate import difference
from holdfast.economics.studies.replicas import Results
from holdfast.economics.studies.tasks import Changes
from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    from holdfast.economics.planning.chart import Chart

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
POINTS = 5  # between two ends, where no step is named
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
    """A number where it is one; yes and no as TOML says them; else a text."""
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
    seconds = [Asked().duration(key, end) for end in ends]
    return [f"{value:.6g}s" for value in _between(key, seconds, True)]


def _between(key: str, ends: Sequence[float], ratios: bool) -> list[float]:
    """By steps; without one, a few points: of a duration at equal ratios."""
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


def said(changes: Changes) -> str:
    names = {key: short for short, key in SHORT.items()}
    return ", ".join(f"{names.get(key, key)}={value}" for key, value in changes)


def best_of(swept: list[Results]) -> tuple[Results, str]:
    """The one with the most productive time, and whether it is told apart from the next."""
    ranked = sorted(swept, key=lambda one: -one.figure("productive").mean)
    best = ranked[0]
    sentence = (
        f"Best: {said(best.setting.changes)}, with {percent(best.figure('productive').mean)} of what is paid productive"
    )
    if len(ranked) == 1:
        return best, sentence + "."
    found = difference(ranked[1].values("productive"), best.values("productive"))
    sure = "significantly" if found.significant else "not significantly"
    return best, f"{sentence}; {sure} better than {said(ranked[1].setting.changes)} (p = {found.p:.3f})."


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


def show(swept: list[Results]) -> None:
    from holdfast.cli.shared.table import console, table

    out = console()
    best, sentence = best_of(swept)
    out.print(sentence, style="bold", markup=False, soft_wrap=True)
    out.print()
    keys = [said(((key, ""),)).rstrip("=") for key, _ in swept[0].setting.changes]
    rows = table(*keys, "productive", "95 %", "ETTR", "waiting", "idle", "")
    for one in swept:
        share = one.figure("productive")
        rows.add_row(
            *(str(value) for _, value in one.setting.changes), percent(share.mean),
            f"{as_share(share.low)} to {as_share(share.high)}" if share.replicas > 1 else "",
            percent(one.figure("ettr").mean), percent(one.share("waiting").mean), percent(one.share("idle").mean),
            "best" if one is best else "",
        )  # fmt: skip
    out.print(rows)
    out.print(f"\n{len(swept[0].outcomes)} replicas each, all with the same luck.")


def refuse_words(first: tuple[str, Any]) -> None:
    """What is across a picture must be a number or a time."""
    key, value = first
    try:
        number = float(value) if not isinstance(value, str) else Asked().duration(key, value)
    except BadNumber:
        number = nan
    if not isfinite(number):
        raise Refusal(f"--plot: {key} is a word, which has no place on an axis; expected a key with numbers first")


def chart(swept: list[Results]) -> "Chart":
    """The first key across, a line for each combination of the others."""
    from holdfast.economics.planning.chart import Chart, Line

    lines: dict[str, list[tuple[float, float]]] = {}
    key = swept[0].setting.changes[0][0]
    for one in swept:
        (_, value), *rest = one.setting.changes
        at = Asked().duration(key, value) / 3600 if isinstance(value, str) else float(value)
        lines.setdefault(said(tuple(rest)), []).append((at, one.figure("productive").mean))
    unit = " (hours)" if isinstance(swept[0].setting.changes[0][1], str) else ""
    return Chart(
        title=swept[0].setting.told().scenario.title,
        across=said(((key, ""),)).rstrip("=") + unit,
        up="productive share of what is paid",
        lines=tuple(Line(name, tuple(points)) for name, points in lines.items()),
    )
