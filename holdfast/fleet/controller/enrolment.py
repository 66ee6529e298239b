"""Enrolment: a join token becomes a node credential. A node without an operator's approval has no effect yet.

A stolen join token must not be a weapon against the fleet. It is bound to names or a network, it is for one node unless
its maker says more, and a token for several nodes does not vouch for them: the scheduler does, if it knows the name at
the address from which the node enrolled, or an operator.
"""

import asyncio
import ipaddress
import re
import socket
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial

from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.views.common import Enrolled, EnrolRequest, VouchRequest
from holdfast.fleet.controller.transaction import ReportWork, Transaction
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.store import Store
from holdfast.fleet.store.credentials import bound_hash, new_token, token_hash
from holdfast.formats.slurm import hostlist
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import AuditEntry, Credential, JoinToken, PendingNode, Role

CREDENTIAL_SECONDS = 90 * 86_400.0
MOST_CREDENTIALS = 3  # credentials of a node: the current one, its successor, and one whose successor got lost
MOST_PENDING = 10_000
HOUR = 3_600.0
TOKEN = re.compile(r"[\w-]{1,256}", re.ASCII)
NOT_HELD = "this join token is unknown, expired, revoked or used up"


class NewNodes:
    """Counts new node names that enrolled in the last hour. Used only in the writer's thread."""

    def __init__(self, most: int) -> None:
        """`most`: limit per hour; 0: none."""
        self._most = most
        self._times: deque[float] = deque()

    def add(self, now: float) -> None:
        while self._times and now - self._times[0] >= HOUR:
            self._times.popleft()
        if self._most and len(self._times) >= self._most:
            wait = max(1, int(HOUR - (now - self._times[0])))
            why = f"{self._most} new nodes enrolled within an hour, which is the limit (new_nodes_per_hour)"
            raise Problem(429, f"{why}; try again in {wait} s", {"Retry-After": str(wait)})
        self._times.append(now)


def enrol(
    ask: EnrolRequest, address: str, demo: bool, new_nodes: NewNodes, transaction: Transaction, fresh: Sequence[bool]
) -> Enrolled:
    """Issues a credential for one node. If an agent already reports for this name, no join token is enough."""
    if ask.twin and not demo:
        raise Problem(403, "simulated nodes are accepted only by a controller in demo mode")
    token, now = new_token(), transaction.now
    credential = Credential(
        token_hash=token_hash(token), name=ask.node, role=Role.AGENT, created=now, expires=now + CREDENTIAL_SECONDS
    )
    used = _usable(ask, address, transaction)
    if ask.node not in transaction.fleet.nodes and not ask.twin:
        new_nodes.add(now)
    if not transaction.store.enrol(used.token_hash, credential, now):
        raise Problem(403, NOT_HELD)
    pending = not (used.vouches or ask.twin)
    if pending:
        _wait(ask, address, credential, transaction)
    else:
        _admit(ask.node, ask.pool, ask.place, transaction, twin=ask.twin)
    outcome = "pending" if pending else "done"
    _audit(transaction, ask.node, Role.AGENT.value, "enrol", ask.node, outcome, f"pool {ask.pool}, from {address}")
    return Enrolled(credential=token, expires=credential.expires, pending=pending)


def _usable(ask: EnrolRequest, address: str, transaction: Transaction) -> JoinToken:
    """The join token, if this node may use it; raises Problem otherwise. A wrong name or network does not use the token
    up."""
    store, now = transaction.store, transaction.now
    if not TOKEN.fullmatch(ask.join_token):  # "gpu-1:..." has the hash of a token that is bound to gpu-1
        raise Problem(403, NOT_HELD)
    own = store.join_token(bound_hash(ask.node, ask.join_token))
    if own is not None and own.valid(now):
        _require_network(own, address)
        return replace(own, vouches=True)
    if not ask.twin and store.is_held(ask.node, now):
        ways = f"make a join token with --node {ask.node}, or revoke {ask.node}"
        raise Problem(403, f"an agent reports as {ask.node} already; if it was reinstalled: {ways}")
    found = store.join_token(token_hash(ask.join_token))
    if found is None or not found.valid(now):
        raise Problem(403, NOT_HELD)
    if not names_fit(found.nodes, ask.node):
        raise Problem(403, f"this join token is not for {ask.node}: it is for {found.nodes[:200]}")
    _require_network(found, address)
    return found


def _require_network(token: JoinToken, address: str) -> None:
    if not address_fits(token.network, address):
        raise Problem(403, f"this join token is not for {address}: it is for nodes in {token.network}")


def names_fit(nodes: str, name: str) -> bool:
    return not nodes or any(one == name or fnmatchcase(name, one) for one in _expanded(nodes))


@lru_cache(maxsize=64)
def _expanded(nodes: str) -> tuple[str, ...]:
    return tuple(hostlist.expand(nodes))


def address_fits(network: str, address: str) -> bool:
    if not network:
        return True
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network)
    except ValueError:
        return False


def _wait(ask: EnrolRequest, address: str, credential: Credential, transaction: Transaction) -> None:
    """Registers a pending node. Only one may wait per name, so that an operator cannot vouch for the wrong one. The
    same machine may ask again."""
    for known in transaction.store.pending_now(ask.node, MOST_PENDING):
        if known.address != address:
            why = f"{known.address} enrolled as {ask.node} already and waits for approval"
            raise Problem(403, f"{why}; vouch for it or revoke it: holdfast token pending")
        transaction.store.revoke(known.token_hash, transaction.now)
    if len(transaction.store.pending_now(None, MOST_PENDING)) >= MOST_PENDING:
        raise Problem(429, f"{MOST_PENDING} nodes already wait for approval", {"Retry-After": "600"})
    transaction.store.add_pending(
        PendingNode(
            token_hash=credential.token_hash,
            name=ask.node,
            pool=ask.pool,
            place=dict(ask.place),
            address=address,
            at=transaction.now,
        )
    )


def _admit(name: str, pool: str, place: Mapping[str, str], transaction: Transaction, *, twin: bool = False) -> None:
    transaction.decide(transaction.fleet.enrol(name, pool, place, transaction.now, twin))
    transaction.reported.add(name)
    transaction.touched.add(name)


def vouch(ask: VouchRequest, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> PendingNode:
    """An operator vouches for a pending node."""
    found = transaction.store.pending_now(ask.name, MOST_PENDING)
    chosen = [one for one in found if ask.hash in ("", one.token_hash)]
    if not chosen:
        raise Problem(404, f"no node called {ask.name[:80]!r} waits for approval")
    if len(chosen) > 1:
        raise Problem(409, f"several nodes wait as {ask.name}; name one by its hash", code="several_pending")
    _vouched(chosen[0], transaction, caller.name, caller.role.value)
    return chosen[0]


def _vouched(one: PendingNode, transaction: Transaction, who: str, role: str) -> None:
    if transaction.store.end_pending(one.token_hash):
        _admit(one.name, one.pool, one.place, transaction)
        _audit(transaction, who, role, "vouch", one.name, "done", f"enrolled from {one.address}, pool {one.pool}")


def renew(caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> Enrolled:
    """Issues a new credential before the old one expires. The old one stays valid until then, because the new one may
    get lost."""
    token, now, node = new_token(), transaction.now, caller.name
    expires = now + CREDENTIAL_SECONDS
    transaction.store.add_credential(
        Credential(token_hash=token_hash(token), name=node, role=Role.AGENT, created=now, expires=expires)
    )
    transaction.store.limit_credentials(node, MOST_CREDENTIALS, now)
    why = "before the old one expires"
    _audit(transaction, node, Role.AGENT.value, "credential renew", node, "done", why)
    return Enrolled(credential=token, expires=expires)


# ------------------------------------------------------------ the scheduler vouches


async def vouch_by_scheduler(statuses: Iterable[NodeStatus], scheduler: str, store: Store, writer: Writer) -> None:
    """Vouch for each pending node that the scheduler knows at the address from which it enrolled."""
    pending = await asyncio.to_thread(store.pending)
    if not pending:
        return
    known = {status.node: status.addresses for status in statuses}
    fitting = await asyncio.to_thread(_at_their_address, pending, known)
    if fitting:
        await writer.ask(ReportWork(partial(_vouched_together, fitting, scheduler)))


def _vouched_together(
    fitting: Sequence[PendingNode], scheduler: str, transaction: Transaction, fresh: Sequence[bool]
) -> None:
    for one in fitting:
        _vouched(one, transaction, scheduler, "scheduler")


def _at_their_address(pending: Sequence[PendingNode], known: Mapping[str, Sequence[str]]) -> list[PendingNode]:
    return [one for one in pending if any(one.address in addresses_of(shown) for shown in known.get(one.name, ()))]


def addresses_of(shown: str) -> frozenset[str]:
    """The addresses of a host: an address as it is, a name as this machine resolves it."""
    try:
        return frozenset({str(ipaddress.ip_address(shown))})
    except ValueError:
        pass
    try:
        return frozenset(str(found[4][0]) for found in socket.getaddrinfo(shown, None))
    except (OSError, UnicodeError):
        return frozenset()


def _audit(transaction: Transaction, who: str, role: str, verb: str, target: str, outcome: str, reason: str) -> None:
    transaction.audit.append(
        AuditEntry(at=transaction.now, who=who, role=role, verb=verb, target=target, outcome=outcome, reason=reason)
    )
