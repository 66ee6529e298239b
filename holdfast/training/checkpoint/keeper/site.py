"""Names and addresses of a job's keepers: socket paths, node names."""

import hashlib
import os
import re
import socket
from pathlib import Path

from holdfast.runtime.job_secret import only_mine


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
    only_mine(folder)
    return folder


def socket_path(job: str, folder: Path, node: str) -> Path:
    """One keeper per job, storage folder and node. Short, because a socket's path holds 107 characters."""
    identity = hashlib.sha256(f"{job}\0{folder.resolve()}\0{node}".encode()).hexdigest()[:16]
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", job)[:24]
    return runtime_folder() / f"{name}-{identity}.sock"
