"""Baseline window of the seams: a time span without open incidents, so that no fault is learned as normal."""

from collections.abc import Sequence

import numpy as np

from holdfast.model.panel import Panel, SignalTable
from holdfast.seams.moved import baseline_columns

BEFORE_SECONDS = 60.0  # a slow change begins before it is detected
ENOUGH = 1 / 3  # share of the window since the last incident, from which its own beginning is calm


class Baseline:
    def __init__(self) -> None:
        self.panel: Panel | None = None
        """The baseline from before the open incidents began; None while the beginning of the window is calm enough."""
        self._begins = 0.0  # start of the window while the baseline is frozen
        self._past: list[tuple[float, float]] = []  # times of closed incidents

    def window(self, panel: Panel) -> Panel:
        """The panel without an initial part in which an incident was open. A recurring fault would otherwise look
        normal."""
        begins = self._calm_beginning(panel) if self.panel is None else self._begins
        return panel.last(panel.now - begins)

    def over(self, since: float, now: float) -> None:
        self._past.append((since - BEFORE_SECONDS, now))

    def keep(self, panel: Panel, open_since: Sequence[float], learned: Panel | None = None) -> None:
        """Freezes the baseline while an incident is open. Otherwise a fault of hours would become normal and seem to
        have ended. It stays frozen until the window has a calm beginning again. `learned`: the stored baseline, for
        a window that began during a fault, as after a restart of the controller."""
        self._past = [(since, until) for since, until in self._past if until > panel.times[0]]
        if open_since and self.panel is None:
            self._begins = self._calm_beginning(panel)
            window = panel.last(panel.now - self._begins)
            if learned is not None and min(open_since) - BEFORE_SECONDS <= float(window.times[0]):
                self.panel = learned
                return
            first = float(window.times[min(baseline_columns(window.times), len(window.times) - 1)])
            self.panel = self._undisturbed(window.until(max(first, min(open_since) - BEFORE_SECONDS)))
        elif not open_since and panel.now - self._calm_beginning(panel) >= ENOUGH * (panel.now - panel.times[0]):
            self.panel = None

    def _calm_beginning(self, panel: Panel) -> float:
        begins = float(panel.times[0])
        for since, until in sorted(self._past):
            usual = baseline_columns(panel.last(panel.now - begins).times) * panel.step
            if since < begins + usual:
                begins = max(begins, min(until, panel.now))
        return begins

    def _undisturbed(self, panel: Panel) -> Panel:
        well = np.ones(len(panel.times), np.bool_)
        for since, until in self._past:
            well &= (panel.times < since) | (panel.times >= until)
        if well.all() or not well.any():
            return panel
        return Panel(
            panel.times[well],
            {name: SignalTable(one.subjects, one.values[:, well]) for name, one in panel.tables.items()},
        )
