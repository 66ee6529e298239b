"""Implements the API's service protocol: requests become commands of the writer; results go to the board."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.fleet.api.access import Access, Caller, CredentialCache
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.oidc import OidcClient
from holdfast.fleet.api.problem import Problem, elsewhere
from holdfast.fleet.api.views.common import (
    Enrolled,
    EnrolRequest,
    NodeView,
    OperatorRequest,
    OrdersView,
    RevokeRequest,
    TicketRequest,
    TokenMade,
    TokenRequest,
    VouchRequest,
)
from holdfast.fleet.api.views.show import transition_view
from holdfast.fleet.controller import claims, commands, enrolment, own_subjects, probe_commands
from holdfast.fleet.controller.operators.digests import DigestHistory
from holdfast.fleet.controller.operators.drill_player import DrillPlayer
from holdfast.fleet.controller.operators.home_figures import HomeFigures
from holdfast.fleet.controller.operators.inbox import InboxService
from holdfast.fleet.controller.operators.inbox_history import InboxHistory
from holdfast.fleet.controller.transaction import News, ReportWork
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.facility.promql_range import PromqlRange
from holdfast.fleet.inbox.figures import Figures, FigureWindow
from holdfast.fleet.inbox.incident_figures import IncidentFigures
from holdfast.fleet.inbox.states import ItemCommand, ItemView
from holdfast.fleet.incidents.views import PlannedWorksView, PlannedWorkView, SeamsView, SignalsRequest, SignalsTaken
from holdfast.fleet.jobs.agent_jobs import AgentJobs
from holdfast.fleet.jobs.service import JobService
from holdfast.fleet.jobs.views import TrainingDetail, TrainingsView
from holdfast.fleet.probe_sessions.views import ProbeRunRequest, ProbeRunView, ProbesView
from holdfast.fleet.store import Store
from holdfast.model.assets import AssetRecord
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import OUT_OF_SERVICE, EventKind
from holdfast.model.records import AuditEntry, PendingNode, Role, Transition
from holdfast.model.wire.order import Ack, Admission
from holdfast.model.wire.report import Report

if TYPE_CHECKING:
    from holdfast.fleet.controller.seams.loop import SeamWatch  # imports NumPy, so only if seams are configured

log = logging.getLogger("holdfast.fleet.controller")
MOST_NOTES_A_MINUTE = 60  # audit entries per caller or address for refused requests; further ones are only counted
MOST_SOURCES_A_MINUTE = 1_000
TEST_ANSWERS = (EventKind.TEST_PASSED, EventKind.TEST_FAILED)


class ControllerService:
    def __init__(
        self, store: Store, board: Board, console: str = "", *, anonymous: bool = False, new_nodes_per_hour: int = 0
    ) -> None:
        self.store, self.board, self.console = store, board, console
        self.access = Access(CredentialCache(store.credentials_of), anonymous=anonymous)
        self.acting: Callable[[], None] = lambda: None  # wakes the actor when actions are due
        self.agent_jobs: AgentJobs | None = None  # None if a scheduler reports jobs
        self.writer: Writer | None = None
        self.seams: SeamWatch | None = None  # None if the configuration has no [seams]
        self.address = ""
        self.prometheus: PromqlRange | None = None  # None if the configuration has no [history]
        self.oidc: OidcClient | None = None  # None if the configuration has no [oidc]
        self.drills = DrillPlayer()
        self.items = InboxService(self)
        self.inbox_history = InboxHistory(self, self._ask)
        self.home = HomeFigures(self, board.time_factor)
        self._digests = DigestHistory()
        self._trainings = JobService(board.time_factor)
        self._new_nodes = enrolment.NewNodes(0 if board.demo else new_nodes_per_hour)
        self._loop = asyncio.get_running_loop()
        self._minute = 0
        self._noted: Counter[tuple[str, str]] = Counter()  # refusals this minute: (caller, role) -> count

    @property
    def waiting(self) -> int:
        return self.writer.waiting if self.writer else 0

    async def take(self, caller: Caller, reports: Sequence[Report]) -> Ack:
        if not caller.vouched:
            raise not_vouched(caller)
        for report in reports:
            if report.node != caller.name:
                raise Problem(403, f"the credential of {caller.name} cannot report for {report.node[:80]!r}")
            if report.twin and not self.board.demo:
                raise Problem(403, "readings of simulated hardware are accepted only in demo mode")
        reports, dropped = own_subjects.only(reports)
        ack: Ack = await self._ask(partial(commands.take, reports, self.agent_jobs, self._trainings), reports)
        self.board.counts["reports"] += len(reports)
        self.board.counts["foreign_subjects"] += dropped
        for report, new in zip(reports, ack.accepted, strict=True):
            if new and report.digest:
                self._digests.add(report.node, report.at, report.digest)
            if new and self.seams is not None:
                self.seams.intake.take_report(report)
        return replace(ack, renew=caller.expires_soon, dropped=dropped)

    async def enrol(self, ask: EnrolRequest, address: str) -> Enrolled:
        commands.check_enrolment(ask)
        enrolled: Enrolled = await self._ask(partial(enrolment.enrol, ask, address, self.board.demo, self._new_nodes))
        return enrolled

    async def vouch(self, ask: VouchRequest, caller: Caller) -> PendingNode:
        vouched: PendingNode = await self._ask(partial(enrolment.vouch, ask, caller))
        self.access.forget()
        return vouched

    async def admission(self, caller: Caller) -> Admission:
        if not caller.vouched:  # a node that waits for approval learns nothing about the approved node of that name
            return Admission(node=caller.name, allowed=False, reason=not_vouched(caller).sentence)
        answer: Admission = await self._ask(partial(claims.admission, caller.name))
        return answer

    async def orders(self, node: str, most: int) -> OrdersView:
        found: OrdersView = await self._ask(partial(claims.open_orders, node, most))
        return found

    async def renew(self, caller: Caller) -> Enrolled:
        if not caller.vouched:
            raise not_vouched(caller)
        if not caller.expires_soon:
            raise Problem(409, "this credential is not about to expire", code="not_due")
        renewed: Enrolled = await self._ask(partial(enrolment.renew, caller))
        return renewed

    async def operator_request(self, node: str, kind: EventKind, request: OperatorRequest, caller: Caller) -> NodeView:
        _require_reason(request.reason)
        self._require_own(node, kind, caller)
        await self._ask(partial(commands.operator_request, node, kind, request, caller))
        view = self.board.node(node)
        if view is None:
            raise Problem(404, f"no node is called {node[:80]!r}")
        return view

    async def forget_node(self, node: str, request: OperatorRequest, caller: Caller) -> None:
        _require_reason(request.reason)
        await self._ask(partial(commands.forget_node, node, request, caller))
        self.access.forget()

    async def note_ticket(self, node: str, ask: TicketRequest, caller: Caller) -> AssetRecord:
        commands.check_ticket(ask)
        record: AssetRecord = await self._ask(partial(commands.note_ticket, node, ask, caller))
        return record

    def asset_record(self, node: str) -> AssetRecord:
        return self.store.asset_record(node)

    def _require_own(self, node: str, kind: EventKind, caller: Caller) -> None:
        """The token of a job may request a retest of its own nodes. It cannot take a node out of service, because a
        user's claim is not a fault."""
        life = self.board.life(node)
        if not caller.may_see(node, life.jobs if life else ()):
            raise Problem(
                403, f"the token of {caller.name} is not for {node[:80]}", who=(caller.name, caller.role.value)
            )
        if caller.role is Role.JOB and kind is not EventKind.RETEST:
            who = (caller.name, caller.role.value)
            raise Problem(403, f"a job may ask for a retest, not for {kind.value}", who=who, code="job_role")

    def digests(self, node: str) -> tuple[tuple[float, bytes], ...]:
        return self._digests.of(node)

    def last_digest(self, node: str) -> tuple[float, bytes] | None:
        return self._digests.last(node)

    @property
    def currency(self) -> str:
        return self.items.prices.currency

    async def probes(self) -> ProbesView:
        """Only the leader knows this, because running probe sessions are not stored."""
        shown: ProbesView = await self._ask(probe_commands.show_all)
        return shown

    async def begin_run(self, ask: ProbeRunRequest, caller: Caller) -> ProbeRunView:
        _require_reason(ask.reason)
        begun: ProbeRunView = await self._ask(partial(probe_commands.begin, ask, caller))
        return begun

    async def show_run(self, number: int) -> ProbeRunView:
        shown: ProbeRunView = await self._ask(partial(probe_commands.show, number))
        return shown

    async def stop_run(self, number: int, caller: Caller) -> ProbeRunView:
        stopped: ProbeRunView = await self._ask(partial(probe_commands.stop, number, caller))
        return stopped

    async def trainings(self) -> TrainingsView:
        """Only the leader knows this, because agents report only to it."""
        shown: TrainingsView = await self._ask(self._trainings.list)
        return shown

    async def training(self, name: str) -> TrainingDetail:
        shown: TrainingDetail = await self._ask(partial(commands.show_training, self._trainings, name))
        return shown

    async def make_token(self, ask: TokenRequest, caller: Caller) -> TokenMade:
        commands.check_token(ask, self.board.demo)
        made: TokenMade = await self._ask(partial(commands.make_token, ask, caller))
        return made

    async def revoke(self, ask: RevokeRequest, caller: Caller) -> int:
        ended: int = await self._ask(partial(commands.revoke, ask, caller))
        self.access.forget()
        return ended

    def seams_view(self) -> SeamsView:
        return self.seams.view() if self.seams is not None else SeamsView(watched=False)

    async def planned(self) -> PlannedWorksView:
        return await self._watched().planned()

    async def announce(self, work: PlannedWorkView, caller: Caller) -> PlannedWorksView:
        watch = self._watched()
        await self._ask(partial(commands.store_planned, work, caller))
        return await watch.planned(fresh=True)

    async def withdraw(self, name: str, caller: Caller) -> PlannedWorksView:
        watch = self._watched()
        if not await self._ask(partial(commands.remove_planned, name, caller)):
            raise Problem(404, f"no work is announced under the name {name[:80]!r}")
        return await watch.planned(fresh=True)

    def _watched(self) -> "SeamWatch":
        if self.seams is None:
            raise Problem(409, "this controller evaluates no seams: its configuration has no [seams]", code="no_seams")
        return self.seams

    def receive_signals(self, caller: Caller, ask: SignalsRequest) -> SignalsTaken:
        if not caller.vouched:
            raise not_vouched(caller)
        if self.seams is None:
            text = "this controller evaluates no seams: its configuration has no [seams]"
            raise Problem(409, text, code="no_seams")
        if not self.board.leading:
            raise elsewhere(self.board.leader)
        return self.seams.intake.reported(caller, ask)

    async def open_session(self, caller: Caller) -> tuple[str, float]:
        opened: tuple[str, float] = await self._ask(partial(commands.open_session, caller))
        return opened

    async def close_session(self, token: str) -> None:
        await self._ask(partial(commands.close_session, token))
        self.access.forget()

    @property
    def figures(self) -> FigureWindow:
        return self.home.window

    async def figures_now(self) -> Figures:
        return await self.home.now()

    def incident_figures(self, incident: Incident) -> IncidentFigures:
        return self.items.figures(incident)

    async def inbox(self) -> list[ItemView]:
        return await self.items.views()

    async def past_items(self, hours: float) -> list[ItemView]:
        await self._settle()
        return await self.items.past(hours)

    async def past_item(self, key: str) -> ItemView | None:
        await self._settle()
        return await self.items.past_item(key)

    async def _settle(self) -> None:
        """Stores items that just ended, so that a read of past items includes them."""
        if self.board.leading:
            await self.inbox_history.settle({one.key for one in await self.items.views()})

    async def act_on_item(self, command: ItemCommand, caller: Caller) -> ItemView:
        return await self.items.act(command, caller, self._ask)

    def note(self, entry: AuditEntry) -> None:
        """Records a refused request. A flood of bad requests from one caller must not fill the audit log or hide the
        requests of others."""
        self.board.counts["refused"] += 1
        if not self._is_written(entry) or self.writer is None or not self.board.leading:
            return
        try:
            self.writer.put(ReportWork(partial(commands.note, entry)))
        except Problem:  # the queue is full; the caller still gets the reason of the refusal
            log.warning("not audited: %s %s by %s: %s", entry.verb, entry.target, entry.who, entry.outcome)

    def _is_written(self, entry: AuditEntry) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute = minute
            self._noted.clear()
        source = (entry.who, entry.role)
        if not entry.role and source not in self._noted and len(self._noted) >= MOST_SOURCES_A_MINUTE:
            return False  # too many addresses; requests with a token are always recorded
        self._noted[source] += 1
        return self._noted[source] <= MOST_NOTES_A_MINUTE

    async def _ask(self, do: Any, reports: Sequence[Report] = ()) -> Any:
        if self.writer is None:
            raise Problem(503, "the controller is starting", {"Retry-After": "1"})
        return await self.writer.ask(ReportWork(do, reports))

    # Called by the writer

    def publish(self, news: News) -> None:
        """Called in the writer's thread once per batch, so that many answers cost one wake-up of the event loop."""
        self._loop.call_soon_threadsafe(self._show, news)

    def _show(self, news: News) -> None:
        """Updates the board and answers callers. An error on the board does not prevent the answers."""
        try:
            self._show_changes(news)
            self.board.components.succeeded("board")
        except Exception as error:
            log.exception("a change could not be published")
            self.board.components.failed("board", error)
        for future, result in news.answers:
            _answer(future, result)
        if any(step.actions for step in news.steps) or news.everything:
            self.acting()

    def _show_changes(self, news: News) -> None:
        board = self.board
        board.lead(news.leading, news.leader)
        if news.everything:
            board.replace_all([life for life, _ in news.lives], {life.name: health for life, health in news.lives}, {})
        else:
            for life, health in news.lives:
                board.put(life, health)
        for node in news.reported:
            board.reported(node, news.now)
        board.outcomes.update(news.ended)
        if news.commit_seconds:
            board.commits.add(news.commit_seconds)
        for name in news.forgotten:
            board.forget(name)
        for step in news.steps:
            board.moved(transition_view(step.transition))
            event = step.transition.event
            if event.kind in TEST_ANSWERS and event.began is not None:
                board.tested(step.transition.at - event.began)
        if news.incidents or any(_left_service(step.transition) for step in news.steps):
            self.items.forget()
        for incident in news.incidents:
            board.publish("incident", incident)


def _left_service(moved: Transition) -> bool:
    return moved.after in OUT_OF_SERVICE and moved.before is not moved.after


def not_vouched(caller: Caller) -> Problem:
    """Problem 503: the agent keeps its reports and sends them after someone vouched for the node."""
    ways = f"a scheduler that knows it at its address does so, or an operator: holdfast token vouch {caller.name}"
    return Problem(503, f"{caller.name} waits for approval; {ways}", {"Retry-After": "60"}, code="not_vouched")


def _require_reason(text: str) -> None:
    if not 0 < len(text.strip()) <= commands.LONGEST_REASON:
        raise Problem(400, f"reason: expected 1 to {commands.LONGEST_REASON} characters")


def _answer(future: "asyncio.Future[Any]", result: Any) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
