"""Rendezvous of the nodes of a probe without SSH: one leads and listens, the others connect, and each worker uses that
connection.

Both sides must prove that they know the key of the session.
"""

import hashlib
import hmac
import json
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from holdfast.model.wire.probe import Participant
from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.sweep.channel import SweepChannel

POLL_SECONDS = 0.2
GREET_SECONDS = 5.0
LONGEST_GREETING = 512
BY_ITS_AGENT = ("agent",)  # how the worker was started: by the agent of another machine
LEADS, COMES = "leads", "comes"  # the role in which each side proves that it knows the key
NONCE_BYTES = 16
MOST_STRANGERS = 256  # that have connected and not proved it yet


class CannotMeet(Exception):
    """The rendezvous is not possible; the message says why."""


class MemberLine(SweepChannel):
    """A connection to the worker of a node that joined, or a failed one if it did not."""

    def __init__(self, host: Host, connection: socket.socket | None = None) -> None:
        super().__init__(host)
        self._connection = connection
        if connection is not None:
            files = connection.makefile("r", encoding="utf-8", errors="replace"), connection.makefile("w")
            self.connect(*files)

    def stop(self) -> None:
        hang_up(self._connection)


class Gathering:
    """The listener of the leader, open until all expected nodes have joined."""

    def __init__(self, participants: Sequence[Participant], address: str, port: int, key: str) -> None:
        self._members = {member.name: member for member in participants}
        self._key = key
        self._come: dict[str, MemberLine] = {}
        self._changed = threading.Condition()
        self._strangers = threading.BoundedSemaphore(MOST_STRANGERS)
        self.address = address  # where the first arrival reached us, if none was given
        try:
            self._listener = socket.create_server((address, port), backlog=len(participants) + 8)
        except OSError as error:
            raise CannotMeet(f"cannot listen at {address or 'any address'}:{port}: {error.strerror}") from None
        threading.Thread(target=self._accept, daemon=True).start()

    def wait(
        self, seconds: float, notify: Callable[[str], None], unwanted: Callable[[], bool]
    ) -> Mapping[str, SweepChannel]:
        """A connection for every expected node. A node that did not join in time has a connection with that error."""
        until, reported = time.monotonic() + seconds, -1
        with self._changed:
            while len(self._come) < len(self._members) and time.monotonic() < until and not unwanted():
                if reported != len(self._come):
                    reported = len(self._come)
                    notify(f"{reported} of {len(self._members)} have come")
                self._changed.wait(POLL_SECONDS)
            came = dict(self._come)
        self.close()
        return {name: came.get(name) or self._absent(name, seconds) for name in self._members}

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _absent(self, name: str, seconds: float) -> MemberLine:
        line = MemberLine(Host(name))
        line.trouble = f"set-up failed: it did not come within {seconds:.0f} s"
        return line

    def _accept(self) -> None:
        while self._listener.fileno() >= 0:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # the listener is closed, or no file descriptor is free
                time.sleep(POLL_SECONDS)
                continue
            if not self._strangers.acquire(blocking=False):
                hang_up(connection)  # too many unproven connections: more would take all descriptors
                continue
            try:
                threading.Thread(target=self._greet, args=(connection,), daemon=True).start()
            except RuntimeError:  # the machine has no thread left
                self._strangers.release()
                hang_up(connection)

    def _greet(self, connection: socket.socket) -> None:
        """Handles one new connection. Slow, unknown or unexpected clients do not delay others."""
        try:
            line = GreetingLine(connection)
            name, theirs, mine = self._wanted(line.receive()), line.nonce_of_other, secrets.token_hex(NONCE_BYTES)
            line.send(nonce=mine, proof=_proof(self._key, LEADS, name, theirs, mine))
            _prove(line.receive(), self._key, COMES, name, theirs, mine)
            _keep_alive(connection)
            here, there = (str(end[0]) for end in (connection.getsockname(), connection.getpeername()))
        except (OSError, ValueError, CannotMeet):
            hang_up(connection)
            return
        finally:
            self._strangers.release()
        self._take(name, connection, here, there)

    def _take(self, name: str, connection: socket.socket, here: str, there: str) -> None:
        member = self._members[name]
        with self._changed:
            if name in self._come:  # another proved the same meanwhile
                hang_up(connection)
                return
            self.address = self.address or here
            self._come[name] = MemberLine(Host(name, member.address or there, member.leaf, BY_ITS_AGENT), connection)
            self._changed.notify_all()

    def _wanted(self, greeting: Mapping[str, object]) -> str:
        name = str(greeting.get("name"))
        if name not in self._members or name in self._come:
            raise CannotMeet(f"{name} is not expected, or has already joined")
        return name


def come(name: str, master: str, port: int, key: str, seconds: float, unwanted: Callable[[], bool]) -> socket.socket:
    """Connects to the leader. It may not listen yet, because each node gets its order with its own next report."""
    until, why = time.monotonic() + seconds, "no one listens"
    while time.monotonic() < until and not unwanted():
        try:
            connection = socket.create_connection((master, port), timeout=GREET_SECONDS)
        except OSError as error:
            why = str(error.strerror or error)
            time.sleep(POLL_SECONDS)
            continue
        try:
            line, mine = GreetingLine(connection), secrets.token_hex(NONCE_BYTES)
            line.send(name=name, nonce=mine)
            answer, theirs = line.receive(), line.nonce_of_other
            _prove(answer, key, LEADS, name, mine, theirs)
            line.send(proof=_proof(key, COMES, name, mine, theirs))
            _keep_alive(connection)
            return connection
        except (OSError, ValueError, CannotMeet) as error:
            why = f"{master}:{port} is not the leader ({error})"
            hang_up(connection)
            time.sleep(POLL_SECONDS)
    raise CannotMeet(f"no peer answered at {master}:{port} within {seconds:.0f} s: {why}")


def _keep_alive(connection: socket.socket) -> None:
    """Enables keep-alive, so that the connection to a host without power ends after a minute."""
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def serve(python: str, connection: socket.socket) -> "subprocess.Popen[str]":
    """Runs a worker over this connection. It ends with the connection."""
    words = (python, "-m", "holdfast.node.probes.sweep.worker")
    try:
        end = connection.fileno()
        return subprocess.Popen(words, stdin=end, stdout=end, stderr=subprocess.PIPE, text=True, errors="replace")
    except OSError as error:
        raise CannotMeet(f"{python} cannot be started: {error}") from None


def hang_up(connection: socket.socket | None) -> None:
    """Closes the connection for both ends, and for a worker that uses it."""
    if connection is not None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()


class GreetingLine:
    """Reads the first lines of a connection within GREET_SECONDS and not a byte more, because the rest belongs to
    the worker."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._until = connection, time.monotonic() + GREET_SECONDS
        self.nonce_of_other = ""

    def send(self, **fields: str) -> None:
        self._connection.settimeout(GREET_SECONDS)
        self._connection.sendall(json.dumps(fields).encode() + b"\n")

    def receive(self) -> Mapping[str, object]:
        line = b""
        while not line.endswith(b"\n"):
            self._connection.settimeout(max(0.001, self._until - time.monotonic()))
            byte = self._connection.recv(1)
            if not byte or len(line) > LONGEST_GREETING or time.monotonic() > self._until:
                raise CannotMeet("its message could not be parsed")
            line += byte
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            raise CannotMeet("its message could not be parsed")
        self.nonce_of_other = str(fields.get("nonce", ""))
        return fields


def _proof(key: str, role: str, name: str, member_nonce: str, leader_nonce: str) -> str:
    """Proof that a side knows the key, valid only for this role and connection: both sides contribute a random part."""
    about = json.dumps(["holdfast probe 2", role, name, member_nonce, leader_nonce])
    return hmac.new(key.encode(), about.encode(), hashlib.sha256).hexdigest()


def _prove(answer: Mapping[str, object], key: str, role: str, name: str, member_nonce: str, leader_nonce: str) -> None:
    expected = _proof(key, role, name, member_nonce, leader_nonce)
    if not hmac.compare_digest(str(answer.get("proof")).encode("utf-8", "replace"), expected.encode()):
        raise CannotMeet("it does not know the key of this session")
