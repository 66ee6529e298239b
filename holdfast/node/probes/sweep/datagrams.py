"""UDP datagrams between two hosts: loss in each direction, and whether full-size frames arrive at all.

One host echoes, the other sends. An echo is always small and carries the counts of the echoing host, so each loss has a
direction, and a large frame is tested one way at a time. At most `BATCH` datagrams are in flight, which no socket
buffer drops.

The leader of the probe gives both hosts a key for this measurement. The echo answers one address, and only datagrams
with the key's tag, so that no other host can detect it, keep it open or change its counts.
"""

import hmac
import secrets
import socket
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

COUNT = 500
FULL_COUNT = 20
BATCH = 16
SMALL_BYTES = 64
IP_AND_UDP_BYTES = 28
BATCH_SECONDS = 0.05
LAST_SECONDS = 0.3  # a busy host may answer late, which is not a loss
ECHO_SECONDS = 30.0  # without a datagram of the sender's
LONGEST_SECONDS = 120.0
TAG_BYTES = 8
_NUMBER = struct.Struct("!II")  # of a datagram: its number and its kind; of an echo also the counts of each kind
_ECHO = struct.Struct("!IIII")
# linux/in.h: set "do not fragment", and ignore the path MTU that the kernel learned
IP_MTU_DISCOVER, IP_PMTUDISC_PROBE = 10, 3


def mtu_of(interface: str) -> int:
    """The MTU; 0 if unknown."""
    try:
        return int(Path(f"/sys/class/net/{interface}/mtu").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def new_key() -> str:
    return secrets.token_hex(32)


def _tagged(body: bytes, key: str) -> bytes:
    return body + hmac.digest(key.encode(), body, "sha256")[:TAG_BYTES]


def _untagged(data: bytes, size: int, key: str) -> bytes | None:
    """The body of `size` bytes, if its tag matches the key. The rest is padding."""
    body = data[:size]
    return body if hmac.compare_digest(data[: size + TAG_BYTES], _tagged(body, key)) else None


def echo(address: str, peer: str, key: str) -> int:
    """Starts an echo server for one other host and returns its port."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 0))
    threading.Thread(target=_echo, args=(server, peer, key), daemon=True).start()
    return int(server.getsockname()[1])


def _echo(server: socket.socket, peer: str, key: str) -> None:
    seen: list[set[int]] = [set(), set()]
    began = last = time.monotonic()
    with server, suppress(TimeoutError):  # it does not send any more
        while (left := min(last + ECHO_SECONDS, began + LONGEST_SECONDS) - time.monotonic()) > 0:
            server.settimeout(left)
            data, sender = server.recvfrom(65_536)
            body = _untagged(data, _NUMBER.size, key) if sender[0] == peer else None
            if body is None:
                continue
            last = time.monotonic()
            number, full = _NUMBER.unpack(body)
            seen[full & 1].add(number)
            with suppress(OSError):  # a local packet filter dropped it: that is a lost datagram, not the end
                answer = _ECHO.pack(number, full & 1, len(seen[0]), len(seen[1]))
                server.sendto(_tagged(answer, key), sender)


def send(address: str, to: tuple[str, int], mtu: int, key: str) -> dict[str, Any]:
    """Counts of datagrams sent, received there and returned: small ones, and ones as large as `mtu` allows."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind((address, 0))
        with suppress(OSError):
            sender.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
        sender.connect(to)
        client = _Client(sender, key)
        client.run(0, COUNT, SMALL_BYTES)
        full = min(mtu, 65_535) - IP_AND_UDP_BYTES
        if full > SMALL_BYTES and client.back[0]:
            client.run(1, FULL_COUNT, full)
        return client.found(mtu)


class _Client:
    def __init__(self, sender: socket.socket, key: str) -> None:
        self._sender, self._key = sender, key
        self.sent = [0, 0]
        self.seen = [0, 0]
        self.back: list[set[int]] = [set(), set()]

    def run(self, kind: int, count: int, size: int) -> None:
        for start in range(0, count, BATCH):
            numbers = range(start, min(count, start + BATCH))
            for number in numbers:
                with suppress(OSError):  # too large for the interface, or refused: it does not arrive
                    self._sender.send(_tagged(_NUMBER.pack(number, kind), self._key).ljust(size, b"\0"))
                self.sent[kind] += 1
            self._collect(set(numbers) - self.back[kind], kind, BATCH_SECONDS)
            if not self.back[kind]:  # nothing at all comes back: more would not either
                break
        self._collect(set(range(self.sent[kind])) - self.back[kind], kind, LAST_SECONDS)

    def _collect(self, missing: set[int], kind: int, seconds: float) -> None:
        until = time.monotonic() + seconds
        while missing - self.back[kind] and (left := until - time.monotonic()) > 0:
            self._sender.settimeout(left)
            try:
                data = self._sender.recv(64)
            except TimeoutError:
                return
            except OSError:  # the other end refuses
                continue
            if (body := _untagged(data, _ECHO.size, self._key)) is not None:
                number, full, *seen = _ECHO.unpack(body)
                self.back[full & 1].add(number)
                self.seen = [max(old, new) for old, new in zip(self.seen, seen, strict=True)]

    def found(self, mtu: int) -> dict[str, Any]:
        small, full = (
            {"sent": self.sent[kind], "arrived": self.seen[kind], "echoed": len(self.back[kind])} for kind in (0, 1)
        )
        return {"small": small, "full": full, "mtu": mtu}
