"""Reads a drill in TOML and reports all mistakes at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.config.tables import ConfigTable, Document
from holdfast.economics.costs.finding import Prices
from holdfast.formats.slurm.hostlist import NotAHostlist, expand
from holdfast.lab.drills.compound import ALL_SIGNALS, KINDS, Compound, announced, compound
from holdfast.lab.drills.drill import Drill
from holdfast.lab.drills.instruments import Instrument, Silence, read_instrument
from holdfast.lab.drills.planned import read_planned
from holdfast.lab.drills.subjects import KnownSubjects
from holdfast.lab.twin.plant.fault import DISTRACTORS, Distractor, PlantFault, PlantFaultKind, kinds
from holdfast.lab.twin.plant.layout import JobSpec, Layout, PlantLayout, Serving
from holdfast.model.refusal import Refusal
from holdfast.model.settings import SettingsError
from holdfast.seams.planned import PlannedWork

SECTIONS = ("title", "about", "pair", "lasts", "step", "seed", "storages", "fleet", "job", "pool", "fault",
            "distractor", "instrument", "planned", "prices")  # fmt: skip
FLEET = {"nodes": (1, 4096), "gpus_per_node": (1, 16), "nodes_per_rack": (1, 128), "racks_per_cdu": (1, 64),
         "cdus_per_room": (1, 64), "nodes_per_leaf": (1, 256), "spines": (1, 64)}  # fmt: skip
LONGEST = 12 * 3600.0


class DrillReader:
    """Reads the whole file and collects its mistakes, so that all of them are reported at once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._top = ConfigTable(document, document.raw, "")
        self._wrong: list[str] = []

    def drill(self) -> Drill:
        for key in self._document.raw:
            with self._noting():
                ConfigTable(self._document, {key: 0}, "").only(SECTIONS)
        before = len(self._wrong)
        layout = self._layout()
        if len(self._wrong) > before:  # without a valid fleet, every subject would be reported as wrong
            raise self._refusal()
        known = KnownSubjects(layout)
        top = self._top
        made: dict[str, Any] = {}
        readings: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("title", lambda: top.text("title", Path(self._document.origin).stem)),
            ("about", lambda: top.text("about", "")),
            ("pair", lambda: top.text("pair", "")),
            ("seed", lambda: top.integer("seed", 1)),
            ("step", lambda: self._between("step", "10s", 1.0, 60.0)),
            ("lasts", lambda: self._between("lasts", "1h", 600.0, LONGEST)),
            ("prices", self._prices),
            (
                "day_value",
                lambda: self._price_table().number("day_value") if "day_value" in self._price_table() else None,
            ),
            ("float_days", lambda: self._price_table().number("float_days", 0.0, 0, 1e4)),
        )
        for key, reading in readings:
            with self._noting():
                made[key] = reading()
        lasts = made.get("lasts", LONGEST)
        caused = [one for table in self._tables("fault") if (one := self._fault(table, known, lasts))]
        harmless = [each for table in self._tables("distractor") if (each := self._distractor(table, known))]
        made["instruments"] = tuple(meter for table in self._tables("instrument") if (meter := self._instrument(table)))
        made["planned"] = tuple(work for table in self._tables("planned") if (work := self._planned(table)))
        if self._wrong:
            raise self._refusal()
        name = Path(self._document.origin).stem
        return Drill(
            name=name,
            layout=layout,
            faults=tuple(one for one in caused if isinstance(one, PlantFault)),
            compounds=tuple(one for one in caused if isinstance(one, Compound)),
            distractors=tuple(one for one in harmless if isinstance(one, Distractor)),
            silences=tuple(one for one in harmless if isinstance(one, Silence)),
            **made,
        )

    def _refusal(self) -> Refusal:
        return Refusal("\n".join(dict.fromkeys(self._wrong)))

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except SettingsError as error:
            self._wrong.append(str(error))

    def _tables(self, name: str) -> list[ConfigTable]:
        found = self._document.raw.get(name, [])
        if not isinstance(found, list):
            self._wrong.append(str(self._document.refuse("", name, f"expected tables headed [[{name}]]")))
            return []
        made = []
        for number, values in enumerate(found):
            with self._noting():
                made.append(ConfigTable(self._document, values, f"{name}[{number}]"))
        return made

    def _between(self, key: str, default: str, least: float, most: float) -> float:
        seconds = self._top.seconds(key, default)
        if not least <= seconds <= most:
            raise self._top.wrong(key, f"expected {least:g} s to {most:g} s, found {seconds:g} s")
        return seconds

    def _prices(self) -> Prices:
        """Prices as for a live incident."""
        table, usual = self._price_table(), Prices()
        made = Prices(
            gpu_hour=table.number("gpu_hour", usual.gpu_hour, 0.01, 1e4),
            alternative_gpu_hour=table.number("alternative_gpu_hour", usual.alternative_gpu_hour, 0, 1e4),
            queued_chance=table.share("queued_chance", usual.queued_chance),
            wage=table.number("wage", usual.wage, 0, 1e5),
            people=table.number("people", usual.people, 0, 1e4),
            people_hours=table.number("people_hours", usual.people_hours, 0, 1e4),
        )
        table.raw("day_value"), table.raw("float_days")
        table.done()
        return made

    def _price_table(self) -> ConfigTable:
        return ConfigTable(self._document, self._document.raw.get("prices", {}), "prices")

    def _layout(self) -> Layout:
        fleet = PlantLayout()
        with self._noting():
            table = ConfigTable(self._document, self._document.raw.get("fleet", {}), "fleet")
            usual = {name: getattr(fleet, name) for name in FLEET}
            fleet = PlantLayout(**{name: table.integer(name, usual[name], *FLEET[name]) for name in FLEET})
            table.done()
        storages = self._document.raw.get("storages", ["lustre1"])
        if not isinstance(storages, list) or not storages or not all(isinstance(one, str) for one in storages):
            self._wrong.append(str(self._document.refuse("", "storages", 'expected names such as ["lustre1"]')))
            storages = ["lustre1"]
        bare = Layout(fleet, storages=tuple(storages))
        jobs = [job for table in self._tables("job") if (job := self._job(table, bare))]
        serving = self._serving(bare)
        self._apart(jobs, serving, bare)
        return replace(bare, jobs=tuple(jobs), serving=serving)

    def _apart(self, jobs: list[JobSpec], serving: Serving | None, layout: Layout) -> None:
        """Reports two pieces of work that use the same node at the same time."""
        groups = [(f"job {job.name}", job.nodes, job.start, job.end) for job in jobs]
        if serving is not None:
            pools = ((serving.source, serving.source_nodes), *serving.targets)
            groups += [(f"pool {name}", nodes, 0.0, float("inf")) for name, nodes in pools]
        for number, (name, nodes, start, end) in enumerate(groups):
            for other, others, begins, ends in groups[:number]:
                shared = sorted(set(nodes) & set(others))
                if shared and start < ends and begins < end:
                    where = layout.node_names[shared[0]]
                    self._wrong.append(f"{self._document.origin}: {name} and {other} are both on {where}")

    def _nodes(self, table: ConfigTable, layout: Layout) -> tuple[int, ...]:
        text = table.text("nodes")
        try:
            names = expand(text)
        except NotAHostlist as error:
            raise table.wrong("nodes", str(error)) from None
        places = {name: place for place, name in enumerate(layout.node_names)}
        for name in names:
            if name not in places:
                ends = f"{layout.node_names[0]} to {layout.node_names[-1]}"
                raise table.wrong("nodes", f"there is no node {name!r}; the fleet has {ends}")
        if not names:
            raise table.wrong("nodes", "expected at least one node, such as n[001-016]")
        return tuple(places[name] for name in names)

    def _job(self, table: ConfigTable, layout: Layout) -> JobSpec | None:
        usual = JobSpec(name="", nodes=())
        with self._noting():
            made = JobSpec(
                name=table.name(),
                nodes=self._nodes(table, layout),
                storage=table.text("storage", layout.storages[0], layout.storages),
                compute_seconds=table.seconds("compute", f"{usual.compute_seconds}s"),
                collective_seconds=table.seconds("collective", f"{usual.collective_seconds}s"),
                checkpoint_interval=table.seconds("checkpoint_every", f"{usual.checkpoint_interval}s"),
                checkpoint_seconds=table.seconds("checkpoint", f"{usual.checkpoint_seconds}s"),
                restart_seconds=table.seconds("restart", f"{usual.restart_seconds}s"),
                mtbf=table.seconds("mtbf") if "mtbf" in table else usual.mtbf,
                start=table.seconds("start", "0s"),
                end=table.seconds("end") if "end" in table else usual.end,
                milestone=table.text("milestone", ""),
            )
            table.raw("mtbf"), table.raw("end")
            table.done()
            for key in ("compute", "checkpoint_every", "checkpoint", "mtbf"):
                if key in table and table.seconds(key) < 1:
                    raise table.wrong(key, "expected one second or more")
            return made
        return None

    def _serving(self, layout: Layout) -> Serving | None:
        pools: dict[str, tuple[tuple[int, ...], list[str], ConfigTable]] = {}
        for table in self._tables("pool"):
            with self._noting():
                name = table.name()
                feeds = table.raw("feeds", [])
                if not isinstance(feeds, list) or not all(isinstance(one, str) for one in feeds):
                    raise table.wrong("feeds", 'expected names of pools such as ["decode1", "decode2"]')
                pools[name] = (self._nodes(table, layout), feeds, table)
                table.done()
        sources = [name for name, (_, feeds, _) in pools.items() if feeds]
        if not pools or self._wrong:
            return None
        if len(sources) != 1:
            self._wrong.append(
                f"{self._document.origin}: expected exactly one [[pool]] with feeds, found {len(sources)}"
            )
            return None
        nodes, feeds, table = pools[sources[0]]
        for name in feeds:
            if name not in pools:
                self._wrong.append(str(table.wrong("feeds", f"there is no pool {name!r}")))
                return None
        return Serving(source=sources[0], source_nodes=nodes, targets=tuple((name, pools[name][0]) for name in feeds))

    def _instrument(self, table: ConfigTable) -> Instrument | None:
        with self._noting():
            return read_instrument(table)
        return None

    def _planned(self, table: ConfigTable) -> PlannedWork | None:
        with self._noting():
            return read_planned(table)
        return None

    def _fault(self, table: ConfigTable, known: KnownSubjects, lasts: float) -> PlantFault | Compound | None:
        with self._noting():
            kind = _kind(table, known)
            name = kind.name
            subject = known.subject(table, kind.on)
            start = table.seconds("start")
            end = table.seconds("end") if "end" in table else float("inf")
            table.raw("end")
            made = PlantFault(
                kind=name,
                subject=subject,
                start=start,
                magnitude=table.number("magnitude", kind.typical, *kind.bounds),
                ramp=table.seconds("ramp", "0s"),
                end=end,
                signal=known.signal(table, subject) if name.startswith("sensor.") and name != "sensor.clock" else "",
                nodes=self._nodes(table, known.layout) if name == "software.rollout" else (),
                on=table.seconds("on") if "on" in table else float("inf"),
                off=table.seconds("off", "0s"),
            )
            table.raw("on")
            was_announced = table.yes("announced", False)
            table.done()
            if start >= lasts or end <= start:
                raise table.wrong(
                    "start" if start >= lasts else "end", "expected a start within the drill, then an end"
                )
            if name == "schedule.cadence_long" and known.job(subject).mtbf == float("inf"):
                raise table.wrong("subject", f"needs an mtbf of {subject}, or nothing is measured of its failures")
            if was_announced:
                return announced(made, known.layout)
            return compound(made, known.layout) if name in KINDS or made.signal == ALL_SIGNALS else made
        return None

    def _distractor(self, table: ConfigTable, known: KnownSubjects) -> Distractor | Silence | None:
        with self._noting():
            kind = table.text("kind")
            if kind not in DISTRACTORS:
                raise table.wrong("kind", f"there is no distractor {kind!r}; {known.near(kind, DISTRACTORS)}")
            on = DISTRACTORS[kind][0]
            subject = known.subject(table, ("leaf", "spine", "rail") if on == "switch" else (on,))
            made = Distractor(
                kind=kind,
                subject=subject,
                start=table.seconds("start"),
                seconds=table.seconds("lasts", "5m"),
                magnitude=table.number("magnitude", 0.0, 0.0, 100.0),
                signal=known.signal(table, subject) if kind == "sensor_gap" else "",
            )
            table.done()
            if made.signal == ALL_SIGNALS:
                return Silence(subject=subject, start=made.start, end=made.start + made.seconds)
            return made
        return None


def _kind(table: ConfigTable, known: KnownSubjects) -> PlantFaultKind:
    name = table.text("kind")
    if name in KINDS:
        on, magnitude, bounds, typical = KINDS[name]
        return PlantFaultKind(name, on, magnitude, bounds, typical, bounds)
    if name not in kinds():
        raise table.wrong("kind", f"there is no kind {name!r}; {known.near(name, (*kinds(), *KINDS))}")
    return kinds()[name]
