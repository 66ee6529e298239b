"""Where a job's keepers are found and how they prove themselves: socket paths, the job's secret, this node's name."""

import hashlib
import os
import re
import secrets
import socket
import stat
from pathlib import Path

SECRET_BYTES = 32


class SiteError(OSError):
    """Something about the place is not as it must be, in one sentence."""


def node_name() -> str:
    return os.environ.get("HOLDFAST_NODE") or os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def own_address() -> str:
    """The address of this node on the network of the job."""
    given = os.environ.get("HOLDFAST_KEEPER_HOST")
    if given:
        return given
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((os.environ.get("MASTER_ADDR", "127.0.0.1"), 9))  # sends nothing, only chooses a route
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def runtime_folder() -> Path:
    """A folder of this user alone."""
    base = (
        os.environ.get("HOLDFAST_RUNTIME_DIR") or os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/holdfast-{os.geteuid()}"
    )
    folder = Path(base)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _only_mine(folder)
    return folder


def socket_path(job: str, folder: Path, node: str) -> Path:
    """One keeper per job, storage folder and node. Short, because a socket's path holds 107 characters."""
    identity = hashlib.sha256(f"{job}\0{folder.resolve()}\0{node}".encode()).hexdigest()[:16]
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", job)[:24]
    return runtime_folder() / f"{name}-{identity}.sock"


def job_secret(folder: Path) -> bytes:
    """The secret of the job: a file of its user in the job's folder, made by whoever comes first."""
    path = Path(os.environ.get("HOLDFAST_JOB_SECRET_FILE") or folder / ".secret")
    if not path.exists():
        _make_secret(path)
    _only_mine(path)
    secret = path.read_bytes()
    if len(secret) < SECRET_BYTES:
        raise SiteError(f"{path}: {len(secret)} bytes are no secret, expected {SECRET_BYTES} or more")
    return secret


def _make_secret(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, secrets.token_bytes(SECRET_BYTES))
        os.fsync(fd)
        os.link(draft, path)  # whole or not at all, and never over another's
    except FileExistsError:
        pass
    finally:
        os.close(fd)
        draft.unlink()


def _only_mine(path: Path) -> None:
    about = path.stat()
    if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SiteError(f"{path} can be used by others: expected it to belong to this user alone (mode 0600 or 0700)")
