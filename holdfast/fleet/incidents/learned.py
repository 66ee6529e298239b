"""Learned baseline: the normal range of every instrument by time of day, learned in calm times and stored.

The window is lost with the process. The stored values reveal a fault that began before the controller.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from holdfast.catalog.seam_signals import signals
from holdfast.model.panel import Panel, SignalTable, Values

SLOTS = 8  # slots per day: three hours each
DAY_SECONDS = 86_400.0
LEARN_SECONDS = 600.0  # one lesson uses the last ten minutes
RATE = 0.2  # weight of a new lesson
LEAST_SEEN = 0.5  # share of the columns that a lesson needs
SAMPLES = np.array([-1.5, -1.0, -0.67, -0.4, -0.2, -0.05, 0.05, 0.2, 0.4, 0.67, 1.0, 1.5], np.float32)
"""Sample points in deviations, which represent the usual noise of a row."""
NOT_LEARNED = ("gpu_clock_event_reasons",)  # bits have no median


@dataclass
class _Usual:
    places: dict[str, int]
    center: Values  # [row, slot]
    spread: Values

    def grow(self, subjects: tuple[str, ...]) -> None:
        new = [one for one in subjects if one not in self.places]
        if new:
            self.places |= {one: len(self.places) + number for number, one in enumerate(new)}
            empty = np.full((len(new), SLOTS), np.nan, np.float32)
            self.center, self.spread = (np.concatenate([old, empty]) for old in (self.center, self.spread))


class LearnedBaseline:
    def __init__(self) -> None:
        self._signals: dict[str, _Usual] = {}
        self._learned_at: float | None = None

    @property
    def known(self) -> int:
        """Number of instruments with a learned baseline."""
        return sum(len(one.places) for one in self._signals.values())

    def learn(self, panel: Panel) -> bool:
        """Learns from the panel, at most every ten minutes. The caller ensures that no incident is open."""
        if self._learned_at is not None and panel.now - self._learned_at < LEARN_SECONDS:
            return False
        if panel.now - float(panel.times[0]) < LEARN_SECONDS:
            return False
        self._learned_at = panel.now
        slot = _slot(panel.now)
        for name, table in panel.last(LEARN_SECONDS).tables.items():
            if name in signals() and name not in NOT_LEARNED and table.subjects:
                self._lesson(name, table, slot)
        return True

    def _lesson(self, name: str, table: SignalTable, slot: int) -> None:
        empty = np.empty((0, SLOTS), np.float32)
        usual = self._signals.setdefault(name, _Usual({}, empty, empty))
        usual.grow(table.subjects)
        rows = np.array([usual.places[one] for one in table.subjects])
        seen = np.isfinite(table.values).mean(axis=1) >= LEAST_SEEN
        values = np.where(np.isfinite(table.values[seen]), table.values[seen], np.nan)
        if not len(values):
            return
        center = np.nanmedian(values, axis=1)
        spread = 1.4826 * np.nanmedian(np.abs(values - center[:, None]), axis=1)
        for stored, lesson in ((usual.center, center), (usual.spread, spread)):
            before = stored[rows[seen], slot]
            stored[rows[seen], slot] = np.where(np.isnan(before), lesson, before + RATE * (lesson - before))

    def panel(self, like: Panel) -> Panel | None:
        """The learned values for this time of day, as a baseline for the rows of a window; None if nothing is known."""
        slot = _slot(like.now)
        tables = {}
        for name, table in like.tables.items():
            usual = self._signals.get(name)
            mine = tuple(one for one in table.subjects if usual is not None and one in usual.places)
            if usual is None or not mine:
                continue
            rows = [usual.places[one] for one in mine]
            center, spread = (_at(one[rows], slot) for one in (usual.center, usual.spread))
            known = np.isfinite(center)
            values = (center[known, None] + np.nan_to_num(spread[known])[:, None] * SAMPLES).astype(np.float32)
            tables[name] = SignalTable(tuple(one for one, yes in zip(mine, known, strict=True) if yes), values)
        return Panel(like.now + 10.0 * np.arange(len(SAMPLES), dtype=np.float64), tables) if tables else None

    def documents(self) -> dict[str, str]:
        """The learned baseline as JSON texts to store, by signal."""
        return {
            name: json.dumps(
                {"subjects": list(one.places), "center": _packed(one.center), "spread": _packed(one.spread)}
            )
            for name, one in self._signals.items()
        }

    def load(self, documents: Mapping[str, str]) -> None:
        """Loads stored documents. A document that cannot be read counts as missing."""
        for name, text in documents.items():
            try:
                body = json.loads(text)
                center, spread = (_unpacked(body[key], len(body["subjects"])) for key in ("center", "spread"))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
            self._signals[name] = _Usual({one: row for row, one in enumerate(body["subjects"])}, center, spread)


def _slot(at: float) -> int:
    return int(at % DAY_SECONDS // (DAY_SECONDS / SLOTS))


def _at(values: Values, slot: int) -> Values:
    """The values of this time of day, or of the nearest earlier one with data."""
    found = values[:, slot].copy()
    for back in range(1, SLOTS):
        found = np.where(np.isnan(found), values[:, (slot - back) % SLOTS], found)
    return found


def _packed(values: Values) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


def _unpacked(text: str, rows: int) -> Values:
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(rows, SLOTS).astype(np.float32)
