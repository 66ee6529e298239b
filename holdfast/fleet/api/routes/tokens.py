"""Routes of tokens: owner, scope, expiry. Token values are not stored."""

import asyncio
from dataclasses import dataclass

from litestar import get
from litestar.params import FromQuery

from holdfast.fleet.api.service import ServiceDep
from holdfast.model.records import Credential, JoinToken
from holdfast.runtime import clock

JOIN = "join"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenView:
    hash: str
    """What `revoke` takes for this one alone."""
    role: str
    """viewer, operator, admin or agent; join, for those with which agents enrol."""
    name: str
    """Whose it is; of a join token, who made it."""
    created: float
    expires: float
    revoked: float | None
    uses_left: int | None
    """Of a join token."""
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensView:
    tokens: tuple[TokenView, ...]


@get("/v1/tokens", opt={"right": "administer"}, tags=["access"])
async def list_tokens(service: ServiceDep, role: FromQuery[str] = "", ended: FromQuery[bool] = False) -> TokensView:
    """Tokens by role and name, optionally of one role. `ended` adds expired, revoked and used-up tokens."""
    now = clock.now()
    holders = await asyncio.to_thread(service.store.credentials)
    joining = await asyncio.to_thread(service.store.join_tokens)
    shown = [_of_holder(one, now) for one in holders] + [_of_joining(one, now) for one in joining]
    chosen = [one for one in shown if role in ("", one.role) and (one.valid or ended)]
    return TokensView(tokens=tuple(sorted(chosen, key=lambda one: (one.role, one.name, one.created))))


def _of_holder(one: Credential, now: float) -> TokenView:
    return TokenView(
        hash=one.token_hash,
        role=one.role.value,
        name=one.name,
        created=one.created,
        expires=one.expires,
        revoked=one.revoked,
        uses_left=None,
        valid=one.valid(now),
    )


def _of_joining(one: JoinToken, now: float) -> TokenView:
    return TokenView(
        hash=one.token_hash,
        role=JOIN,
        name=one.created_by,
        created=one.created,
        expires=one.expires,
        revoked=one.revoked,
        uses_left=one.uses_left,
        valid=one.valid(now),
    )


ROUTES = [list_tokens]
