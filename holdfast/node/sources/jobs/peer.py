"""Identity of the peer of a Unix socket, from the kernel."""

import os
import socket
import struct
from dataclasses import dataclass

from holdfast.formats.host import cgroup

_CREDENTIALS = struct.Struct("3i")
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Peer:
    pid: int
    uid: int
    work: str  # the Slurm job, pod or container of the process, or ''

    @property
    def owner(self) -> str:
        return f"uid-{self.uid}"


def peer_of(line: socket.socket, proc: str) -> Peer:
    """Raises OSError where the kernel does not tell."""
    found = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(found)
    return Peer(pid, uid, _work(pid, proc))


def _work(pid: int, proc: str) -> str:
    try:
        with open(os.path.join(proc, str(pid), "cgroup"), "rb") as file:
            groups = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return cgroup.slurm_job(groups) or cgroup.pod(groups) or cgroup.container(groups)
