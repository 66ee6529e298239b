"""Scene: one panel over one topology and its changes, computed once for all rules."""

from collections.abc import Collection, Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Symptom
from holdfast.model.panel import Panel, SignalTable, Values
from holdfast.model.subject import Subject
from holdfast.model.topology import Topology, whole_or_self
from holdfast.seams.effects import CARRIES
from holdfast.seams.moved import PAUSE_SECONDS, RECENT_SECONDS, Moves, baseline_columns, moves, recent_columns
from holdfast.seams.work import COLD_CELSIUS, STILL_WORKING, warmer_than_its_power, while_working

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
REASONS = "gpu_clock_event_reasons"
USE = "gpu_utilization_ratio"
STEP = "job_step_seconds"
POWER = "gpu_power_watts"
SUPPLIES = ("cdu_supply_celsius", "rack_inlet_celsius", "ambient_celsius")
OF_TRAFFIC = ("link_congestion_ratio", "link_utilization_ratio", "port_xmit_wait_ratio")
IDLE = 0.1  # utilization below which a GPU does not work for its job
SOME = 0.5  # share of a node's GPUs that must be hot, slow or capped for the node to count


class Scene:
    def __init__(self, panel: Panel, topology: Topology, baseline: Panel | None = None) -> None:
        self.panel = panel
        self.topology = topology
        self._baseline = baseline
        self._moves: dict[str, Moves] = {}
        self._named: dict[str, dict[Subject, Symptom]] = {}
        self._nodes_seen: dict[str, frozenset[Subject]] = {}
        self._wholes: dict[tuple[Subject, ...], list[Subject]] = {}
        self._down: dict[tuple[Subject, tuple[str, ...] | None], frozenset[Subject]] = {}
        self.distrusted: set[tuple[str, Subject]] = set()
        """Sensors that are faulty. Their values are no evidence."""

    @property
    def now(self) -> float:
        return self.panel.now

    def moves(self, signal: str) -> Moves:
        if signal not in self._moves:
            baseline, fact, table = self._baseline_of(signal), signals()[signal], self.panel.of(signal)
            if signal in STILL_WORKING:
                table = while_working(signal, table, self.moves(USE), self.panel.of(USE))
            if signal in OF_TRAFFIC:
                table = self._while_jobs_talk(table)
            if fact.domain == "runtime":
                table = self._while_jobs_work(table)
            pauses = fact.domain == "runtime" or signal in STILL_WORKING or signal in OF_TRAFFIC
            found = moves(table, self.panel.times, fact, baseline, pauses=pauses)
            if signal == "gpu_temperature_celsius" and len(found.rows):
                found = warmer_than_its_power(found, self.moves(POWER), self.moves(USE), self.coolant)
            self._moves[signal] = found
        return self._moves[signal]

    def _baseline_of(self, signal: str) -> SignalTable | None:
        return self._baseline.of(signal) if self._baseline and signal in self._baseline.tables else None

    def moved(self, signal: str) -> dict[Subject, Symptom]:
        """Changes by subject, without those of faulty sensors."""
        if signal not in self._named:
            found = {one.subject: one for one in self.moves(signal).symptoms()}
            self._named[signal] = {s: one for s, one in found.items() if (signal, s) not in self.distrusted}
        return self._named[signal]

    def distrust(self, signal: str, subject: Subject) -> None:
        self.distrusted.add((signal, subject))
        self._named.pop(signal, None)
        self._nodes_seen.pop(signal, None)

    def fell(self, signal: str) -> dict[Subject, Symptom]:
        return {subject: one for subject, one in self.moved(signal).items() if one.now < one.before}

    def rose(self, signal: str) -> dict[Subject, Symptom]:
        return {subject: one for subject, one in self.moved(signal).items() if one.now > one.before}

    def seen(self, signal: str) -> set[Subject]:
        """Subjects with enough readings to know whether they changed."""
        table = self.moves(signal)
        return {table.subjects[row] for row in np.flatnonzero(table.seen)} - {
            subject for name, subject in self.distrusted if name == signal
        }

    def usual(self, signal: str, subject: Subject) -> float:
        """The value of a subject in the baseline; NaN if it was not measured."""
        return self._value(signal, subject, now=False)

    def recent(self, signal: str, subject: Subject) -> float:
        return self._value(signal, subject, now=True)

    def down(self, subject: Subject, kinds: Collection[str] | None = None) -> frozenset[Subject]:
        key = (subject, tuple(kinds) if kinds is not None else None)
        if key not in self._down:
            self._down[key] = frozenset(self.topology.down(subject, kinds))
        return self._down[key]

    def reach(self, subject: Subject, kinds: Collection[str]) -> frozenset[Subject]:
        """Subjects that this one can affect, itself included; a slow pool delays the paths into it."""
        found = self.down(subject, kinds) | {subject}
        if "runs_on" in kinds:  # a job that uses a part of a node, such as a port, runs on the node
            nodes = {whole_or_self(one) for one in found if one.startswith("node/")} - found
            found |= {one for node in nodes for one in self.down(node, CARRIES) if one.count("/") == 1}
        pools = [one for one in found if one.startswith("pool/")]
        into = {edge.source for pool in pools for edge in self.topology.sources.get(pool, ()) if edge.kind == "feeds"}
        return found | into

    def nodes_under(self, subject: Subject, kinds: Collection[str]) -> frozenset[Subject]:
        under = {one for one in self.down(subject, kinds) if one.startswith("node/") and one.count("/") == 1}
        return frozenset(under | ({subject} if subject.startswith("node/") else set()))

    def wholes(self, subjects: tuple[Subject, ...]) -> list[Subject]:
        """The node of every row, cached because most tables name the same GPUs."""
        if subjects not in self._wholes:
            self._wholes[subjects] = [whole_or_self(one) for one in subjects]
        return self._wholes[subjects]

    def nodes_where(self, signal: str, *, rising: bool | None = None) -> dict[Subject, Symptom]:
        """Nodes of which at least half of the measured parts changed, with the earliest of these changes."""
        table = self.moves(signal)
        return self._by_node(table.subjects, table.seen, self._wanted(signal, rising))

    def nodes_seen(self, signal: str) -> frozenset[Subject]:
        if signal not in self._nodes_seen:
            self._nodes_seen[signal] = frozenset(whole_or_self(one) for one in self.seen(signal))
        return self._nodes_seen[signal]

    def _wanted(self, signal: str, rising: bool | None) -> list[Symptom]:
        found = list(self.moved(signal).values())
        return found if rising is None else [one for one in found if (one.now > one.before) is rising]

    def _by_node(self, subjects: tuple[Subject, ...], seen: Mask, moved: Iterable[Symptom]) -> dict[Subject, Symptom]:
        first: dict[Subject, Symptom] = {}
        count: dict[Subject, int] = {}
        for one in moved:
            node = whole_or_self(one.subject)
            count[node] = count.get(node, 0) + 1
            if node not in first or one.since < first[node].since:
                first[node] = one
        if not first:
            return {}
        total: dict[Subject, int] = {}
        wholes = self.wholes(subjects)
        for row in np.flatnonzero(seen):
            total[wholes[row]] = total.get(wholes[row], 0) + 1
        return {node: one for node, one in first.items() if count[node] >= SOME * total.get(node, 1)}

    @cached_property
    def gpus_of(self) -> dict[Subject, list[Subject]]:
        """The GPUs whose temperature is read, by node."""
        table = self.panel.of("gpu_temperature_celsius").subjects
        found: dict[Subject, list[Subject]] = {}
        for gpu, node in zip(table, self.wholes(table), strict=True):
            found.setdefault(node, []).append(gpu)
        return found

    @cached_property
    def coolant(self) -> float:
        """Temperature of the coolest supply, or of the room, or the lowest that any plant reaches."""
        known = (self.moves(name).center for name in SUPPLIES)
        return next((float(np.nanmin(one)) for one in known if np.isfinite(one).any()), COLD_CELSIUS)

    @cached_property
    def hot(self) -> dict[Subject, Symptom]:
        return self.nodes_where("gpu_temperature_celsius")

    @cached_property
    def drawing_less(self) -> frozenset[Subject]:
        """Nodes whose GPUs draw less power than before, so that a cooling fault may not heat them."""
        power = self.moves(POWER)
        less = np.flatnonzero(power.recent < (1 - signals()[POWER].least_ratio) * power.center)
        moved = [Symptom(power.subjects[row], POWER, self.now, 0.0, 0.0) for row in less]
        return frozenset(self._by_node(power.subjects, power.seen, moved))

    @cached_property
    def slow_clocks(self) -> dict[Subject, Symptom]:
        return self.nodes_where("gpu_clock_sm_hertz")

    @cached_property
    def loaded(self) -> frozenset[Subject]:
        """Nodes that run work now; all nodes if no scheduler is observed."""
        table = self.moves("gpu_utilization_ratio")
        if not table.subjects:
            return frozenset(self.nodes_seen("gpu_temperature_celsius"))
        wholes = self.wholes(table.subjects)
        busy = np.nan_to_num(table.recent) > 0.3
        return frozenset(wholes[row] for row in np.flatnonzero(busy & table.seen))

    @cached_property
    def jobs(self) -> dict[Subject, frozenset[Subject]]:
        """The nodes of every job and pool the topology knows."""
        found: dict[Subject, set[Subject]] = {}
        for edge in self.topology.edges:
            if edge.kind == "runs_on":
                found.setdefault(whole_or_self(edge.target), set()).add(whole_or_self(edge.source))
        return {job: frozenset(nodes) for job, nodes in found.items()}

    def reasons(self, mask: int) -> dict[Subject, Symptom]:
        """GPUs that report one of these clock event reasons now and not in the baseline."""
        return {one.subject: one for one in self._reasons(mask)}

    def nodes_with_reasons(self, mask: int) -> dict[Subject, Symptom]:
        table = self.panel.of(REASONS)
        return self._by_node(table.subjects, np.ones(len(table.subjects), np.bool_), self._reasons(mask))

    def _reasons(self, mask: int) -> list[Symptom]:
        table, times = self.panel.of(REASONS), self.panel.times
        if len(times) < baseline_columns(times) + recent_columns(times):
            return []
        last = table.values[:, -recent_columns(times) :]
        # A cheap test first: most GPUs report no reason, and splitting bits is expensive.
        some = np.flatnonzero((last > 0).any(axis=1))
        bits = (np.nan_to_num(table.values[some]).astype(np.int64) & mask) > 0
        before = self._reasons_before(table, some, mask, bits[:, : baseline_columns(times)])
        now = bits[:, -recent_columns(times) :].mean(axis=1)
        found = np.flatnonzero((now >= 0.5) & (before < 0.2))
        onset = bits.shape[1] - np.argmax(~bits[:, ::-1], axis=1)
        return [
            Symptom(table.subjects[some[row]], REASONS, float(times[min(onset[row], len(times) - 1)]), 0.0, float(mask))
            for row in found
        ]

    def _reasons_before(self, table: SignalTable, rows: Places, mask: int, own: Mask) -> Values:
        """The share of the baseline, or of the window's beginning, in which a GPU gave such a reason."""
        before: Values = own.mean(axis=1).astype(np.float32)
        baseline = self._baseline_of(REASONS)
        if baseline is not None:
            usual = ((np.nan_to_num(baseline.values).astype(np.int64) & mask) > 0).mean(axis=1)
            places = [baseline.index.get(table.subjects[row], -1) for row in rows]
            known = [usual[place] if place >= 0 else old for place, old in zip(places, before, strict=True)]
            before = np.array(known, np.float32)
        return before

    def _while_jobs_work(self, table: SignalTable) -> SignalTable:
        """Leaves out jobs whose GPUs are idle now, because their last step is not about the present."""
        idle = [row for row, subject in enumerate(table.subjects) if whole_or_self(subject) in self.idle_jobs]
        if not idle:
            return table
        values = table.values.copy()
        values[idle, -round((PAUSE_SECONDS + RECENT_SECONDS) / self.panel.step) :] = np.nan
        return SignalTable(table.subjects, values)

    @cached_property
    def idle_jobs(self) -> frozenset[Subject]:
        """Jobs of which no GPU worked recently. Jobs whose GPUs are not measured are not included."""
        table = self.panel.of(USE)
        late = table.values[:, -recent_columns(self.panel.times) :]
        wholes = self.wholes(table.subjects)
        busiest: dict[Subject, float] = {}
        most = np.where(np.isnan(late), -np.inf, late).max(axis=1)
        for row in np.flatnonzero(np.isfinite(most)):
            busiest[wholes[row]] = max(busiest.get(wholes[row], 0.0), float(most[row]))
        return frozenset(
            job
            for job, nodes in self.jobs.items()
            if all(node in busiest for node in nodes) and max(busiest[node] for node in nodes) < IDLE
        )

    def _while_jobs_talk(self, table: SignalTable) -> SignalTable:
        """Leaves out the columns in which every job on the link or port only writes a checkpoint."""
        steps = self.panel.of(STEP)
        silent = {job: np.isnan(steps.values[row]) for job, row in steps.index.items()}
        quiet = {job: gaps for job, gaps in silent.items() if gaps.any() and not gaps.all()}
        if not quiet:
            return table
        values = table.values
        jobs_of = {subject: self._jobs_on(subject) for subject in table.subjects}
        for jobs in set(jobs_of.values()):
            if jobs and all(job in quiet for job in jobs):
                if values is table.values:
                    values = values.copy()
                rows = np.array([row for row, subject in enumerate(table.subjects) if jobs_of[subject] == jobs])
                gaps = np.logical_and.reduce([quiet[job] for job in jobs])
                values[np.ix_(rows, np.flatnonzero(gaps))] = np.nan
        return SignalTable(table.subjects, values)

    def _jobs_on(self, subject: Subject) -> frozenset[Subject]:
        if subject.startswith("node/"):
            return self._jobs_of_node.get(whole_or_self(subject), frozenset())
        nodes = self.nodes_under(subject, ("connects",))
        return frozenset(job for node in nodes for job in self._jobs_of_node.get(node, ()))

    @cached_property
    def _jobs_of_node(self) -> dict[Subject, frozenset[Subject]]:
        found: dict[Subject, set[Subject]] = {}
        for job, nodes in self.jobs.items():
            for node in nodes:
                found.setdefault(node, set()).add(job)
        return {node: frozenset(jobs) for node, jobs in found.items()}

    def _value(self, signal: str, subject: Subject, *, now: bool) -> float:
        table = self.moves(signal)
        place = self._index(signal, table).get(subject)
        return float("nan") if place is None else float((table.recent if now else table.center)[place])

    def _index(self, signal: str, table: Moves) -> dict[Subject, int]:
        found: SignalTable = self.panel.of(signal)
        return found.index
