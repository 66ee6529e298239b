"""Credentials: tokens are stored as hashes only."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, not_, or_, select, update

from holdfast.fleet.store.schema import credentials, join_tokens, pending, sessions
from holdfast.fleet.store.text import clean, decode, encode
from holdfast.model.records import Credential, CredentialKind, JoinToken, PendingNode, Role

_with_pending = select(credentials, pending.c.token_hash.is_(None).label("vouched")).outerjoin(
    pending, pending.c.token_hash == credentials.c.token_hash
)
_find = _with_pending.where(credentials.c.token_hash.in_(bindparam("hashes", expanding=True)))


def new_token() -> str:
    """A new token with a prefix that secret scanners recognise. It never begins with a dash, which a command line would
    take for an option."""
    return f"hf_{secrets.token_urlsafe(32)}"


def token_hash(token: str) -> str:
    """The stored hash. Tokens are long and random, so a plain SHA-256 cannot be reversed by search."""
    return hashlib.sha256(token.encode()).hexdigest()


def add(connection: Connection, credential: Credential) -> None:
    row = {**asdict(credential), "name": clean(credential.name), "role": credential.role.value}
    del row["vouched"]  # vouched: no row of `pending` names it
    connection.execute(credentials.insert(), row)


def find(connection: Connection, hashes: Sequence[str]) -> dict[str, Credential]:
    """Known credentials, by hash."""
    found = connection.execute(_find, {"hashes": [clean(hashed) for hashed in hashes]})
    return {row.token_hash: _credential(row) for row in found}


def every(connection: Connection) -> list[Credential]:
    asked = _with_pending.order_by(credentials.c.name, credentials.c.created)
    return [_credential(row) for row in connection.execute(asked)]


def every_join_token(connection: Connection) -> list[JoinToken]:
    return [JoinToken(**row) for row in connection.execute(select(join_tokens).order_by("created")).mappings()]


def revoke(connection: Connection, hashed: str, now: float) -> int:
    """Revokes the credential with this hash and the sessions it opened. Returns how many ended."""
    wanted = clean(hashed)
    opened = and_(credentials.c.opened_with != "", credentials.c.opened_with == wanted)
    connection.execute(delete(pending).where(pending.c.token_hash == wanted))
    return _revoke(connection, or_(credentials.c.token_hash == wanted, opened), now)


def revoke_all(connection: Connection, kind: CredentialKind, name: str, now: float) -> int:
    """Revokes all credentials of a node or of a user; returns how many ended. A node may have a user's name, because it
    is chosen at enrolment."""
    wanted = clean(name)
    if kind is CredentialKind.NODE:
        connection.execute(delete(pending).where(pending.c.name == wanted))
    return _revoke(connection, and_(credentials.c.name == wanted, _is_a(kind)), now)


def kinds_of(connection: Connection, name: str, now: float) -> set[CredentialKind]:
    """The kinds of valid credentials with this name: node, user or both."""
    valid = (credentials.c.name == clean(name), credentials.c.revoked.is_(None), credentials.c.expires > now)
    roles = connection.execute(select(credentials.c.role).where(*valid).distinct()).scalars()
    return {CredentialKind.of(Role(role)) for role in roles}


def _is_a(kind: CredentialKind) -> ColumnElement[bool]:
    agents = credentials.c.role == Role.AGENT.value
    return agents if kind is CredentialKind.NODE else not_(agents)


def _revoke(connection: Connection, meant: ColumnElement[bool], now: float) -> int:
    ended = update(credentials).where(meant, credentials.c.revoked.is_(None)).values(revoked=now)
    return connection.execute(ended).rowcount


def add_join_token(connection: Connection, token: JoinToken) -> None:
    connection.execute(join_tokens.insert(), {**asdict(token), "created_by": clean(token.created_by)})


def revoke_join_token(connection: Connection, hashed: str, now: float) -> bool:
    ended = update(join_tokens).where(join_tokens.c.token_hash == clean(hashed), join_tokens.c.revoked.is_(None))
    return connection.execute(ended.values(revoked=now)).rowcount == 1


def bound_hash(node: str, token: str) -> str:
    """The hash under which a join token for a single node is stored."""
    return token_hash(f"{node}:{token}")


def is_held(connection: Connection, node: str, now: float) -> bool:
    """Whether an agent reports with a valid credential of this node. A credential that was never used does not
    count."""
    mine = (credentials.c.name == clean(node), credentials.c.role == Role.AGENT.value)
    valid = (credentials.c.revoked.is_(None), credentials.c.expires > now)
    reported = select(sessions.c.node).where(sessions.c.node == clean(node)).exists()
    return connection.execute(select(credentials.c.name).where(*mine, *valid, reported).limit(1)).first() is not None


def join_token(connection: Connection, hashed: str) -> JoinToken | None:
    found = connection.execute(select(join_tokens).where(join_tokens.c.token_hash == clean(hashed))).mappings().first()
    return JoinToken(**found) if found else None


def limit(connection: Connection, node: str, most: int, now: float) -> int:
    """Revokes all but the newest credentials of a node; returns how many ended."""
    return _keep_newest(connection, node, credentials.c.role == Role.AGENT.value, most, now)


def limit_sessions(connection: Connection, name: str, most: int, now: float) -> int:
    """Ends all but the newest sessions of a user; returns how many ended."""
    return _keep_newest(connection, name, credentials.c.opened_with != "", most, now)


def _keep_newest(connection: Connection, name: str, kind: ColumnElement[bool], most: int, now: float) -> int:
    mine = (credentials.c.name == clean(name), kind, credentials.c.revoked.is_(None))
    newest = select(credentials.c.token_hash).where(*mine).order_by(credentials.c.created.desc()).limit(most)
    ended = update(credentials).where(*mine, credentials.c.token_hash.not_in(newest.scalar_subquery()))
    return connection.execute(ended.values(revoked=now)).rowcount


def add_pending(connection: Connection, one: PendingNode) -> None:
    connection.execute(pending.insert(), {**asdict(one), "place": encode(dict(one.place))})


def find_pending(connection: Connection, name: str | None, most: int) -> list[PendingNode]:
    """Pending nodes, the oldest first."""
    asked = select(pending).order_by(pending.c.at).limit(most)
    rows = connection.execute(asked if name is None else asked.where(pending.c.name == clean(name))).mappings()
    return [PendingNode(**{**row, "place": decode(row["place"], dict[str, str])}) for row in rows]


def end_pending(connection: Connection, hashed: str) -> bool:
    return connection.execute(delete(pending).where(pending.c.token_hash == clean(hashed))).rowcount == 1


def enrol(connection: Connection, join_hash: str, credential: Credential, now: float) -> bool:
    """Uses a join token once and stores the credential, both or neither. False if the token is not valid."""
    holds = (
        join_tokens.c.token_hash == clean(join_hash),
        join_tokens.c.revoked.is_(None),
        join_tokens.c.expires > now,
        join_tokens.c.uses_left > 0,
    )
    used = update(join_tokens).where(*holds).values(uses_left=join_tokens.c.uses_left - 1)
    if connection.execute(used).rowcount != 1:
        return False
    add(connection, credential)
    return True


def _credential(row: Any) -> Credential:
    return Credential(
        token_hash=row.token_hash,
        name=row.name,
        role=Role(row.role),
        created=row.created,
        expires=row.expires,
        revoked=row.revoked,
        nodes=row.nodes,
        job=row.job,
        opened_with=row.opened_with,
        vouched=bool(row.vouched),
    )
