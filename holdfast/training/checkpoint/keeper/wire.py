"""What keepers and ranks say to each other: framed messages, descriptors over Unix sockets, and who may speak."""

import hashlib
import hmac
import os
import select
import socket
import struct
from typing import Any

from holdfast.training.checkpoint.format.message import EncodingError, pack, unpack

LENGTH = struct.Struct("<I")
LARGEST_MESSAGE = 64 << 20
NONCE = 32
CREDENTIALS = struct.Struct("3i")
CHUNK = 4 << 20

Message = dict[str, Any]


class WireError(OSError):
    """The other side is gone, or speaks something else."""


class NotTrusted(WireError):
    """The other side does not know the job's secret, or is another user."""


def send(to: socket.socket, message: Message, fds: tuple[int, ...] = ()) -> None:
    raw = pack(message)
    if len(raw) > LARGEST_MESSAGE:
        raise WireError(f"a message of {len(raw)} bytes: expected at most {LARGEST_MESSAGE}")
    framed = LENGTH.pack(len(raw)) + raw
    if not fds:
        to.sendall(framed)
        return
    sent = socket.send_fds(to, [framed], list(fds))
    if sent < len(framed):  # sending nothing fails too, where the other side has heard enough and hung up
        to.sendall(framed[sent:])


def receive(source: socket.socket, fds: list[int] | None = None) -> Message:
    head = _take_head(source, fds)
    (length,) = LENGTH.unpack(head)
    if length > LARGEST_MESSAGE:
        raise WireError(f"a message of {length} bytes: expected at most {LARGEST_MESSAGE}")
    body = bytearray(length)
    receive_into(source, memoryview(body))
    try:
        message = unpack(body)
    except EncodingError as error:
        raise WireError(str(error)) from error
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        raise WireError("not a message: expected names and values")
    return message


def _take_head(source: socket.socket, fds: list[int] | None) -> bytes:
    head = b""
    while len(head) < LENGTH.size:
        if fds is None:
            part = source.recv(LENGTH.size - len(head))
        else:
            part, got, _, _ = socket.recv_fds(source, LENGTH.size - len(head), 4)
            fds += got
        if not part:
            raise WireError("the other side hung up")
        head += part
    return head


def receive_into(source: socket.socket, view: memoryview) -> None:
    done = 0
    while done < len(view):
        got = source.recv_into(view[done : done + CHUNK])
        if not got:
            raise WireError("the other side hung up in the middle")
        done += got


def same_user(client: socket.socket) -> int:
    """Whoever connected to the Unix socket must be the user that the keeper runs as. Its process; 0 is not known."""
    raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    pid, user, _ = CREDENTIALS.unpack(raw)
    if user != os.geteuid():
        raise NotTrusted(f"user {user} is not the user {os.geteuid()} of this job")
    return int(pid)


class Process:
    """Another process: the same one and no other that got its number later, for as long as this is open."""

    def __init__(self, pid: int) -> None:
        try:
            self._fd = os.pidfd_open(pid) if pid > 0 else None
        except OSError:  # it is gone already, which shows as a connection that ends, or nobody may look
            self._fd = None

    def ended(self) -> bool:
        """Whether it is known to have ended; one that nobody has waited for yet has too."""
        if self._fd is None:
            return False
        look = select.poll()
        look.register(self._fd, select.POLLIN)
        return bool(look.poll(0))

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def prove(peer: socket.socket, secret: bytes, caller: bool) -> None:
    """Both sides show that they know the job's secret without saying it. Nothing else is read before."""
    mine = os.urandom(NONCE)
    peer.sendall(mine)
    theirs = _exactly(peer, NONCE)
    first, second = (mine, theirs) if caller else (theirs, mine)
    peer.sendall(_proof(secret, b"caller" if caller else b"answerer", first, second))
    expected = _proof(secret, b"answerer" if caller else b"caller", first, second)
    if not hmac.compare_digest(_exactly(peer, len(expected)), expected):
        raise NotTrusted("the other keeper does not know this job's secret")


def _proof(secret: bytes, role: bytes, first: bytes, second: bytes) -> bytes:
    return hmac.new(secret, b"holdfast keeper 1 " + role + first + second, hashlib.sha256).digest()


def _exactly(source: socket.socket, count: int) -> bytes:
    raw = bytearray(count)
    receive_into(source, memoryview(raw))
    return bytes(raw)
