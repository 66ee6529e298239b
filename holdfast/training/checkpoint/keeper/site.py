"""Names and addresses of a job's keepers: socket paths, node names."""

import hashlib
import os
import re
import socket
from pathlib import Path

from holdfast.runtime.job_secret import only_mine

MEMORY = Path("/dev/shm")
LONGEST_PATH = 107  # the kernel's limit of a socket path, in bytes
LONGEST_NAME = 24
FIXED = len("/-") + 16 + len(".sock")


def node_name() -> str:
    return os.environ.get("HOLDFAST_NODE") or os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def job_name(given: str, folder: Path) -> str:
    return given or os.environ.get("HOLDFAST_JOB") or folder.resolve().name


def own_address() -> str:
    """The address of this node on the network of the job."""
    given = os.environ.get("HOLDFAST_KEEPER_HOST")
    if given:
        return given
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((os.environ.get("MASTER_ADDR", "127.0.0.1"), 9))  # sends nothing; only selects a route
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def runtime_folder() -> Path:
    """A folder of this user alone. A folder in which socket paths would be too long is skipped."""
    asked = os.environ.get("HOLDFAST_RUNTIME_DIR") or os.environ.get("XDG_RUNTIME_DIR") or ""
    fits = asked and len(os.fsencode(asked)) <= LONGEST_PATH - FIXED
    folder = Path(asked if fits else f"/tmp/holdfast-{os.geteuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    only_mine(folder)
    return folder


def memory_path(path: Path, memory: Path = MEMORY) -> Path:
    """Folder in memory for files of the trainers of the keeper with this socket, by user, job, folder and node."""
    return memory / f"holdfast-{os.geteuid()}-{path.stem}"


def socket_path(job: str, folder: Path, node: str) -> Path:
    """One keeper per job, storage folder and node. The job's name is cut if the path would be too long."""
    identity = hashlib.sha256(f"{job}\0{folder.resolve()}\0{node}".encode()).hexdigest()[:16]
    runtime = runtime_folder()
    room = LONGEST_PATH - FIXED - len(os.fsencode(runtime))
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", job)[: min(LONGEST_NAME, max(0, room))]
    return runtime / f"{name}-{identity}.sock"
