"""The secret that all processes of one job share: a file that only the job's user can read."""

import os
import secrets
import stat
from pathlib import Path

SECRET_BYTES = 32
SECRET_FILE_VARIABLE = "HOLDFAST_JOB_SECRET_FILE"


class SecretError(OSError):
    """One sentence: why the secret cannot be used."""


def job_secret(folder: Path) -> bytes:
    """The first process creates the file. Nodes that share no folder set HOLDFAST_JOB_SECRET_FILE."""
    path = Path(os.environ.get(SECRET_FILE_VARIABLE) or folder / ".secret")
    if not path.exists():
        _create(path)
    only_mine(path)
    secret = path.read_bytes()
    if len(secret) < SECRET_BYTES:
        raise SecretError(f"{path}: {len(secret)} bytes, expected a secret of {SECRET_BYTES} or more")
    return secret


def _create(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, secrets.token_bytes(SECRET_BYTES))
        os.fsync(fd)
        os.link(draft, path)  # atomic, and never overwrites the file of another process
    except FileExistsError:
        pass
    finally:
        os.close(fd)
        draft.unlink()


def only_mine(path: Path) -> None:
    about = path.stat()
    if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SecretError(f"{path} can be used by others: expected it to belong to this user alone (mode 0600 or 0700)")
