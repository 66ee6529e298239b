"""Authorization of every Litestar route, with the refusal and its audit record."""

import logging
from typing import Any, get_type_hints

import msgspec
from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException
from litestar.handlers import BaseRouteHandler

from holdfast.fleet.api.access import Caller, bearer
from holdfast.fleet.api.problem import Problem, ProblemBody, headers_for
from holdfast.fleet.api.service import Service
from holdfast.fleet.store import StoreError
from holdfast.fleet.store.errors import public
from holdfast.model.records import AuditEntry
from holdfast.model.refusal import named
from holdfast.runtime import clock

log = logging.getLogger("holdfast.fleet.api")
Connection = ASGIConnection[Any, Any, Any, Any]
SESSION_COOKIE = "holdfast_session"
CSRF_HEADER = "X-Holdfast-Session"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


async def guard(connection: Connection, handler: BaseRouteHandler) -> None:
    """Checks the right that a route names in `opt`; a route without one is open."""
    right = handler.opt.get("right", "")
    if not right:
        return
    connection.state.caller = await authorize(connection, right)


async def authorize(connection: Connection, right: str) -> Caller:
    """The caller of this request, if it has the right now. Raises Problem."""
    service: Service = connection.app.state.service
    token = bearer(connection.headers.get("authorization", ""))
    session = "" if token else cookie_token(connection)
    if session and connection.scope["method"] not in SAFE_METHODS:  # type: ignore[typeddict-item]
        refuse_cross_site(connection)
    try:
        return await service.access.caller(token or session, right)
    except Problem as problem:
        if not session or problem.status != 401:
            raise
        return await service.access.caller("", right)  # the session ended: continue as anonymous


def cookie_token(connection: Connection) -> str:
    return connection.cookies.get(SESSION_COOKIE, "")


def refuse_cross_site(connection: Connection) -> None:
    """Refuses cross-site requests. A browser sends our cookie with requests of other sites, but these cannot set this
    header without a preflight, which we refuse. The origin that the browser reports must be our own page."""
    headers = connection.headers
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem(403, "a request with a session must come from this page", code="cross_site")
    if not headers.get(CSRF_HEADER):
        raise Problem(403, f"a request with a session needs the header {CSRF_HEADER}", code="cross_site")
    origin = headers.get("origin", "")
    if origin and origin.partition("://")[2] != headers.get("host", ""):
        raise Problem(403, "a request with a session must come from this page", code="cross_site")


def caller_of(request: Request[Any, Any, Any]) -> Caller:
    caller: Caller = request.state.caller
    return caller


def on_problem(request: Request[Any, Any, Any], problem: Problem) -> Response[bytes]:
    _note(request, problem.status, problem.sentence, problem.who)
    return _refusal(
        problem.status, problem.sentence, headers_for(problem, request.url.path, request.url.query), problem.code
    )


def on_http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Answers the framework's own errors (a wrong type, an unknown path) with our sentence."""
    if error.status_code >= 500:
        return on_mistake(request, error)
    _note(request, error.status_code, error.detail)
    return _refusal(error.status_code, _sentence(request, error), dict(error.headers or {}))


def on_store_error(request: Request[Any, Any, Any], error: StoreError) -> Response[bytes]:
    log.warning("the store does not answer: %s", error)
    return _refusal(503, f"the store does not answer: {public(error)}", {"Retry-After": "2"})


def on_mistake(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    log.error("internal error at %s %.200s", request.method, request.url.path, exc_info=error)
    return _refusal(500, "internal error; the controller's log has the details", {})


def on_deep_body(request: Request[Any, Any, Any], error: RecursionError) -> Response[bytes]:
    """Answers deeply nested JSON as a bad request, without a traceback in the log."""
    if request.method in SAFE_METHODS:
        return on_mistake(request, error)
    sentence = "the body nests too deep"
    _note(request, 400, sentence)
    return _refusal(400, sentence, {})


def _sentence(request: Request[Any, Any, Any], error: HTTPException) -> str:
    extra = error.extra if isinstance(error.extra, list) else []
    wrong = [(str(one.get("key", "")), str(one.get("message", ""))) for one in extra if isinstance(one, dict)]
    kinds = _kinds(request.route_handler) if wrong else {}
    where = [": ".join(filter(None, (key, named(words, kinds.get(key))))) for key, words in wrong]
    return " ".join(("; ".join(where) or error.detail).split())[:500]


def _kinds(handler: BaseRouteHandler) -> dict[str, Any]:
    """The parameters of a route with their types, those of a body field by field."""
    taken = {name: one.annotation for name, one in handler.parsed_fn_signature.parameters.items()}
    body = taken.get("data")
    return {**taken, **(get_type_hints(body) if isinstance(body, type) else {})}


def _refusal(status: int, sentence: str, headers: dict[str, str], code: str = "") -> Response[bytes]:
    body = msgspec.json.encode(ProblemBody(sentence, code))
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def _note(request: Request[Any, Any, Any], status: int, sentence: str, named: tuple[str, str] = ("", "")) -> None:
    """Audits a refused mutation or token, but not a mistyped address."""
    if status not in (401, 403) and request.method == "GET":
        return
    caller: Caller | None = request.state.get("caller")
    host = request.client.host if request.client else "unknown"
    who, role = (caller.name, caller.role.value) if caller else (named[0] or host, named[1])
    service: Service = request.app.state.service
    service.note(
        AuditEntry(
            at=clock.now(),
            who=who,
            role=role,
            verb=request.method.lower(),
            target=request.url.path[:200],
            outcome=f"refused {status}",
            reason=sentence[:500],
        )
    )
