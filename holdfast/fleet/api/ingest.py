"""POST /v1/reports: the hot path of every agent, handled outside the framework."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import msgspec

from holdfast.fleet.api.access import Caller, bearer
from holdfast.fleet.api.problem import Problem, ProblemBody, elsewhere, headers_for
from holdfast.fleet.api.report_quota import ReportQuota
from holdfast.fleet.api.service import Service
from holdfast.fleet.api.skew import HEADER, Clocks, on_our_clock
from holdfast.fleet.store import StoreError
from holdfast.fleet.store.errors import public
from holdfast.model.records import AuditEntry
from holdfast.model.wire.report import Report
from holdfast.runtime import clock, codec

log = logging.getLogger("holdfast.fleet.api")
PATH = "/v1/reports"
LARGEST_BODY = 1 << 20
MOST_REPORTS = 500
TAKEOVER_SECONDS = 8.0  # a report waits this long for a leader; its agent waits 15 s for the answer
MOST_HELD = 4_000
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_decoder = codec.decoder(list[Report])
_encoder = msgspec.json.Encoder()


class Ingest:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._clocks = Clocks()
        self._quota = ReportQuota()
        self._held = 0  # reports that wait for a leader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller | None = None
        try:
            caller = await self._service.access.caller(_token(scope), "report")
            with self._quota.request(caller.name):
                if not self._service.board.leading:
                    await self._takeover()
                body = await _body(scope, receive)
                if not self._service.board.demo:  # simulated nodes have a faster clock
                    self._quota.spend(caller.name, len(body))
                reports = decode(body)
                behind = self._clocks.seconds_behind(caller.name, _header(scope, HEADER), clock.now())
                ack = await self._service.take(caller, _on_our_clock(reports, behind))
        except Problem as problem:
            self._note(problem, caller, scope)
            await _answer(send, problem.status, ProblemBody(problem.sentence), headers_for(problem, PATH))
        except StoreError as error:
            log.warning("the store does not answer: %s", error)
            await _answer(send, 503, ProblemBody(f"the store does not answer: {public(error)}"), {"Retry-After": "2"})
        except Exception:
            log.exception("internal error at %s", PATH)
            await _answer(send, 500, ProblemBody("internal error; the controller's log has the details"), {})
        else:
            await _answer(send, 200, ack, {})

    async def _takeover(self) -> None:
        """Lets a report wait while there is no leader, because this controller may lead soon. After a refusal, every
        agent would reconnect just when a new leader has the most work."""
        board = self._service.board
        store_fails = any(one.name == "store" for one in board.components.failing)
        if not (board.leader or store_fails or self._held >= MOST_HELD):
            self._held += 1
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(TAKEOVER_SECONDS):
                        await board.led.wait()
            finally:
                self._held -= 1
        if not board.leading:
            raise elsewhere(board.leader)

    def _note(self, problem: Problem, caller: Caller | None, scope: Scope) -> None:
        if problem.status in (307, 503):
            return
        client = scope.get("client") or ("unknown",)
        named = problem.who if problem.who[0] else (str(client[0]), "")
        who, role = (caller.name, caller.role.value) if caller else named
        outcome = f"refused {problem.status}"
        entry = AuditEntry(
            at=clock.now(), who=who, role=role, verb="report", target=PATH, outcome=outcome, reason=problem.sentence
        )
        self._service.note(entry)


def decode(body: bytes) -> list[Report]:
    """Decodes reports. Raises a Problem that names the error."""
    try:
        reports = _decoder.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Problem(400, f"expected a JSON list of reports: {_short(error)}") from None
    if not 0 < len(reports) <= MOST_REPORTS:
        raise Problem(400, f"expected 1 to {MOST_REPORTS} reports, found {len(reports)}")
    return reports


def _on_our_clock(reports: list[Report], behind: float) -> list[Report]:
    try:
        return [on_our_clock(report, behind) for report in reports]
    except ValueError as error:  # the corrected times exceed their bounds
        raise Problem(400, f"a time of a report is too far from the clock of its agent: {_short(error)}") from None


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _token(scope: Scope) -> str:
    return bearer(_header(scope, b"authorization").decode("latin-1"))


def _header(scope: Scope, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Reads the body. A body that is too long is refused by its stated length, or while it is read."""
    stated = _header(scope, b"content-length")
    if stated.isdigit() and int(stated[:20]) > LARGEST_BODY:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "the request ended before its body did")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            raise _too_large()
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large() -> Problem:
    return Problem(413, f"expected at most {LARGEST_BODY} bytes of reports", {"Connection": "close"})


async def _answer(send: Send, status: int, body: object, headers: Any) -> None:
    encoded = _encoder.encode(body)
    shown = [(b"content-type", b"application/json"), (b"content-length", str(len(encoded)).encode())]
    shown += [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": shown})
    await send({"type": "http.response.body", "body": encoded})
