"""Alerts that dashboards of single components would raise: the baseline that a drill compares findings with."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from holdfast.model.panel import Panel, Values

Yes = npt.NDArray[np.bool_]

RATED_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    signal: str
    for_seconds: float
    above: float | None = None
    below_rated: float | None = None


@dataclass(frozen=True, slots=True)
class Alert:
    at: float
    subject: str
    signal: str


@cache
def limits() -> tuple[Limit, ...]:
    text = files("holdfast.lab.drills").joinpath("alerts.toml").read_text(encoding="utf-8")
    return tuple(Limit(**table) for table in tomllib.loads(text)["alert"])


def alerts(panel: Panel) -> list[Alert]:
    """The first alert of each subject and signal, in order of time."""
    found = []
    for limit in limits():
        table = panel.of(limit.signal)
        if not table.subjects:
            continue
        columns = _held(_beyond(limit, table.values, panel), max(1, round(limit.for_seconds / panel.step) + 1))
        for place in np.flatnonzero(columns.any(axis=1)):
            at = float(panel.times[int(columns[place].argmax())])
            found.append(Alert(at, table.subjects[place], limit.signal))
    return sorted(found, key=lambda alert: (alert.at, alert.subject))


def _beyond(limit: Limit, values: Values, panel: Panel) -> Yes:
    if limit.above is not None:
        return values > limit.above
    early = values[:, : max(1, int(RATED_SECONDS / panel.step))]
    rated = np.nanmedian(np.where(np.isnan(early).all(axis=1, keepdims=True), 0.0, early), axis=1)
    return values < (limit.below_rated or 0.0) * rated[:, None]


def _held(beyond: Yes, columns: int) -> Yes:
    """Marks the columns from which the condition has held for this many columns."""
    counted = np.cumsum(beyond, axis=1)
    before = np.zeros_like(counted)
    before[:, columns:] = counted[:, :-columns]
    held: Yes = np.greater_equal(counted - before, columns)
    return held
