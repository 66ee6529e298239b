"""Instruments of a drill: cadence, resolution, missed readings and missing meters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from zlib import crc32

import numpy as np

from holdfast.config.tables import ConfigTable as Settings
from holdfast.fleet.incidents.window import HELD_CADENCES, held
from holdfast.model.panel import Panel, SignalTable, Values
from holdfast.model.topology import Topology

KEYS = ("signals", "cadence", "resolution", "missed", "missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    signals: str  # a name, or a pattern such as cdu_*
    cadence: float = 0.0  # seconds between two readings; 0: every step
    resolution: float = 0.0  # the smallest difference that it shows; 0: unlimited
    missed: float = 0.0  # share of the readings that do not arrive
    missing: bool = False  # the site has no such meter


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A time in which a subject and its parts report nothing; for a rack, its nodes."""

    subject: str
    start: float
    end: float


def read_instrument(table: Settings) -> Instrument:
    made = Instrument(
        signals=table.text("signals"),
        cadence=table.seconds("cadence", "0s"),
        resolution=table.number("resolution", 0.0),
        missed=table.share("missed"),
        missing=table.yes("missing", False),
    )
    table.done()
    return made


def as_read(panel: Panel, instruments: Sequence[Instrument], seed: int) -> Panel:
    """The panel as these instruments read it. The first instrument whose pattern matches a signal applies."""
    tables = {}
    for name, table in panel.tables.items():
        reads = next((one for one in instruments if fnmatchcase(name, one.signals)), None)
        if reads is None:
            tables[name] = table
        elif not reads.missing:
            rng = np.random.default_rng([seed, crc32(name.encode())])
            tables[name] = SignalTable(table.subjects, _reading(table.values, reads, panel.step, rng))
    return replace(panel, tables=tables)


def _reading(values: Values, reads: Instrument, step: float, rng: np.random.Generator) -> Values:
    found = np.round(values / reads.resolution) * reads.resolution if reads.resolution else values.copy()
    every = max(1, round(reads.cadence / step))
    phase = rng.integers(0, every, (len(found), 1))
    due = (np.arange(found.shape[1])[None, :] + phase) % every == 0
    due &= rng.random(found.shape) >= reads.missed
    if due.all():
        return found.astype(np.float32)
    return held(np.where(due, found, np.nan).astype(np.float32), max(1, round(every * HELD_CADENCES)))


def silenced(panel: Panel, silences: Sequence[Silence], topology: Topology) -> Panel:
    tables = dict(panel.tables)
    for one in silences:
        late = np.flatnonzero((panel.times >= one.start) & (panel.times < one.end))
        below = [place for place in topology.down(one.subject) if place.startswith("node/")]
        nodes = tuple(below) if one.subject.startswith("rack/") else ()
        parts = tuple(f"{place}/" for place in (one.subject, *nodes))
        for name, table in list(tables.items()):
            rows = [
                row for row, about in enumerate(table.subjects)
                if about == one.subject or about in nodes or about.startswith(parts)
            ]  # fmt: skip
            if rows and len(late):
                values = table.values.copy()
                values[np.ix_(np.array(rows), late)] = np.nan
                tables[name] = SignalTable(table.subjects, values)
    return replace(panel, tables=tables)
