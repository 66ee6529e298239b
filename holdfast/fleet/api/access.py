"""Who asks: a bearer token, known by its hash, found in a small cache or in the store."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.store.credentials import token_hash
from holdfast.model.records import Credential, Role
from holdfast.runtime import clock

CACHE_SECONDS = 120.0  # a revocation is taken by the leader, which forgets at once; others learn of it in this time
MOST_CACHED = 50_000
LONGEST_TOKEN = 512
LAST_SHARE = 1 / 3  # of a credential's life, in which its holder is told to get another
_READERS = frozenset({Role.VIEWER, Role.OPERATOR, Role.ADMIN})
MAY = {
    "report": frozenset({Role.AGENT}),
    "tell": frozenset({Role.AGENT, Role.OPERATOR, Role.ADMIN}),
    "read": _READERS,
    "operate": frozenset({Role.OPERATOR, Role.ADMIN}),
    "administer": frozenset({Role.ADMIN}),
}
Find = Callable[[str], Awaitable[Credential | None]]


@dataclass(frozen=True, slots=True)
class Caller:
    name: str
    role: Role
    expires_soon: bool = False


ANONYMOUS = Caller("anonymous", Role.VIEWER)


class Access:
    """`find` looks a hash up in the store. With `anonymous`, reading needs no token: a demo on loopback."""

    def __init__(self, find: Find, *, anonymous: bool = False, clock: Callable[[], float] = clock.now) -> None:
        self._find = find
        self._anonymous = anonymous
        self._clock = clock
        self._known: dict[str, tuple[Credential, float]] = {}

    def forget(self) -> None:
        """Something was revoked: everybody is looked up again."""
        self._known.clear()

    async def caller(self, token: str, right: str) -> Caller:
        """Who holds this token, if it gives that right. Raises Problem 401 or 403 in one sentence."""
        if not token:
            if self._anonymous and right == "read":
                return ANONYMOUS
            raise Problem(401, "expected the header 'Authorization: Bearer TOKEN'", {"WWW-Authenticate": "Bearer"})
        credential = await self._credential(token)
        if credential is None or not credential.valid(self._clock()):
            raise Problem(401, "this token is unknown, expired or revoked", {"WWW-Authenticate": "Bearer"})
        if credential.role not in MAY[right]:
            who = (credential.name, credential.role.value)
            raise Problem(403, f"a token of role {credential.role.value} may not {right}", who=who)
        return Caller(credential.name, credential.role, _expires_soon(credential, self._clock()))

    async def _credential(self, token: str) -> Credential | None:
        if len(token) > LONGEST_TOKEN:
            return None
        hashed = token_hash(token)
        now = self._clock()
        held = self._known.get(hashed)
        if held is not None and now - held[1] < CACHE_SECONDS:
            return held[0]
        credential = await self._find(hashed)
        if credential is None:
            self._known.pop(hashed, None)
        else:
            if len(self._known) >= MOST_CACHED:
                self._known.clear()
            self._known[hashed] = (credential, now)
        return credential


def _expires_soon(credential: Credential, now: float) -> bool:
    return credential.expires - now < LAST_SHARE * (credential.expires - credential.created)


def bearer(header: str) -> str:
    """The token of an Authorization header, '' if there is none."""
    kind, _, token = header.strip().partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""
