"""Authentication: a bearer token, looked up by its hash in a small cache or in the store."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.store.credentials import token_hash
from holdfast.formats.slurm import hostlist
from holdfast.model.records import Credential, Role
from holdfast.runtime import clock

CACHE_SECONDS = 120.0  # the leader drops a revoked credential at once; other controllers within this time
MOST_CACHED = 50_000
LONGEST_TOKEN = 512
LAST_SHARE = 1 / 3  # share of a credential's validity in which its holder should renew it
_READERS = frozenset({Role.VIEWER, Role.OPERATOR, Role.ADMIN})
MAY = {
    "report": frozenset({Role.AGENT}),
    "report signals": frozenset({Role.AGENT, Role.OPERATOR, Role.ADMIN}),
    "read": _READERS,
    "read own nodes": _READERS | {Role.JOB},
    "retest own nodes": frozenset({Role.JOB, Role.OPERATOR, Role.ADMIN}),
    "operate": frozenset({Role.OPERATOR, Role.ADMIN}),
    "administer": frozenset({Role.ADMIN}),
}
MOST_PER_LOOKUP = 500
Find = Callable[[str], Awaitable[Credential | None]]
FindMany = Callable[[Sequence[str]], Mapping[str, Credential]]


@dataclass(frozen=True, slots=True)
class Caller:
    name: str
    role: Role
    expires_soon: bool = False
    vouched: bool = True
    """False for an agent whose node waits for approval."""
    nodes: frozenset[str] = frozenset()
    """Of a job's token: its nodes by name."""
    job: str = ""
    token_hash: str = ""
    """Of the token that was shown; '' of who signed in otherwise."""
    expires: float = float("inf")
    is_session: bool = False

    def may_see(self, node: str, jobs: Collection[str]) -> bool:
        """Whether the caller may see this node; `jobs` are those that hold it now."""
        return self.role is not Role.JOB or node in self.nodes or bool(self.job and self.job in jobs)


ANONYMOUS = Caller("anonymous", Role.VIEWER)


@lru_cache(maxsize=1024)
def _nodes_of(listed: str) -> frozenset[str]:
    """The nodes of a token. Cached, because expanding many names for each request is slow."""
    return frozenset(hostlist.expand(listed)) if listed else frozenset()


class Access:
    """`find` looks a hash up in the store. With `anonymous`, reading needs no token: a demo on loopback."""

    def __init__(self, find: Find, *, anonymous: bool = False, clock: Callable[[], float] = clock.now) -> None:
        self._find = find
        self._anonymous = anonymous
        self._clock = clock
        self._known: dict[str, tuple[Credential, float]] = {}

    @property
    def open_reading(self) -> bool:
        return self._anonymous

    def forget(self) -> None:
        """Clears the cache after a revocation."""
        self._known.clear()

    async def caller(self, token: str, right: str) -> Caller:
        """The holder of this token, if the token gives the right. Raises Problem 401 or 403."""
        if not token:
            if self._anonymous and ANONYMOUS.role in MAY[right]:
                return ANONYMOUS
            raise Problem(401, "expected the header 'Authorization: Bearer TOKEN'", {"WWW-Authenticate": "Bearer"})
        credential = await self._credential(token)
        if credential is None or not credential.valid(self._clock()):
            raise Problem(401, "this token is unknown, expired or revoked", {"WWW-Authenticate": "Bearer"})
        if credential.role not in MAY[right]:
            who = (credential.name, credential.role.value)
            raise Problem(403, f"a token of role {credential.role.value} may not {right}", who=who)
        return Caller(
            credential.name,
            credential.role,
            _expires_soon(credential, self._clock()),
            credential.vouched,
            _nodes_of(credential.nodes),
            credential.job,
            credential.token_hash,
            credential.expires,
            bool(credential.opened_with),
        )

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
    """The token of an Authorization header; '' without one."""
    kind, _, token = header.strip().partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


class CredentialCache:
    """Looks tokens up in the store in batches: after a failover all agents of a fleet are unknown at once.

    One query runs at a time; requests meanwhile share the next one. Used only on the event loop."""

    def __init__(self, find: FindMany) -> None:
        self._find = find
        self._waiting: dict[str, asyncio.Future[Credential | None]] = {}
        self._asking: asyncio.Task[None] | None = None
        # a separate thread, because reports must not wait for other requests
        self._thread = ThreadPoolExecutor(1, "credentials")

    async def __call__(self, hashed: str) -> Credential | None:
        future = self._waiting.get(hashed)
        if future is None:
            future = self._waiting[hashed] = asyncio.get_running_loop().create_future()
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(future)

    async def _ask(self) -> None:
        try:
            while self._waiting:
                asked = {hashed: self._waiting.pop(hashed) for hashed in list(self._waiting)[:MOST_PER_LOOKUP]}
                await self._answer(asked)
        finally:
            self._asking = None

    async def _answer(self, asked: Mapping[str, "asyncio.Future[Credential | None]"]) -> None:
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._thread, self._find, list(asked))
        except Exception as error:  # noqa: BLE001  whoever waits is given it: without an answer they would wait for ever
            for future in asked.values():
                future.set_exception(error)
        else:
            for hashed, future in asked.items():
                future.set_result(found.get(hashed))
