"""Sign-in of the console: a session in an HttpOnly cookie, opened with a token or by OpenID Connect."""

import base64
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.datastructures import Cookie
from litestar.params import FromQuery, JSONBody
from litestar.response import Redirect

from holdfast.fleet.api.access import MAY, Caller
from holdfast.fleet.api.guard import SESSION_COOKIE, cookie_token, refuse_cross_site
from holdfast.fleet.api.oidc import SignInAttempt, SignInRefused
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.service import ServiceDep
from holdfast.fleet.api.slow_calls import SlowCalls, TooManyCalls
from holdfast.runtime import clock, codec

ATTEMPT_COOKIE = "holdfast_sign_in"
ATTEMPT_SECONDS = 600
ATTEMPT_PATH = "/v1/session"
LONGEST_BACK = 500
Asker = Request[Any, Any, Any]
SIGN_INS = SlowCalls("sign-in", 8)  # sign-ins come from unknown callers, and the provider may be slow


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    signed_in: bool
    name: str = ""
    role: str = ""
    may: tuple[str, ...] = ()
    open_reading: bool = False
    """Reading needs no sign-in here."""
    oidc: str = ""
    """What the button says that signs in by OpenID Connect; '' where it is not set up."""


@get("/v1/session", tags=["access"])
async def show_session(service: ServiceDep, request: Asker) -> SessionView:
    """The signed-in user of this browser, and the ways to sign in. Needs no token."""
    caller: Caller | None = None
    if token := cookie_token(request):
        try:
            caller = await service.access.caller(token, "read")
        except Problem:
            caller = None
    return _view(service, caller)


@post("/v1/session", status_code=200, tags=["access"])
async def open_session(service: ServiceDep, request: Asker, data: JSONBody[SessionRequest]) -> Response[SessionView]:
    """Open a session with a token. The cookie contains its own secret, not the token."""
    refuse_cross_site(request)
    if not (token := data.token.strip()):
        raise Problem(400, "token: expected the token to sign in with")
    caller = await service.access.caller(token, "read")
    return Response(_view(service, caller), cookies=[await _cookie(service, request, caller)])


@delete("/v1/session", status_code=200, tags=["access"])
async def close_session(service: ServiceDep, request: Asker) -> Response[SessionView]:
    """End the session here and in the store."""
    refuse_cross_site(request)
    if token := cookie_token(request):
        await service.close_session(token)
    return Response(_view(service, None), cookies=[Cookie(key=SESSION_COOKIE, value="", max_age=0, path="/")])


@get("/v1/session/oidc", tags=["access"], status_code=302)
async def begin_oidc(service: ServiceDep, request: Asker, back: FromQuery[str] = "") -> Redirect:
    """Redirect the browser to the identity provider."""
    client = service.oidc
    if client is None:
        raise Problem(404, "[oidc] is not in this controller's configuration")
    attempt = SignInAttempt.new(back[:LONGEST_BACK])
    try:
        address = await SIGN_INS.run(partial(client.begin, attempt))
    except SignInRefused as error:
        raise Problem(502, str(error)) from None
    except TooManyCalls as error:
        raise Problem(503, str(error), {"Retry-After": "10"}) from None
    packed = base64.urlsafe_b64encode(msgspec.json.encode(attempt)).decode()
    # Lax: the provider sends the browser back from another site, and this cookie must come along.
    cookie = Cookie(
        key=ATTEMPT_COOKIE,
        value=packed,
        max_age=ATTEMPT_SECONDS,
        path=ATTEMPT_PATH,
        httponly=True,
        secure=_secure(service),
        samesite="lax",
    )
    return Redirect(address, cookies=[cookie], status_code=302)


@get("/v1/session/oidc/callback", tags=["access"], status_code=302)
async def finish_oidc(service: ServiceDep, request: Asker) -> Redirect:
    """The redirect address for the identity provider."""
    client = service.oidc
    code, state, error = (request.query_params.get(name, "") for name in ("code", "state", "error"))
    attempt = _attempt(request.cookies.get(ATTEMPT_COOKIE, ""))
    spent = Cookie(key=ATTEMPT_COOKIE, value="", max_age=0, path=ATTEMPT_PATH)
    if client is None or attempt is None:
        return _failed("this sign-in took too long or began in another browser; try again", spent)
    if error or not code:
        return _failed(f"the identity provider refused: {error[:200] or 'no code'}", spent)
    try:
        person = await SIGN_INS.run(partial(client.finish, attempt, code, state))
    except (SignInRefused, TooManyCalls) as refusal:
        return _failed(str(refusal), spent)
    caller = Caller(person.name, person.role)
    cookies = [spent, await _cookie(service, request, caller)]
    # Only a place on our own page: the fragment never leaves it.
    return Redirect(f"/#/{quote(attempt.back.lstrip('#/'), safe='/?=&:@%')}", cookies=cookies, status_code=302)


def _failed(why: str, *cookies: Cookie) -> Redirect:
    return Redirect(f"/#/sign-in?why={quote(why)}", cookies=list(cookies), status_code=302)


def _attempt(packed: str) -> SignInAttempt | None:
    try:
        return codec.decode(base64.urlsafe_b64decode(packed), SignInAttempt)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None


async def _cookie(service: ServiceDep, request: Asker, caller: Caller) -> Cookie:
    token, expires = await service.open_session(caller)
    return Cookie(
        key=SESSION_COOKIE,
        value=token,
        max_age=max(0, int(expires - clock.now())),
        path="/",
        httponly=True,
        secure=_secure(service),
        samesite="strict",
    )


def _secure(service: ServiceDep) -> bool:
    """Whether the page is served over TLS, by us or by a proxy whose address is configured."""
    return service.address.startswith("https://")


def _view(service: ServiceDep, caller: Caller | None) -> SessionView:
    oidc = service.oidc.settings.label if service.oidc is not None else ""
    return SessionView(
        signed_in=caller is not None,
        name=caller.name if caller else "",
        role=caller.role.value if caller else "",
        may=tuple(right for right, roles in MAY.items() if caller and caller.role in roles),
        open_reading=service.access.open_reading,
        oidc=oidc,
    )


ROUTES = [show_session, open_session, close_session, begin_oidc, finish_oidc]
