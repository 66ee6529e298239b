"""Faulty and silent instruments of a panel."""

from dataclasses import replace

import numpy as np

from holdfast.lab.drills.wide.site import Floats
from holdfast.lab.drills.wide.stager import Situation
from holdfast.model.panel import Panel, SignalTable

GAP_SECONDS = 200.0
MAY_STICK = (
    "gpu_temperature_celsius", "cdu_flow_litres_per_minute", "cdu_supply_celsius", "rack_inlet_celsius"
)  # fmt: skip
CHANGES = 6  # changes of a reading, before and after the fault, from which on it counts as moving


def one_that_moves(panel: Panel, situation: Situation) -> Situation:
    """Moves a stuck-sensor fault to an instrument whose reading changes: on a constant reading nothing would show."""
    lie, signal, subject, since = situation.sensor
    if lie != "stuck":
        return situation
    late = panel.times >= since
    if _changes(panel.tables[signal], late)[panel.tables[signal].index[subject]] >= CHANGES:
        return situation
    _, signal, subject = max(
        (int(changes), name, about)
        for name in MAY_STICK if name in panel.tables
        for changes, about in zip(_changes(panel.tables[name], late), panel.tables[name].subjects, strict=True)
    )  # fmt: skip
    truths = tuple(replace(one, cause=subject) for one in situation.truths)
    return replace(situation, truths=truths, sensor=(lie, signal, subject, since))


def _changes(table: SignalTable, late: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> list[int]:
    """For each row the number of changes before and after the fault, the smaller of the two."""
    found = []
    for row in table.values:
        parts = [row[part & ~np.isnan(row)] for part in (late, ~late)]
        found.append(min(int((np.diff(part) != 0).sum()) for part in parts))
    return found


def spoiled(panel: Panel, situation: Situation) -> Panel:
    tables = dict(panel.tables)
    lie, signal, subjects, since = situation.sensor
    if lie and signal in tables:
        tables[signal] = _lying(tables[signal], lie, subjects.split(), panel.times, since)
    for prefixes, start in situation.silent:
        late = panel.times >= abs(start)
        if start < 0:
            late &= panel.times < abs(start) + GAP_SECONDS
        for name, table in list(tables.items()):
            rows = [row for row, one in enumerate(table.subjects) if one.startswith(prefixes)]
            if rows:
                values = table.values.copy()
                values[np.ix_(np.array(rows), np.flatnonzero(late))] = np.nan
                tables[name] = SignalTable(table.subjects, values)
    return replace(panel, tables=tables)


def _lying(table: SignalTable, lie: str, subjects: list[str], times: Floats, since: float) -> SignalTable:
    values = table.values.copy()
    late = times >= since
    for subject in subjects:
        row = values[table.index[subject]]
        first = int(np.argmax(late))
        if lie == "stuck":
            row[late] = row[max(0, first - 1)]
        elif lie == "lost":
            row[late] = np.nan
        elif lie == "absurd":
            row[late] = np.where(np.arange(late.sum()) % 2, -999.0, 65535.0)
        elif lie == "zero":
            row[late] = 0.0
        elif lie == "replaced":
            row[late] *= np.float32(1.025)
        else:
            row[late] += (0.8 * abs(float(np.nanmedian(row))) * (times[late] - since) / 3600).astype(np.float32)
    return SignalTable(table.subjects, values)
