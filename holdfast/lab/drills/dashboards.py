"""Dashboards of each team at a moment: current and usual values, and a sparkline."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from holdfast.model.panel import Panel, Values

BLOCKS = "▁▂▃▄▅▆▇"  # the block of the usual value
WIDTH = 20
USUAL_SECONDS = 600.0
MOST_LINES = 4  # sparklines of one signal


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardLine:
    team: str
    label: str
    signal: str
    how: str
    unit: str
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Shown:
    team: str
    label: str
    subject: str
    now: float
    usual: float
    unit: str
    spark: str

    @property
    def changed(self) -> float:
        """The change from the usual value, as a share of it."""
        return abs(self.now - self.usual) / max(abs(self.usual), 1e-9) if self.now == self.now else 0.0


@cache
def lines() -> tuple[DashboardLine, ...]:
    text = files("holdfast.lab.drills").joinpath("dashboards.toml").read_text(encoding="utf-8")
    return tuple(DashboardLine(**table) for table in tomllib.loads(text)["line"])


def dashboards(panel: Panel) -> list[Shown]:
    """Dashboards of a panel at its last moment; teams are in the order of the file."""
    found: list[Shown] = []
    for line in lines():
        table = panel.of(line.signal)
        if not table.subjects or not len(panel.times):
            continue
        values = table.values * line.scale
        if line.how == "each":
            rows = [_shown(line, subject, values[place], panel) for place, subject in enumerate(table.subjects)]
            found += sorted(rows, key=lambda row: -row.changed)[:MOST_LINES]
        else:
            subject, row = _one(line.how, table.subjects, values)
            found.append(_shown(line, subject, row, panel))
    return found


def _one(how: str, subjects: tuple[str, ...], values: Values) -> tuple[str, Values]:
    if how == "count":
        return "", (np.nan_to_num(values) != 0).sum(axis=0).astype(np.float32)
    last = values[:, -1]
    if how == "mean" or np.isnan(last).all():
        return "", _over(how, values)
    place = int(np.nanargmax(last) if how == "highest" else np.nanargmin(last))
    return subjects[place], _over(how, values)


def _over(how: str, values: Values) -> Values:
    """Aggregates over all subjects at each moment; NaN where no subject has a reading."""
    blind = np.isnan(values).all(axis=0)
    filled = np.where(blind, np.float32(0), values)
    found: Values
    if how == "mean":
        found = np.nanmean(filled, axis=0)
    else:
        found = np.nanmax(filled, axis=0) if how == "highest" else np.nanmin(filled, axis=0)
    return np.where(blind, np.float32(np.nan), found).astype(np.float32)


def _shown(line: DashboardLine, subject: str, row: Values, panel: Panel) -> Shown:
    seen = row[~np.isnan(row)]
    early = row[: max(1, int(USUAL_SECONDS / panel.step))]
    early = early[~np.isnan(early)]
    usual = float(np.median(early if len(early) else seen)) if len(seen) else float("nan")
    return Shown(
        line.team, line.label, subject, float(row[-1]), usual, line.unit, spark(row, usual) if len(seen) else ""
    )


def spark(row: Values, usual: float) -> str:
    """Draws a line of blocks. The usual value is in the middle, unless the signal moved by more than a fifth."""
    parts = np.array_split(row, min(WIDTH, len(row)))
    means = [float(np.mean(part[~np.isnan(part)])) if not np.isnan(part).all() else None for part in parts]
    known = [value for value in means if value is not None]
    reach = max(0.2 * abs(usual), *(abs(value - usual) for value in known), 1e-9)
    return "".join(" " if value is None else BLOCKS[round(3 + 3 * (value - usual) / reach)] for value in means)
