"""Seam loop: evaluates window and topology periodically; findings become incidents and alerts."""

import asyncio
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from holdfast import seams
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.seams.facility import Facility
from holdfast.fleet.controller.seams.intake import AnnouncedWork, SignalIntake
from holdfast.fleet.controller.seams.settings import SeamFiles, SeamSettings
from holdfast.fleet.controller.transaction import ReportWork, Transaction
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.incidents.evaluation import Evaluation
from holdfast.fleet.incidents.fleet_time import FleetTime
from holdfast.fleet.incidents.losses import hours_worked, item_key
from holdfast.fleet.incidents.open_incidents import OpenIncidents
from holdfast.fleet.incidents.ranks import SeamRanks
from holdfast.fleet.incidents.stops import JobStops, StopWatch
from holdfast.fleet.incidents.topology import TopologyGaps, with_the_fleet
from holdfast.fleet.incidents.views import MOST_GAPS, PlannedWorksView, SeamsView, SeamView
from holdfast.fleet.incidents.window import SeamWindow
from holdfast.fleet.notifications.alertmanager import Alerts
from holdfast.fleet.store import Store
from holdfast.model.account import Account
from holdfast.model.incident import Incident
from holdfast.model.job import Job, JobState
from holdfast.model.panel import Panel
from holdfast.model.topology import Topology
from holdfast.runtime import clock, codec

log = logging.getLogger("holdfast.fleet.controller")
STORE_SECONDS = 60.0  # a growing bill is written this often
MOST_JOBS = 5_000
BASELINE = "baseline"  # kind of the stored documents that hold the learned baseline
LEDGER, DELAYS = "ledger", "delays"  # kind and name of the stored hours that jobs lost against their milestones
RULE = "seam/"  # prefix of the rules among the controller's components


class SeamWatch:
    """The loop. Used only on the event loop, except `judge`, which runs in a thread on a copy of the window."""

    def __init__(
        self, settings: SeamSettings, files: SeamFiles, alerts: Alerts, store: Store, board: Board, factor: float = 1.0
    ) -> None:
        self._settings, self._files, self._alerts, self._store, self._board = settings, files, alerts, store, board
        self.time = FleetTime(clock.now(), factor)
        self.window = SeamWindow(lambda: self.time.lived(clock.now()), settings.step_seconds, settings.minutes)
        self.facility = Facility(files.sources, self.window, self.time.lived, board.components)
        self.incidents = OpenIncidents(files.business_context, settings.close_seconds)
        self.evaluation = Evaluation(files.business_context)
        self.stops: dict[str, JobStops] = {}
        self._steps = StopWatch(self.time.lived, factor)
        self._ranks = SeamRanks(self._steps)
        self.intake = SignalIntake(self.window, self._steps, self._ranks, self.time)
        self._announced = AnnouncedWork(store, self.time)
        self._places: tuple[object, Topology] = ((), files.topology)
        self._loaded = False
        self._ids: dict[str, str] = {}  # root -> id of its open incident
        self._worked: dict[str, float] = {}  # root -> hours since an operator acknowledged its incident
        self._evaluated_at: float | None = None
        self._trouble = ""
        self._subjects = (0, 0)
        self._gaps = TopologyGaps(self.time.began)

    def clock(self, lived: float) -> float:
        """Wall-clock time of a column of the window."""
        return self.time.clock(lived)

    @property
    def topology(self) -> Topology:
        """The topology of the last evaluation."""
        return self._places[1]

    async def planned(self, *, fresh: bool = False) -> PlannedWorksView:
        """Announced work of the last day and the future; `fresh` reads the store again."""
        if fresh or not self._loaded:
            await self._announced.read()
            self.evaluation.planned = self._announced.lived
        return self._announced.view

    def view(self) -> SeamsView:
        return SeamsView(
            watched=True,
            seams=tuple(
                SeamView(name=one.name, asks=one.asks, kinds=one.kinds, reads=one.reads, domains=one.domains)
                for one in seams.ALL
            ),
            sources=tuple(self.facility.views.values()),
            signals=self._subjects[0],
            subjects=self._subjects[1],
            evaluated_at=self._evaluated_at,
            trouble=self._trouble,
            planned=tuple(f"{cause} {kind}: {name}" for (cause, kind), name in self.evaluation.explained.items()),
            gaps=self._gaps.gaps[:MOST_GAPS],
            more_gaps=max(0, len(self._gaps.gaps) - MOST_GAPS),
        )

    async def run(self, writer: Writer) -> None:
        while True:
            await asyncio.sleep(self._settings.evaluate_seconds / self.time.factor)
            if not self._board.leading:
                self.incidents.clear()
                continue
            try:
                await self._evaluate(writer)
                self._trouble = ""
                self._board.components.succeeded("seams")
            except Problem as problem:  # the writer is overloaded, or another controller leads
                self._trouble = problem.sentence
            except Exception as error:
                self._trouble = "internal error; the controller's log has the details"
                self._board.components.failed("seams", error)
                log.exception("an evaluation of the seam rules failed; the next one runs as usual")

    async def _evaluate(self, writer: Writer) -> None:
        now = self.time.lived(clock.now())
        learned, ledger = self.evaluation.learned, self.incidents.ledger
        if not self._loaded:
            learned.load(await asyncio.to_thread(self._store.seam_documents, BASELINE))
            self._loaded = True
        if not self.open:
            ledger.delays = _delays(await asyncio.to_thread(self._store.seam_documents, LEDGER))
            self.restore(await writer.ask(ReportWork(_open_incidents)), now)
        await self.planned(fresh=True)
        jobs = await asyncio.to_thread(self._store.jobs, None, clock.now(), MOST_JOBS)
        running = tuple(job for job in jobs if job.state is JobState.RUNNING)
        panel, topology = self.window.panel(running), self._topology(running)
        self.look_for_stops(running, now)
        self._subjects = (len(panel.tables), sum(len(table.subjects) for table in panel.tables.values()))
        before = self.open
        found = await asyncio.to_thread(self.judge, panel, topology)
        keys = [item_key(one) for one in self._ids.values()]
        records = await asyncio.to_thread(self._store.item_records, keys) if keys else {}
        worked = hours_worked(self._ids, records, clock.now())
        self._worked = {root: hours * self.time.factor for root, hours in worked.items()}
        over = self.take(found, panel, now)
        due = self._due(before, over)
        open_ = await writer.ask(ReportWork(partial(_publish, due, over, dict(ledger.delays))))
        self.forget(over, panel)
        if not self.open and await asyncio.to_thread(learned.learn, panel):
            documents = await asyncio.to_thread(learned.documents)
            await writer.ask(ReportWork(partial(_store_documents, BASELINE, documents)))
        self._ids = {one.subject: one.id for one in open_}
        self._alerts.stand(open_)
        nodes = [f"node/{name}" for name in self._board.views]
        await asyncio.to_thread(self._gaps.update, self._files.topology, topology, panel, nodes, clock.now())
        self._evaluated_at = clock.now()

    def look_for_stops(self, running: Sequence[Job], now: float) -> None:
        """Finds stopped jobs among those that the scheduler or an agent reports as running."""
        places = self._ranks.nodes_of(self._steps.silent(now))
        views, lived = self._board.views, self.time.lived
        nodes = {node for of_job in places.values() for node in of_job if node in views}
        heard = {node: lived(views[node].last_report_at or 0.0) for node in nodes}
        jobs = [replace(job, start=None if job.start is None else lived(job.start)) for job in running]
        self.stops = self._steps.look(now, jobs, heard, places)

    def _topology(self, jobs: Sequence[Job]) -> Topology:
        """The topology with nodes and jobs.

        It is rebuilt only after a change, because it is large and caches results.
        """
        places = {name: view.place for name, view in self._board.views.items()}
        reported = tuple(sorted((name, tuple(sorted(place.items()))) for name, place in places.items()))
        key = (reported, tuple(jobs), self._ranks.version)
        if key != self._places[0]:
            self._places = (key, with_the_fleet(self._files.topology, places, jobs, self._ranks.edges()))
        return self._places[1]

    def judge(self, panel: Panel, topology: Topology) -> dict[str, Account]:
        """Evaluates the rules. A rule that raises counts as a failing component; the other rules continue."""
        found = self.evaluation.judge(panel, topology, self.open, self.stops)
        components = self._board.components
        failed = {f"{RULE}{name}": error for name, error in self.evaluation.failed_rules.items()}
        for name, error in failed.items():
            components.failed(name, error)
            log.error("the seam rule %s failed; the others continue", name.removeprefix(RULE), exc_info=error)
        for name in [one.name for one in components.failing if one.name.startswith(RULE)]:
            if name not in failed:
                components.succeeded(name)
        return found

    @property
    def open(self) -> dict[str, Account]:
        return self.incidents.accounts

    def take(self, found: dict[str, Account], panel: Panel, now: float) -> dict[str, str]:
        """Opens or updates an incident for each finding. Returns the incidents that ended, with the reason."""
        blind = self.evaluation.blind_kinds
        return self.incidents.take(found, panel, now, stops=self.stops, blind_kinds=blind, hours_worked=self._worked)

    def forget(self, over: Collection[str], panel: Panel) -> None:
        """Closes ended incidents; the baseline leaves out the time in which they were open."""
        for root in over:
            self.evaluation.baseline.over(self.incidents.close(root).since, panel.now)
        self.evaluation.keep_baseline(panel, [one.since for one in self.open.values()])

    def restore(self, open_: Sequence[Incident], now: float) -> None:
        """Restores incidents that were open before this controller led."""
        for one in open_:
            if one.account is not None:
                known = self.time.as_lived(one.account)
                self.incidents.restore(one.subject, known, now, clock.now())
                self._ids[one.subject] = one.id
                for loss in known.losses:
                    if loss.stopped_since is not None:
                        self._steps.restore(loss.subject, loss.stopped_since, loss.last_step, loss.usual)

    def _due(self, before: Mapping[str, Account], over: Collection[str]) -> dict[str, Account]:
        """The accounts to write now, in clock time."""
        if not self.incidents.due(before, over, clock.now(), STORE_SECONDS / self.time.factor):
            return {}
        return {root: self.time.on_the_clock(one) for root, one in self.open.items()}


def _delays(documents: Mapping[str, str]) -> dict[str, float]:
    """Stored hours that each job of a milestone lost. A document that cannot be read counts as missing."""
    try:
        return codec.decode(documents.get(DELAYS, "{}"), dict[str, float])
    except ValueError:
        return {}


def _store_documents(kind: str, documents: Mapping[str, str], transaction: Transaction, fresh: Sequence[bool]) -> None:
    transaction.store.save_seam_documents(kind, documents, transaction.now)


def _open_incidents(transaction: Transaction, fresh: Sequence[bool]) -> list[Incident]:
    return list(transaction.fleet.incidents.found_by_seams.values())


def _publish(
    due: dict[str, Account],
    over: dict[str, str],
    delays: dict[str, float],
    transaction: Transaction,
    fresh: Sequence[bool],
) -> list[Incident]:
    if due and delays:
        _store_documents(LEDGER, {DELAYS: json.dumps(delays)}, transaction, fresh)
    for root, reported in due.items():
        transaction.decide(transaction.fleet.found(root, reported, transaction.now))
    for root, why in over.items():
        transaction.fleet.incidents.over(root, transaction.now, why)
    return _open_incidents(transaction, fresh)
