"""Recorded drills: signals, events and a topology from elsewhere, with the true cause."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.catalog.seam_signals import signals
from holdfast.config.suggest import hint
from holdfast.config.tables import ConfigTable, Document
from holdfast.config.text_file import read_text
from holdfast.fleet.incidents.window import HELD_CADENCES, held
from holdfast.formats.topology.file import NotATopology
from holdfast.formats.topology.file import read as read_topology
from holdfast.lab.drills.planned import read_planned
from holdfast.lab.drills.score import Named, Truth
from holdfast.model import panel as panels
from holdfast.model.job import Job, JobState
from holdfast.model.panel import Panel, Values
from holdfast.model.refusal import Refusal
from holdfast.model.signal import Event
from holdfast.model.topology import Topology
from holdfast.seams.planned import PlannedWork

SECTIONS = ("title", "about", "recording", "truth", "planned")
RECORDING = ("signals", "topology", "events", "step", "judge_from")
COLUMNS = ("seconds", "subject", "signal", "value")
EVENT_COLUMNS = ("seconds", "kind", "subject", "text")
NOT_COMPARED = ("job_restart_seconds", "job_mtbf_seconds")  # settings of a job; its moves have no limit
NO_CADENCE = 60.0  # default for an instrument with a single reading


@dataclass(frozen=True, kw_only=True)
class Recorded:
    name: str
    title: str
    about: str
    panel: Panel
    topology: Topology
    truths: tuple[Truth, ...]
    tolerated: frozenset[Named]
    planned: tuple[PlannedWork, ...]
    judge_from: float
    pair: str = ""
    seed: int = 0

    def listed(self) -> dict[str, Any]:
        return {
            "name": self.name, "title": self.title, "about": self.about, "kinds": [one.kind for one in self.truths],
            "lasts_seconds": self.panel.now,
        }  # fmt: skip


def read_recorded(document: Document) -> Recorded:
    """Reads a recorded drill. Raises SettingsError or Refusal if it is wrong."""
    top = ConfigTable(document, document.raw, "")
    top.only(SECTIONS)
    folder = Path(document.origin).parent
    recording = ConfigTable(document, document.raw["recording"], "recording")
    recording.only(RECORDING)
    step = recording.seconds("step", "10s")
    try:
        topology = read_topology(read_text(str(folder / recording.text("topology"))))
    except NotATopology as error:
        raise recording.wrong("topology", str(error)) from None
    panel = _panel(str(folder / recording.text("signals")), step)
    events = _events(str(folder / recording.text("events"))) if "events" in recording else ()
    jobs = _jobs(topology)
    truths = [_truth(ConfigTable(document, one, f"truth[{n}]")) for n, one in enumerate(document.raw.get("truth", []))]
    planned = [
        read_planned(ConfigTable(document, one, f"planned[{n}]"))
        for n, one in enumerate(document.raw.get("planned", []))
    ]
    return Recorded(
        name=Path(document.origin).stem, title=top.text("title", Path(document.origin).stem),
        about=top.text("about", ""), panel=Panel(panel.times, panel.tables, events, jobs), topology=topology,
        truths=tuple(one for one, counts in truths if counts),
        tolerated=frozenset(one.named for one, counts in truths if not counts),
        planned=tuple(planned), judge_from=recording.seconds("judge_from", "15m"),
    )  # fmt: skip


def _truth(table: ConfigTable) -> tuple[Truth, bool]:
    """The truth, and whether it must be found; with `tolerated`, it need not be."""
    accepts = table.raw("accepts", [])
    if not isinstance(accepts, list) or not all(isinstance(one, str) and len(one.split()) == 2 for one in accepts):
        raise table.wrong("accepts", 'expected texts of a cause and a kind such as ["rack/r1 cooling.rack_blocked"]')
    tolerated = table.yes("tolerated", False)
    made = Truth(
        cause=table.text("cause"), kind=table.text("kind"), start=table.seconds("start", "0s"),
        end=table.seconds("end") if "end" in table else float("inf"),
        accepts=tuple((one.split()[0], one.split()[1]) for one in accepts),
    )  # fmt: skip
    table.raw("end")
    table.done()
    return made, not tolerated


def _rows(path: str, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            if tuple(next(lines, [])) != columns:
                raise Refusal(f"{path}: line 1: expected the columns {','.join(columns)}")
            for number, row in enumerate(lines, 2):
                if row and len(row) != len(columns):
                    raise Refusal(f"{path}: line {number}: expected {len(columns)} fields, found {len(row)}")
                if row:
                    yield number, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Refusal(f"{path}: {error}") from None


def _number(path: str, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Refusal(f"{path}: line {line}: expected a number, found {text!r}") from None


def _panel(path: str, step: float) -> Panel:
    """Arranges readings in columns. Each value holds for as long as the cadence of its instrument explains, as in a
    controller."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    known, last = {*signals(), *NOT_COMPARED}, 0
    for line, (at, subject, signal, value) in _rows(path, COLUMNS):
        if signal not in known:
            raise Refusal(f"{path}: line {line}: there is no signal {signal!r}; {hint(signal, known, 0.4, 4)}")
        column = int(_number(path, line, at) // step)
        if column < 0:
            raise Refusal(f"{path}: line {line}: expected seconds from 0 on, found {at}")
        last = max(last, column)
        found.setdefault(signal, {}).setdefault(subject, []).append((column, _number(path, line, value)))
    tables = {
        name: _table(rows, last + 1, sparse=name in signals() and signals()[name].sparse)
        for name, rows in found.items()
    }
    return Panel(np.arange(last + 1, dtype=np.float64) * step, tables)


def _table(rows: dict[str, list[tuple[int, float]]], columns: int, *, sparse: bool) -> panels.SignalTable:
    values: Values = np.full((len(rows), columns), np.nan, np.float32)
    gaps = []
    for row, readings in enumerate(rows.values()):
        at = np.array([column for column, _ in readings])
        values[row, at] = [value for _, value in readings]
        gaps += np.diff(np.sort(at)).tolist()
    cadence = float(np.median(gaps)) if gaps else NO_CADENCE
    wait = 1 if sparse and not gaps else max(1, round(max(cadence, 1) * HELD_CADENCES))
    return panels.SignalTable(tuple(rows), held(values, wait))


def _events(path: str) -> tuple[Event, ...]:
    made = [
        Event(
            kind=kind,
            at=_number(path, line, at),
            text=text,
            subject=subject,
            code=_code(text) if kind == "xid" else None,
            detail={"version": text} if kind.endswith("_rollout") else {"health": text} if kind == "verdict" else {},
        )
        for line, (at, kind, subject, text) in _rows(path, EVENT_COLUMNS)
    ]
    return tuple(sorted(made, key=lambda event: event.at))


def _code(text: str) -> int | None:
    digits = "".join(one for one in text if one.isdigit())
    return int(digits) if digits else None


def _jobs(topology: Topology) -> tuple[Job, ...]:
    nodes: dict[str, list[str]] = {}
    for edge in topology.edges:
        if edge.kind == "runs_on" and edge.target.startswith("job/") and edge.target.count("/") == 1:
            nodes.setdefault(edge.target.partition("/")[2], []).append(edge.source.partition("/")[2])
    return tuple(
        Job(id=name, source="recorded", nodes=tuple(where), start=0.0, state=JobState.RUNNING)
        for name, where in nodes.items()
    )
