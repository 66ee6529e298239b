"""The controller's side of the API: wishes become work for the writer; what the writer tells is put on the board."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.fleet.api.access import Access, Caller
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.problem import Problem, elsewhere
from holdfast.fleet.api.views.common import Enrolled, EnrolRequest, NodeView, TokenMade, TokenRequest, VerdictView, Wish
from holdfast.fleet.api.views.show import transition_view, verdict_view
from holdfast.fleet.controller import commands as deeds
from holdfast.fleet.controller import probe_commands as probe_deeds
from holdfast.fleet.controller.credential_cache import CredentialCache
from holdfast.fleet.controller.digest_book import DigestBook
from holdfast.fleet.controller.drill_player import DrillPlayer
from holdfast.fleet.controller.transaction import News, Work
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.incidents.views import PlannedWorksView, PlannedWorkView, SeamsView, SignalsRequest, SignalsTaken
from holdfast.fleet.jobs.agent_jobs import AgentJobs
from holdfast.fleet.jobs.service import JobService
from holdfast.fleet.jobs.views import TrainingDetail, TrainingsView
from holdfast.fleet.probe_sessions.views import ProbeRunRequest, ProbeRunView, ProbesView
from holdfast.fleet.store import Store
from holdfast.model.lifecycle import EventKind
from holdfast.model.records import AuditEntry
from holdfast.model.wire.order import Ack
from holdfast.model.wire.report import Report

if TYPE_CHECKING:
    from holdfast.fleet.controller.seam_loop import SeamWatch  # NumPy: only those pay for it who watch seams

log = logging.getLogger("holdfast.fleet.controller")
MOST_NOTES_A_MINUTE = 60  # of one caller's or address's refused requests; what is beyond is counted, not written
MOST_SOURCES_A_MINUTE = 1_000


class ControllerService:
    def __init__(self, store: Store, board: Board, console: str = "", *, anonymous: bool = False) -> None:
        self.store, self.board, self.console = store, board, console
        self.access = Access(CredentialCache(store.credentials_of), anonymous=anonymous)
        self.acting: Callable[[], None] = lambda: None  # wakes the actor: there is something to do
        self.agent_jobs: AgentJobs | None = None  # None where a scheduler tells of jobs
        self.writer: Writer | None = None
        self.seams: SeamWatch | None = None  # None where the configuration has no [seams]
        self.drills = DrillPlayer()
        self._digests = DigestBook()
        self._trainings = JobService()
        self._loop = asyncio.get_running_loop()
        self._minute = 0
        self._noted: Counter[tuple[str, str]] = Counter()  # refusals this minute, by who and role

    @property
    def waiting(self) -> int:
        return self.writer.waiting if self.writer else 0

    async def take(self, caller: Caller, reports: Sequence[Report]) -> Ack:
        for report in reports:
            if report.node != caller.name:
                raise Problem(403, f"the credential of {caller.name} cannot report for {report.node[:80]!r}")
            if report.twin and not self.board.demo:
                raise Problem(403, "readings of simulated hardware are taken only in demo mode")
        ack: Ack = await self._ask(partial(deeds.take, reports, self.agent_jobs, self._trainings), reports)
        self.board.counts["reports"] += len(reports)
        for report, new in zip(reports, ack.accepted, strict=True):
            if new and report.digest:
                self._digests.heard(report.node, report.at, report.digest)
            if new and self.seams is not None:
                self.seams.heard(report)
        return replace(ack, renew=True) if caller.expires_soon else ack

    async def enrol(self, ask: EnrolRequest) -> Enrolled:
        deeds.check_enrolment(ask)
        enrolled: Enrolled = await self._ask(partial(deeds.enrol, ask, self.board.demo))
        return enrolled

    async def renew(self, caller: Caller) -> Enrolled:
        renewed: Enrolled = await self._ask(partial(deeds.renew, caller.name))
        return renewed

    async def wish(self, node: str, kind: EventKind, wish: Wish, caller: Caller) -> NodeView:
        _require_reason(wish.reason)
        await self._ask(partial(deeds.wish, node, kind, wish, caller))
        view = self.board.node(node)
        if view is None:
            raise Problem(404, f"no node is called {node[:80]!r}")
        return view

    def digests(self, node: str) -> tuple[tuple[float, bytes], ...]:
        return self._digests.of(node)

    async def verdicts(self, node: str) -> tuple[VerdictView, ...]:
        found = await asyncio.to_thread(self.store.verdicts, node)
        return tuple(verdict_view(change) for change in found.get(node, ()))

    async def probes(self) -> ProbesView:
        """Known to whoever leads: meetings under way are nowhere else."""
        shown: ProbesView = await self._ask(probe_deeds.show_all)
        return shown

    async def begin_run(self, ask: ProbeRunRequest, caller: Caller) -> ProbeRunView:
        _require_reason(ask.reason)
        begun: ProbeRunView = await self._ask(partial(probe_deeds.begin, ask, caller))
        return begun

    async def show_run(self, number: int) -> ProbeRunView:
        shown: ProbeRunView = await self._ask(partial(probe_deeds.show, number))
        return shown

    async def stop_run(self, number: int, caller: Caller) -> ProbeRunView:
        stopped: ProbeRunView = await self._ask(partial(probe_deeds.stop, number, caller))
        return stopped

    async def trainings(self) -> TrainingsView:
        """Known to whoever leads: agents tell it to nobody else."""
        shown: TrainingsView = await self._ask(self._trainings.list)
        return shown

    async def training(self, name: str) -> TrainingDetail:
        shown: TrainingDetail = await self._ask(partial(deeds.show_training, self._trainings, name))
        return shown

    async def make_token(self, ask: TokenRequest, caller: Caller) -> TokenMade:
        deeds.check_token(ask)
        made: TokenMade = await self._ask(partial(deeds.make_token, ask, caller))
        return made

    async def revoke(self, target: str, caller: Caller) -> int:
        ended: int = await self._ask(partial(deeds.revoke, target, caller))
        self.access.forget()
        return ended

    def seams_view(self) -> SeamsView:
        return self.seams.view() if self.seams is not None else SeamsView(watched=False)

    async def planned(self) -> PlannedWorksView:
        return await self._watched().planned()

    async def announce(self, work: PlannedWorkView, caller: Caller) -> PlannedWorksView:
        watch = self._watched()
        await self._ask(partial(deeds.store_planned, work, caller))
        return await watch.planned(fresh=True)

    async def withdraw(self, name: str, caller: Caller) -> PlannedWorksView:
        watch = self._watched()
        if not await self._ask(partial(deeds.remove_planned, name, caller)):
            raise Problem(404, f"no work is announced under the name {name[:80]!r}")
        return await watch.planned(fresh=True)

    def _watched(self) -> "SeamWatch":
        if self.seams is None:
            raise Problem(409, "this controller watches no seams: [seams] is not in its configuration", code="no_seams")
        return self.seams

    def tell_signals(self, caller: Caller, ask: SignalsRequest) -> SignalsTaken:
        if self.seams is None:
            words = "this controller watches no seams: [seams] is not in its configuration"
            raise Problem(409, words, code="no_seams")
        if not self.board.leading:
            raise elsewhere(self.board.leader)
        return self.seams.told(caller, ask)

    def note(self, entry: AuditEntry) -> None:
        """A flood of one's bad requests must neither become a flood of rows nor hide what another tried."""
        self.board.counts["refused"] += 1
        if not self._is_written(entry) or self.writer is None or not self.board.leading:
            return
        try:
            self.writer.put(Work(partial(deeds.note, entry)))
        except Problem:  # the queue is full; who was refused must still be told why
            log.warning("not audited: %s %s by %s: %s", entry.verb, entry.target, entry.who, entry.outcome)

    def _is_written(self, entry: AuditEntry) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute = minute
            self._noted.clear()
        source = (entry.who, entry.role)
        if not entry.role and source not in self._noted and len(self._noted) >= MOST_SOURCES_A_MINUTE:
            return False  # addresses without number; who holds a token is always written of
        self._noted[source] += 1
        return self._noted[source] <= MOST_NOTES_A_MINUTE

    async def _ask(self, do: Any, reports: Sequence[Report] = ()) -> Any:
        if self.writer is None:
            raise Problem(503, "the controller is starting", {"Retry-After": "1"})
        return await self.writer.ask(Work(do, reports))

    # ChangeFilter by the writer

    def tell(self, news: News) -> None:
        """Called in the writer's thread; once per batch, so that many answers cost one wake-up."""
        self._loop.call_soon_threadsafe(self._show, news)

    def _show(self, news: News) -> None:
        board = self.board
        board.leading, board.leader = news.leading, news.leader
        for node in news.heard:
            board.heard(node, news.now)
        if news.everything:
            board.replace_all([life for life, _ in news.lives], {life.name: health for life, health in news.lives}, {})
        else:
            for life, health in news.lives:
                board.put(life, health)
        for step in news.steps:
            board.moved(transition_view(step.transition))
        for incident in news.incidents:
            board.tell("incident", incident)
        for future, result in news.answers:
            _answer(future, result)
        if any(step.actions for step in news.steps) or news.everything:
            self.acting()


def _require_reason(words: str) -> None:
    if not 0 < len(words.strip()) <= deeds.LONGEST_REASON:
        raise Problem(400, f"reason: expected 1 to {deeds.LONGEST_REASON} characters")


def _answer(future: "asyncio.Future[Any]", result: Any) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
