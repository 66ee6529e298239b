"""Reporter: sends changes at once, a heartbeat every 30 s and a digest each minute, until acknowledged.

On a thread of its own, behind a queue: neither a slow controller nor a slow disk delays evaluation.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from holdfast.model.assets import Part
from holdfast.model.signal import Event
from holdfast.model.wire.keeper import KeeperReport
from holdfast.model.wire.progress import RankWindow
from holdfast.model.wire.report import MOST_PARTS, JobSeen, OrderOutcome, Report, VerdictChange
from holdfast.node.agent.node import CheckChange
from holdfast.node.agent.orders.handler import Order
from holdfast.node.agent.reporting.backoff import Backoff
from holdfast.node.agent.reporting.bounds import chunks, loss, shortened, verdict_change
from holdfast.node.agent.reporting.connection import ControllerLink, HttpAnswer, LinkDown
from holdfast.node.agent.reporting.enrolment import Enrolment, NotEnrolled
from holdfast.node.agent.reporting.spool import Spool, SpoolEntry
from holdfast.runtime import codec, threads

log = logging.getLogger("holdfast.node.agent")
UNREPORTED = "reports"

HEARTBEAT_SECONDS = 30.0
DIGEST_SECONDS = 60.0
PARTS_SECONDS = 3_600.0
FOLLOW_UP_SECONDS = (2.0, 5.0, 10.0)  # heartbeats after a change: the acknowledgement may carry orders
MOST_REPORTS = 200  # in one request
MOST_BYTES = 512 << 10  # in one request; a controller takes 1 MB
TOGETHER = 100  # changes or events in one report, so that a report is never too large for a request
BAD_REPORT = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class Update:
    changes: Sequence[CheckChange] = ()
    events: Sequence[Event] = ()
    outcomes: Sequence[OrderOutcome] = ()
    jobs: bool = False  # the jobs or their progress changed; every report contains them


class _Acknowledged(msgspec.Struct):
    accepted: list[bool]
    orders: list[Order] = []
    resend_all: bool = False
    renew: bool = False
    closed: str = ""
    cancel: list[int] = []
    dropped: int = 0
    flush_seconds: float = 0.0


class Reporter:
    def __init__(
        self,
        node: str,
        session: str,
        spool: Spool,
        link: ControllerLink,
        enrolment: Enrolment,
        clock: Callable[[], float],
        digest: Callable[[], bytes] = lambda: b"",
        twin: bool = False,
        jobs: Callable[[], tuple[JobSeen, ...] | None] = lambda: None,
        progress: Callable[[], tuple[RankWindow, ...]] = tuple,
        unsaved: Callable[[], tuple[str, ...]] = tuple,
        keepers: Callable[[], tuple[KeeperReport, ...]] = tuple,
        parts: Callable[[], tuple[Part, ...]] = tuple,
    ) -> None:
        self._node, self._session, self._twin = node, session, twin
        self._spool, self._link, self._enrolment = spool, link, enrolment
        self._clock, self._digest, self._jobs, self._progress = clock, digest, jobs, progress
        self._unsaved, self._keepers, self._parts = unsaved, keepers, parts
        self._parts_sent: tuple[Part, ...] = ()
        self._parts_due = 0.0
        self._news: queue.SimpleQueue[Update | None] = queue.SimpleQueue()
        self._take_orders: Callable[[list[Order]], None] = lambda orders: None
        self._take_cancelled: Callable[[list[int]], None] = lambda numbers: None
        self._take_closed: Callable[[str], None] = lambda why: None
        self._take_flush: Callable[[float], None] = lambda seconds: None
        self._verdicts: Callable[[], Sequence[CheckChange]] = tuple
        self._seq = 0
        self._credential, self._newly_enrolled = "", False
        self._digest_at = 0.0
        self._beats_due = [0.0]  # the last of them is the regular one
        self._backoff = Backoff()
        self._try_at = 0.0
        self._waits_for = ""
        self._one_by_one = False

    def on_cancelled(self, take: Callable[[list[int]], None]) -> None:
        self._take_cancelled = take

    def on_orders(self, take: Callable[[list[Order]], None]) -> None:
        self._take_orders = take

    def on_closed(self, take: Callable[[str], None]) -> None:
        """Called with every acknowledgement: why nothing may start here, or ''."""
        self._take_closed = take

    def on_flush(self, take: Callable[[float], None]) -> None:
        """Called with every acknowledgement while the node is being released: how long the release waits for
        storage."""
        self._take_flush = take

    def on_resend(self, verdicts: Callable[[], Sequence[CheckChange]]) -> None:
        """Send every current verdict: the controller lacks earlier reports because its store is an old copy."""
        self._verdicts = verdicts

    def start(self) -> None:
        threading.Thread(target=self.run, name="reporter", daemon=True).start()

    def stop(self) -> None:
        self._news.put(None)

    @property
    def trouble(self) -> str:
        return self._spool.trouble

    def add(self, changes: Sequence[CheckChange] = (), events: Sequence[Event] = ()) -> None:
        if changes or events:
            self._news.put(Update(changes, events))

    def report_jobs(self) -> None:
        self._news.put(Update(jobs=True))

    def answer(self, outcome: OrderOutcome) -> None:
        self._news.put(Update(outcomes=(outcome,)))

    def run(self) -> None:
        threads.run_contained("reporter", lambda: self.step(self._wait_seconds()))
        self._link.close()

    def step(self, wait: float) -> bool:
        """Wait for changes, write them to the spool, send the spool; False when stopped."""
        going_on = self._spool_news(wait)
        now = self._clock()
        if now >= self._beats_due[0]:
            self._spool_heartbeat(now)
        while going_on and len(self._spool) and self._clock() >= self._try_at:
            self._send()
        return going_on

    def _wait_seconds(self) -> float:
        now = self._clock()
        due = self._beats_due[0]
        if len(self._spool):
            due = min(due, self._try_at)
        return max(0.0, due - now)

    def _spool_news(self, wait: float) -> bool:
        waiting: list[Update] = []
        try:
            news = self._news.get(timeout=wait) if wait > 0 else self._news.get_nowait()
            while news is not None:
                waiting.append(news)
                news = self._news.get_nowait()
            return False
        except queue.Empty:
            return True
        finally:
            self._spool_reports(waiting)

    def _spool_reports(self, waiting: Sequence[Update]) -> None:
        """All pending changes in one report, or in several if they do not fit."""
        changes = chunks([verdict_change(change) for news in waiting for change in news.changes], TOGETHER)
        events = chunks([shortened(event) for news in waiting for event in news.events], TOGETHER)
        outcomes = [outcome for news in waiting for outcome in news.outcomes]
        jobs = any(news.jobs for news in waiting)
        while changes or events or outcomes or jobs:
            now = self._clock()
            self._spool_report(now, changes.pop(0) if changes else (), events.pop(0) if events else (), tuple(outcomes))
            outcomes, jobs = [], False

    def _spool_report(
        self,
        now: float,
        changes: Sequence[VerdictChange] = (),
        events: Sequence[Event] = (),
        outcomes: Sequence[OrderOutcome] = (),
    ) -> None:
        """Drop only the entry that cannot be encoded; send the others one by one."""
        try:
            report = replace(self._report(now), changes=tuple(changes), events=tuple(events), outcomes=tuple(outcomes))
            self._spool.add(report, now)
        except (ValueError, OverflowError) as error:
            if len(changes) + len(events) + len(outcomes) <= 1:
                threads.process.failed(UNREPORTED, error)
                log.error("a report is dropped: %s", error)
                return
            for change in changes:
                self._spool_report(now, changes=[change])
            for event in events:
                self._spool_report(now, events=[event])
            for outcome in outcomes:
                self._spool_report(now, outcomes=[outcome])

    def _spool_heartbeat(self, now: float) -> None:
        self._beats_due = [due for due in self._beats_due if due > now] or [now + HEARTBEAT_SECONDS]
        digest = b""
        if now - self._digest_at >= DIGEST_SECONDS - 1:
            self._digest_at, digest = now, self._digest()
        beat = replace(self._report(now), heartbeat=True, digest=digest)
        self._spool.add(replace(beat, parts=self._new_parts(now)) if digest else beat, now)

    def _new_parts(self, now: float) -> tuple[Part, ...]:
        """All parts when one changed, and once an hour, because a controller may have lost them."""
        parts = self._parts()[:MOST_PARTS]
        if parts == self._parts_sent and now < self._parts_due:
            return ()
        self._parts_sent, self._parts_due = parts, now + PARTS_SECONDS
        return parts

    def _report(self, now: float) -> Report:
        """Add the jobs of this node. Users choose job names: a name that cannot be encoded is left out, and the node
        still reports."""
        self._seq += 1
        bare = Report(node=self._node, session=self._session, seq=self._seq, at=now, twin=self._twin)
        try:
            return replace(
                bare,
                jobs=self._jobs(),
                progress=self._progress(),
                unsaved=self._unsaved(),
                keepers=self._keepers(),
            )
        except (ValueError, OverflowError) as error:
            threads.process.failed(UNREPORTED, error)
            log.error("the jobs of this node cannot be reported: %s", error)
            return bare

    def _send(self) -> None:
        try:
            if not self._credential:
                self._credential = self._enrolment.credential(self._link)
            batch = self._spool.batch(1 if self._one_by_one else MOST_REPORTS, MOST_BYTES)
            if not batch:
                return
            body = b"[" + b",".join(text for _, text in batch) + b"]"
            answer = self._link.post("/v1/reports", body, self._credential, self._clock())
            self._take_answer(answer, [entry for entry, _ in batch])
        except (LinkDown, NotEnrolled) as error:
            self._wait(str(error))

    def _take_answer(self, answer: HttpAnswer, sent: list[SpoolEntry]) -> None:
        if answer.status == 200:
            self._take_acknowledgement(answer, sent)
        elif answer.status == 401:
            self._enrol_again(answer)
        elif answer.status in BAD_REPORT and len(sent) > 1:
            self._one_by_one = True  # one report is invalid; the others must not wait for it
        elif answer.status in BAD_REPORT:
            log.error("report %d was refused and is dropped: %s", sent[0].seq, answer.message)
            self._spool.give_up(sent)
        else:
            self._wait(f"the controller refused our reports: {answer.message}")

    def _enrol_again(self, answer: HttpAnswer) -> None:
        """Enrols again. If the new credential does not work either, the agent waits before it requests another."""
        if self._newly_enrolled:
            self._newly_enrolled, self._credential = False, ""
            self._wait(f"the controller refuses the credential it gave us: {answer.message}")
            return
        self._credential = ""
        self._credential = self._enrolment.enrol(self._link)
        self._newly_enrolled = True

    def _take_acknowledgement(self, answer: HttpAnswer, sent: list[SpoolEntry]) -> None:
        try:
            reported = codec.decode(answer.body, _Acknowledged)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._wait("the controller's answer cannot be read")
            return
        if self._waits_for:
            log.info("the controller answers again; %d reports were waiting", len(self._spool))
        self._backoff.reset()
        self._try_at = 0.0
        self._waits_for, self._newly_enrolled = "", False
        self._spool.acknowledge(sent)
        if any(entry.news for entry in sent):
            now = self._clock()
            self._beats_due = [now + seconds for seconds in (*FOLLOW_UP_SECONDS, HEARTBEAT_SECONDS)]
        if not len(self._spool):
            self._one_by_one = False
            self._report_losses()
        self._take_closed(reported.closed)
        if reported.flush_seconds > 0:
            self._take_flush(reported.flush_seconds)
        self._take_orders(reported.orders)
        self._take_cancelled(reported.cancel)
        if reported.dropped:
            log.warning("the controller dropped %d events or subjects that are not of this node", reported.dropped)
        if reported.resend_all:
            log.warning("the controller lacks earlier reports of ours; every verdict is reported again")
            self.add(self._verdicts())
        if reported.renew:
            self._renew()

    def _renew(self) -> None:
        """Renew the credential before it expires. The old one is still valid, so a failed renewal is retried with the
        next report."""
        try:
            self._credential = self._enrolment.renew(self._link, self._credential)
        except NotEnrolled as error:
            log.warning("%s", error)

    def _wait(self, why: str) -> None:
        """Logged once, not at every retry."""
        if why != self._waits_for:
            log.warning("%s; reports wait on disk", why)
        self._waits_for = why
        now = self._clock()
        self._try_at = now + self._backoff.next_seconds(now)

    def _report_losses(self) -> None:
        lost = self._spool.take_losses()
        if lost.heartbeats or lost.reports:
            now = self._clock()
            self._spool.add(replace(self._report(now), events=(loss(lost, now),)), now)
