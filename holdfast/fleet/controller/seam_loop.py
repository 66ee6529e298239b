"""Seam loop: evaluates window and topology periodically; findings become incidents and alerts."""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from holdfast import seams
from holdfast.catalog import seam_kinds, seam_signals
from holdfast.economics.costs.ledger import LossLedger
from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.caller_quota import CallerQuota
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.commands import PLANNED
from holdfast.fleet.controller.facility import Facility
from holdfast.fleet.controller.seam_settings import SeamFiles, SeamSettings
from holdfast.fleet.controller.transaction import ReportWork, Transaction
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.incidents.account import account, continued
from holdfast.fleet.incidents.attribution import attributed, restored
from holdfast.fleet.incidents.baseline import Baseline
from holdfast.fleet.incidents.learned import LearnedBaseline
from holdfast.fleet.incidents.losses import hours_worked, item_key
from holdfast.fleet.incidents.ranks import SeamRanks
from holdfast.fleet.incidents.recovery import ended, recovered
from holdfast.fleet.incidents.topology import TopologyGaps, with_the_fleet
from holdfast.fleet.incidents.views import (
    MOST_GAPS,
    PlannedWorksView,
    PlannedWorkView,
    SeamsView,
    SeamView,
    SignalsRequest,
    SignalsTaken,
)
from holdfast.fleet.incidents.window import SeamWindow
from holdfast.fleet.notifications.alertmanager import Alerts
from holdfast.fleet.store import Store
from holdfast.model.account import Account
from holdfast.model.finding import Finding
from holdfast.model.incident import Incident
from holdfast.model.job import Job, JobState
from holdfast.model.panel import Panel
from holdfast.model.records import Role
from holdfast.model.signal import Event
from holdfast.model.topology import Topology, whole_of
from holdfast.model.wire.progress import WINDOW_SECONDS
from holdfast.model.wire.report import Report
from holdfast.runtime import clock, codec
from holdfast.seams.persistence import SLOWDOWN, FindingMemory
from holdfast.seams.planned import PlannedWork

log = logging.getLogger("holdfast.fleet.controller")
STORE_SECONDS = 60.0  # a bill grows all the time; it is written so often
MOST_JOBS = 5_000
BASELINE = "baseline"  # the kind of document that the learned baseline is stored as
YOUNG_SECONDS = 1800.0
FORGOTTEN_SECONDS = 86_400.0  # announced work is listed for a day after its end
TAKE_OVER_SECONDS = 180.0
AFTERMATH_SECONDS = 600.0  # for which a victim may still suffer from what is repaired
SLOW_GPU, CLOCKS = "gpu.slow", ("gpu.clocks",)
AGENTS_MAY_REPORT = ("job/", "path/", "pool/")
AGENT_SHARE, SITE_SHARE = 512, 50_000  # subjects with their signals


@dataclass(slots=True)
class _Known:
    account: Account
    seen: float  # when it was last found, in the window's time
    stored: float = 0.0


class SeamWatch:
    """Belongs to the event loop; judging itself is done in a thread, on a copy."""

    def __init__(
        self, settings: SeamSettings, files: SeamFiles, alerts: Alerts, store: Store, board: Board, factor: float = 1.0
    ) -> None:
        self._settings, self._files, self._alerts, self._store, self._board = settings, files, alerts, store, board
        self._began, self._factor = clock.now(), factor
        self.window = SeamWindow(lambda: self._lived(clock.now()), settings.step_seconds, settings.minutes)
        self.facility = Facility(files.sources, self.window, self._lived, board.components)
        self._known: dict[str, _Known] = {}
        self._ranks = SeamRanks()
        self._waiting: dict[str, float] = {}  # roots that claim what another one is open for, since when
        self._places: tuple[object, Topology] = ((), files.topology)
        self._baseline = Baseline()
        self._findings = FindingMemory()
        self._learned = LearnedBaseline()
        self._loaded = False
        self._ledger = LossLedger()
        self._ids: dict[str, str] = {}  # of open incidents, by what they are about
        self._worked: dict[str, float] = {}  # hours since an operator acknowledged them
        self._announced: tuple[PlannedWorkView, ...] = ()
        self._planned: tuple[PlannedWork, ...] = ()
        self._evaluated_at: float | None = None
        self._trouble = ""
        self._subjects = (0, 0)
        self._gaps = TopologyGaps(self._began)
        self._shares: dict[str, CallerQuota] = {}  # by caller: what it may still add to the window

    def _lived(self, at: float) -> float:
        return self._began + (at - self._began) * self._factor

    def _clock(self, lived: float) -> float:
        return self._began + (lived - self._began) / self._factor

    def clock(self, lived: float) -> float:
        """The clock's time of a column of the window."""
        return self._clock(lived)

    @property
    def topology(self) -> Topology:
        """As the last evaluation saw it."""
        return self._places[1]

    # Called for each report and each API request

    def take_report(self, report: Report) -> None:
        at = self._lived(report.at)
        self.window.take_report(report, at)
        for about, name, seconds in self._ranks.ingest(report.node, report.progress, clock.now()):
            self.window.put(at, about, name, seconds * self._factor, WINDOW_SECONDS * self._factor)

    def reported(self, caller: Caller, ask: SignalsRequest) -> SignalsTaken:
        """An agent speaks for jobs and services, not for what it cannot see; a person or a site's program for all."""
        now = clock.now()
        if caller.role is Role.AGENT:
            own = f"node/{caller.name}/"
            for about in [one.subject for one in ask.signals] + [one.subject for one in ask.events]:
                if not about.startswith((*AGENTS_MAY_REPORT, own)):
                    raise Problem(403, f"the credential of {caller.name} cannot tell of {about[:80]!r}")
        known = self._shares.setdefault(
            caller.name, CallerQuota(AGENT_SHARE if caller.role is Role.AGENT else SITE_SHARE)
        )
        known.take([(one.subject, one.name) for one in ask.signals], len(ask.events), now)
        absurd = []
        for one in ask.signals:
            if why := seam_signals.implausible(one.name, one.value):
                absurd.append(f"{one.subject} {one.name}: {why}")
            else:
                self.window.put(
                    self._lived(now - one.age_seconds),
                    one.subject,
                    one.name,
                    one.value,
                    ask.cadence_seconds * self._factor,
                )
        self.window.add_events(
            Event(
                kind=one.kind,
                at=self._lived(now - one.age_seconds),
                text=one.text,
                subject=one.subject,
                detail={"version": one.version} if one.version else {},
            )
            for one in ask.events
        )
        return SignalsTaken(taken=len(ask.signals) - len(absurd) + len(ask.events), absurd=tuple(absurd))

    async def planned(self, *, fresh: bool = False) -> PlannedWorksView:
        """Announced work that is not long over; `fresh` reads the store again."""
        if fresh or not self._loaded:
            known = [
                codec.decode(body, PlannedWorkView)
                for body in (await asyncio.to_thread(self._store.seam_documents, PLANNED)).values()
            ]
            now = clock.now()
            self._announced = tuple(one for one in known if one.end > now - FORGOTTEN_SECONDS)
            self._planned = tuple(
                PlannedWork(
                    name=one.name,
                    subjects=one.subjects,
                    start=self._lived(one.start),
                    end=self._lived(one.end),
                    what=one.what,
                    source=one.source,
                )
                for one in self._announced
            )
        return PlannedWorksView(planned=self._announced)

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
            planned=tuple(f"{cause} {kind}: {name}" for (cause, kind), name in self._findings.explained.items()),
            gaps=self._gaps.gaps[:MOST_GAPS],
            more_gaps=max(0, len(self._gaps.gaps) - MOST_GAPS),
        )

    # Evaluation

    async def run(self, writer: Writer) -> None:
        while True:
            await asyncio.sleep(self._settings.evaluate_seconds / self._factor)
            if not self._board.leading:
                self._known.clear()
                continue
            try:
                await self._evaluate(writer)
                self._trouble = ""
                self._board.components.succeeded("seams")
            except Problem as problem:  # the writer has too much to do, or another leads
                self._trouble = problem.sentence
            except Exception as error:
                self._trouble = "internal error; the controller's log has the details"
                self._board.components.failed("seams", error)
                log.exception("an evaluation of the seam rules failed; the next one runs as usual")

    async def _evaluate(self, writer: Writer) -> None:
        now = self._lived(clock.now())
        if not self._loaded:
            self._learned.load(await asyncio.to_thread(self._store.seam_documents, BASELINE))
            self._loaded = True
        if not self._known:
            self._remember(await writer.ask(ReportWork(_open_incidents)), now)
        await self.planned(fresh=True)
        jobs = await asyncio.to_thread(self._store.jobs, None, clock.now(), MOST_JOBS)
        running = tuple(job for job in jobs if job.state is JobState.RUNNING)
        panel, topology = self.window.panel(running), self._topology(running)
        self._subjects = (len(panel.tables), sum(len(table.subjects) for table in panel.tables.values()))
        before = self.open
        found = await asyncio.to_thread(self.judge, panel, topology)
        keys = [item_key(one) for one in self._ids.values()]
        records = await asyncio.to_thread(self._store.item_records, keys) if keys else {}
        worked = hours_worked(self._ids, records, clock.now())
        self._worked = {root: hours * self._factor for root, hours in worked.items()}
        over = self.take(found, panel, now)
        open_ = await writer.ask(ReportWork(partial(_publish, self._due(before), over)))
        self.forget(over, panel)
        if not self._known and await asyncio.to_thread(self._learned.learn, panel):
            documents = await asyncio.to_thread(self._learned.documents)
            await writer.ask(ReportWork(partial(_store_documents, BASELINE, documents)))
        self._ids = {one.subject: one.id for one in open_}
        self._alerts.stand(open_)
        nodes = [f"node/{name}" for name in self._board.views]
        await asyncio.to_thread(self._gaps.update, self._files.topology, topology, panel, nodes, clock.now())
        self._evaluated_at = clock.now()

    def _topology(self, jobs: Sequence[Job]) -> Topology:
        """Made anew only when a node moved or a job came or went: it is large, and remembers what it worked out."""
        places = {name: view.place for name, view in self._board.views.items()}
        reported = tuple(sorted((name, tuple(sorted(place.items()))) for name, place in places.items()))
        key = (reported, tuple(jobs), self._ranks.version)
        if key != self._places[0]:
            self._places = (key, with_the_fleet(self._files.topology, places, jobs, self._ranks.edges()))
        return self._places[1]

    def judge(self, panel: Panel, topology: Topology) -> dict[str, Account]:
        found: dict[str, Account] = {}
        past = self._baseline.panel or self._usual(panel)
        findings = seams.explain(self._baseline.window(panel), topology, baseline=past)
        for finding in self._findings.take(findings, topology, panel.now, self._planned):
            if finding.cause not in found:  # the surest first: one root, one incident
                known = self._known.get(finding.cause)
                found[finding.cause] = self._account(finding, panel, topology, known.account if known else None)
        return found

    def _usual(self, panel: Panel) -> Panel | None:
        """What is stored as usual, while the window is too young to have a calm beginning of its own."""
        return self._learned.panel(panel) if panel.now - float(panel.times[0]) < YOUNG_SECONDS else None

    def take(self, found: dict[str, Account], panel: Panel, now: float) -> dict[str, str]:
        """What was found is open from now on; answers what is over, and why."""
        found, over = self._settled(found, now)
        for root, one in found.items():
            known = self._known.get(root)
            self._known[root] = _Known(one, now, known.stored if known else 0.0)
        over |= self._gone(found, panel, now)
        for root, known in self._known.items():
            if root not in found and root not in over:
                known.account = continued(known.account, panel.now, self._files.business_context)
        for root, one in attributed(self._ledger, self.open, panel, self._files.business_context, self._worked).items():
            self._known[root].account = one
        return over

    def forget(self, over: Collection[str], panel: Panel) -> None:
        for root in over:
            self._baseline.over(self._known.pop(root).account.since, panel.now)
            self._ledger.close(root)
        since = [known.account.since for known in self._known.values()]
        self._baseline.keep(panel, since, self._learned.panel(panel) if since else None)

    @property
    def open(self) -> dict[str, Account]:
        return {root: known.account for root, known in self._known.items()}

    def _account(self, finding: Finding, panel: Panel, topology: Topology, before: Account | None) -> Account:
        same = before if before is not None and before.kind == finding.kind else None
        return account(finding, panel, topology, self._files.business_context, same)

    def _settled(self, found: dict[str, Account], now: float) -> tuple[dict[str, Account], dict[str, str]]:
        """A new root that claims the victims of an open one must last: an instrument that is silent for a moment moves
        no blame. If it lasts, the old one is over, for its cause turned out to be another."""
        kept: dict[str, Account] = {}
        over: dict[str, str] = {}
        for root, reported in found.items():
            hurt = {*reported.victims, root}
            rivals = [one for one in self._known if one not in found and hurt & {*self._known[one].account.victims}]
            if root not in self._known and reported.kind == SLOW_GPU and self._suffers(root):
                continue
            if root in self._known or not rivals:
                kept[root] = reported
            elif reported.kind == SLOWDOWN:
                continue  # that no cause was found explains nothing: what has a cause stays until it is well
            elif now - self._waiting.setdefault(root, now) >= self._timeout(root, rivals):
                kept[root] = reported
                over |= dict.fromkeys(rivals, f"the cause turned out to be {reported.kind} on {root}")
            else:
                for one in rivals:
                    self._known[one].seen = now
        self._waiting = {root: since for root, since in self._waiting.items() if root in found and root not in kept}
        return kept, over

    def _suffers(self, gpu: str) -> bool:
        """Is its node a victim of what is open and makes clocks slow? Then it is not blamed by itself."""
        node = whole_of(gpu)
        open_ = (known.account for known in self._known.values())
        return any(node in one.victims and seam_kinds.absorbs(one.kind, CLOCKS) for one in open_)

    def _timeout(self, root: str, rivals: Sequence[str]) -> float:
        victim = any(root in self._known[one].account.victims for one in rivals)
        return AFTERMATH_SECONDS if victim else TAKE_OVER_SECONDS

    def _gone(self, found: dict[str, Account], panel: Panel, now: float) -> dict[str, str]:
        """Roots that are no longer found, and whose own instruments show that they are well."""
        lately = panel.last(self._settings.close_seconds)
        unseen = {
            root: known
            for root, known in self._known.items()
            if root not in found and now - known.seen >= self._settings.close_seconds
        }
        over = {
            root: "it is not found any more"
            for root, known in unseen.items()
            if recovered(known.account, lately, now - known.seen)
        }
        return over | {root: "the job ended" for root, known in unseen.items() if ended(root, known.account, lately)}

    def _due(self, before: dict[str, Account]) -> dict[str, Account]:
        now, due = clock.now(), {}
        for root, known in self._known.items():
            if _another(before.get(root), known.account) or now - known.stored >= STORE_SECONDS / self._factor:
                known.stored = now
                due[root] = self._on_the_clock(known.account)
        return due

    def _remember(self, open_: Sequence[Incident], now: float) -> None:
        """What was open before we began: it has as long to be found again as any other."""
        for one in open_:
            if one.account is not None:
                self._known[one.subject] = _Known(one.account, now, clock.now())
                self._ids[one.subject] = one.id
                restored(self._ledger, one.subject, one.account)

    def _on_the_clock(self, reported: Account) -> Account:
        if self._factor == 1:
            return reported
        return replace(
            reported,
            since=self._clock(reported.since),
            timeline=tuple(replace(one, at=self._clock(one.at)) for one in reported.timeline),
            charts=tuple(
                replace(one, start=self._clock(one.start), step=one.step / self._factor) for one in reported.charts
            ),
        )


def _another(before: Account | None, now: Account) -> bool:
    return before is None or (before.kind, before.victims, before.owners) != (now.kind, now.victims, now.owners)


def _store_documents(kind: str, documents: Mapping[str, str], transaction: Transaction, fresh: Sequence[bool]) -> None:
    transaction.store.save_seam_documents(kind, documents, transaction.now)


def _open_incidents(transaction: Transaction, fresh: Sequence[bool]) -> list[Incident]:
    return list(transaction.fleet.incidents.found_by_seams.values())


def _publish(
    due: dict[str, Account], over: dict[str, str], transaction: Transaction, fresh: Sequence[bool]
) -> list[Incident]:
    for root, reported in due.items():
        transaction.decide(transaction.fleet.found(root, reported, transaction.now))
    for root, why in over.items():
        transaction.fleet.incidents.over(root, transaction.now, why)
    return _open_incidents(transaction, fresh)
