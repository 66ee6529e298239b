"""Creates the first tokens of a new store."""

import os
from pathlib import Path

from holdfast.fleet.store import Store
from holdfast.fleet.store.credentials import new_token, token_hash
from holdfast.model.records import AuditEntry, Credential, JoinToken, Role
from holdfast.model.settings import SettingsError
from holdfast.runtime import clock

TOKEN_SECONDS = 365 * 86_400.0
JOIN_SECONDS = 86_400.0


def admin_token(store: Store, path: Path) -> str:
    return kept_token(store, path, Role.ADMIN)


def kept_token(store: Store, path: Path, role: Role) -> str:
    """The token in a file with mode 0600. It is created if the file is missing or the store does not know the token."""
    now = clock.now()
    try:
        held = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        held = ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: the {role.value} token cannot be read: {error}") from None
    known = store.credential(token_hash(held)) if held else None
    if known is not None and known.role is role and known.valid(now):
        return held
    token = new_token()
    made = Credential(
        token_hash=token_hash(token), name=role.value, role=role, created=now, expires=now + TOKEN_SECONDS
    )
    store.add_credential(made)
    store.write_audit([_entry(now, "token create", f"{role.value} token for this machine")])
    write_private(path, token + "\n")
    return token


def join_token(store: Store, uses: int) -> str:
    now = clock.now()
    token = new_token()
    store.add_join_token(
        JoinToken(
            token_hash=token_hash(token),
            created=now,
            expires=now + JOIN_SECONDS,
            uses_left=uses,
            created_by="holdfast",
            vouches=True,
        )
    )
    store.write_audit([_entry(now, "token create", f"join token, {uses} uses")])
    return token


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner can read, from the first byte on."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(path)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror}") from None


def _entry(now: float, verb: str, reason: str) -> AuditEntry:
    return AuditEntry(at=now, who="holdfast", role="admin", verb=verb, target="store", outcome="done", reason=reason)
