"""Messages between keepers and ranks: frames, descriptors over Unix sockets, and encrypted channels over TCP."""

import errno
import hmac
import logging
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from holdfast.training.checkpoint.format.message import EncodingError, pack, unpack

LENGTH = struct.Struct("<I")
LARGEST_MESSAGE = 64 << 20
NONCE = 32
KEY = 32
TAG = 16
# seconds between two attempts to accept a connection while there are no free descriptors
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 1.0
CREDENTIALS = struct.Struct("3i")
CHUNK = 512 << 10  # stays in the processor's cache from the copy to the socket

INTO = hasattr(AESGCM, "encrypt_into")  # in newer releases of cryptography: encrypts without a copy

LOG = logging.getLogger(__name__)

Message = dict[str, Any]


class WireError(OSError):
    """The other side is gone, or sent an invalid message."""


class NotTrusted(WireError):
    """The other side does not know the job's secret, or is another user."""


def send(to: socket.socket, message: Message, fds: tuple[int, ...] = ()) -> None:
    raw = _packed(message)
    framed = LENGTH.pack(len(raw)) + raw
    if not fds:
        to.sendall(framed)
        return
    sent = socket.send_fds(to, [framed], list(fds))
    if sent < len(framed):  # sending zero bytes also fails if the other side closed the connection
        to.sendall(framed[sent:])


def receive(source: socket.socket, fds: list[int] | None = None) -> Message:
    head = _take_head(source, fds)
    (length,) = LENGTH.unpack(head)
    if length > LARGEST_MESSAGE:
        raise WireError(f"a message of {length} bytes: expected at most {LARGEST_MESSAGE}")
    body = bytearray(length)
    receive_into(source, memoryview(body))
    return _message(body)


def _packed(message: Message) -> bytes:
    raw = pack(message)
    if len(raw) > LARGEST_MESSAGE:
        raise WireError(f"a message of {len(raw)} bytes: expected at most {LARGEST_MESSAGE}")
    return raw


def _message(body: bytes | bytearray) -> Message:
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
            raise WireError("the other side closed the connection")
        head += part
    return head


def receive_into(source: socket.socket, view: memoryview) -> None:
    done = 0
    while done < len(view):
        got = source.recv_into(view[done : done + CHUNK])
        if not got:
            raise WireError("the other side closed the connection in the middle of a message")
        done += got


def same_user(client: socket.socket) -> int:
    """Process id of the peer on a Unix socket, which must belong to the keeper's user; 0: unknown. Raises
    NotTrusted."""
    raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    pid, user, _ = CREDENTIALS.unpack(raw)
    if user != os.geteuid():
        raise NotTrusted(f"user {user} is not the user {os.geteuid()} of this job")
    return int(pid)


class PeerProcess:
    """Another process. While this is open, it cannot be confused with a later process of the same number."""

    def __init__(self, pid: int) -> None:
        self._fd, self._gone = None, False
        try:
            self._fd = os.pidfd_open(pid) if pid > 0 else None
        except ProcessLookupError:
            self._gone = True
        except OSError:  # not readable
            pass

    def ended(self) -> bool:
        """Whether the process is known to have ended; a zombie has ended too."""
        if self._fd is None:
            return self._gone
        poller = select.poll()
        poller.register(self._fd, select.POLLIN)
        return bool(poller.poll(0))

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class Channel:
    """One TCP connection between two keepers of a job: every frame is encrypted, authenticated and numbered.

    Both ends derive the keys from the job's secret, fresh random numbers and the called address. A man in the middle
    can neither read nor change, repeat, reorder or reflect a frame, nor redirect a connection.
    """

    def __init__(self, peer: socket.socket, secret: bytes, caller: bool, address: str) -> None:
        self._peer = peer
        if peer.family != socket.AF_UNIX:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        timeout = peer.gettimeout()
        until = time.monotonic() + timeout if timeout is not None else None
        mine = os.urandom(NONCE)
        peer.sendall(mine)
        theirs = _exactly(peer, NONCE, until)
        first, second = (mine, theirs) if caller else (theirs, mine)
        about = b"holdfast keeper 3 " + address.encode()
        made = HKDF(SHA256(), 3 * KEY, salt=first + second, info=about).derive(secret)
        forth, back, proving = made[:KEY], made[KEY : 2 * KEY], made[2 * KEY :]
        roles = (b"caller", b"answerer") if caller else (b"answerer", b"caller")
        own, other = (hmac.digest(proving, role, "sha256") for role in roles)
        peer.sendall(own)
        if not hmac.compare_digest(_exactly(peer, len(other), until), other):
            raise NotTrusted("the other keeper does not know this job's secret, or answers for another address")
        peer.settimeout(timeout)
        self._out, self._in = map(AESGCM, (forth, back) if caller else (back, forth))
        self._sent = self._received = 0
        self._frame = bytearray(LENGTH.size + CHUNK + TAG)  # reused: new pages for each frame cost as much as AES

    def settimeout(self, seconds: float) -> None:
        self._peer.settimeout(seconds)

    def close(self) -> None:
        self._peer.close()

    def send(self, message: Message) -> None:
        self._put(_packed(message), b"message")

    def receive(self) -> Message:
        return _message(self._get(LARGEST_MESSAGE, b"message"))

    def send_data(self, view: memoryview) -> None:
        self._put(view, b"data")

    def receive_data(self, view: memoryview, each: Callable[[memoryview], None] | None = None) -> None:
        """Fills the view, independent of the frame sizes; yields each piece in order as it arrives."""
        done = 0
        while done < len(view):
            sealed = self._sealed(CHUNK)
            size = len(sealed) - TAG
            if size <= 0 or done + size > len(view):
                raise WireError("more data than was announced")
            self._open(sealed, b"data", view[done : done + size])
            if each is not None:
                each(view[done : done + size])
            done += size

    def _put(self, raw: bytes | memoryview, kind: bytes) -> None:
        """Sends one write: the second of two would wait for a delayed ACK of the first."""
        size = len(raw) + TAG
        whole = LENGTH.size + size
        frame = memoryview(self._frame if whole <= len(self._frame) else bytearray(whole))[:whole]
        LENGTH.pack_into(frame, 0, size)
        counter = self._sent.to_bytes(12, "little")
        if INTO:
            self._out.encrypt_into(counter, raw, kind, frame[LENGTH.size :])
        else:
            frame[LENGTH.size :] = self._out.encrypt(counter, raw, kind)
        self._sent += 1
        self._peer.sendall(frame)

    def _get(self, largest: int, kind: bytes) -> bytes:
        sealed = self._sealed(largest)
        opened = bytearray(max(len(sealed) - TAG, 0))
        self._open(sealed, kind, memoryview(opened))
        return bytes(opened)

    def _sealed(self, largest: int) -> memoryview:
        """The next frame as received; valid until the following one."""
        head = memoryview(self._frame)[: LENGTH.size]
        receive_into(self._peer, head)
        (length,) = LENGTH.unpack(head)
        if not TAG <= length <= largest + TAG:
            raise WireError(f"a message of {length} bytes: expected at most {largest}")
        frame = memoryview(self._frame if length <= len(self._frame) else bytearray(length))[:length]
        receive_into(self._peer, frame)
        return frame

    def _open(self, sealed: memoryview, kind: bytes, into: memoryview) -> None:
        counter = self._received.to_bytes(12, "little")
        try:
            if INTO:
                self._in.decrypt_into(counter, sealed, kind, into)
            else:
                into[:] = self._in.decrypt(counter, sealed, kind)
        except InvalidTag as error:
            raise NotTrusted("a frame was changed in transit") from error
        self._received += 1


def accept_for_ever(listener: socket.socket, serve: Callable[[socket.socket, Any], None]) -> None:
    """Serves each connection in its own thread until the listener is closed.

    Without free descriptors it logs that once, waits and continues.
    """
    pause = 0.0
    while listener.fileno() >= 0:
        try:
            peer, where = listener.accept()
        except OSError as error:
            if listener.fileno() < 0 or error.errno in (errno.EBADF, errno.EINVAL):
                return
            if not pause:
                LOG.warning("no connection can be accepted, trying again: %s", error)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS) or FIRST_PAUSE_SECONDS
            time.sleep(pause)
            continue
        try:
            threading.Thread(target=serve, args=(peer, where), name="connection", daemon=True).start()
            pause = 0.0
        except RuntimeError as error:  # the machine cannot start a thread at this moment
            LOG.warning("a connection cannot be served: %s", error)
            peer.close()
            time.sleep(FIRST_PAUSE_SECONDS)


def close_listener(listener: socket.socket) -> None:
    """Closes the listener and ends the thread that waits in it; close alone would leave it there."""
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def _exactly(source: socket.socket, count: int, until: float | None = None) -> bytes:
    """Reads exactly this many bytes. `until` is a deadline on the monotonic clock for all of them, because a
    socket's timeout starts anew with every byte."""
    raw = bytearray(count)
    view, done = memoryview(raw), 0
    if until is None:
        receive_into(source, view)
        return bytes(raw)
    while done < count:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        source.settimeout(left)
        got = source.recv_into(view[done:])
        if not got:
            raise WireError("the other side closed the connection in the middle of a message")
        done += got
    return bytes(raw)
