"""Attacks on the port of a keeper: relayed, reflected, changed, repeated and flooding connections."""

import os
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from holdfast.training.checkpoint.format.message import pack
from holdfast.training.checkpoint.keeper import peers, wire
from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.pacing import RateLimit
from holdfast.training.checkpoint.keeper.peers import MOST_STRANGERS, Answerer, PeerConnection
from holdfast.training.checkpoint.keeper.shard_store import Copy, ShardStore
from holdfast.training.checkpoint.keeper.wire import LENGTH, NONCE, TAG, Channel, WireError
from tests.waiting import until

SECRET = b"s" * 32
HANDSHAKE = NONCE + 32  # bytes of each end: a random number and a proof
PLAIN = b"weights of the model" * 50

Change = Callable[[bytes], bytes]


def copy_of(rank: int, step: int) -> Copy:
    pages = Pages.new("test", len(PLAIN))
    pages.map[:] = PLAIN
    return Copy(rank, step, "run", 4, len(PLAIN), pages.digest(len(PLAIN)), pages)


@pytest.fixture
def store() -> ShardStore:
    return ShardStore(100_000)


@pytest.fixture
def answerer(store: ShardStore) -> Iterator[Answerer]:
    one = Answerer("127.0.0.1", 0, SECRET, store, lambda message: {})
    yield one
    one.close()


class Relay:
    """Passes connections on to another address; what goes to the answerer may be changed on its way."""

    def __init__(self, target: str, change: Change = lambda raw: raw) -> None:
        self._target, self._change = target, change
        self.passed = bytearray()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                host, _, port = self._target.rpartition(":")
                far = socket.create_connection((host, int(port)))
                threading.Thread(target=self._pump, args=(near, far, self._change), daemon=True).start()
                threading.Thread(target=self._pump, args=(far, near, lambda raw: raw), daemon=True).start()

    def _pump(self, source: socket.socket, to: socket.socket, change: Change) -> None:
        with suppress(OSError):
            while raw := source.recv(1 << 16):
                self.passed += raw
                to.sendall(change(raw))
        with suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


def test_a_call_that_is_led_to_another_keeper_fails_on_both_sides(answerer: Answerer, store: ShardStore) -> None:
    """The caller means the relay's address: a keeper that answers there for another address is not the one meant."""
    relay = Relay(answerer.address)
    with pytest.raises(WireError), PeerConnection(f"127.0.0.1:{relay.port}", SECRET) as caller:
        caller.put(copy_of(1, 5), RateLimit(0))
    assert store.held() == []
    relay.close()


def through(relay: Relay, answerer: Answerer) -> Channel:
    """A caller that means the answerer, on a wire that somebody holds in his hands."""
    return Channel(socket.create_connection(("127.0.0.1", relay.port)), SECRET, caller=True, address=answerer.address)


def test_who_holds_the_wire_reads_nothing(answerer: Answerer, store: ShardStore) -> None:
    relay = Relay(answerer.address)
    channel = through(relay, answerer)
    copy = copy_of(1, 5)
    channel.send({"do": "put", "row": copy.row()})
    channel.receive()
    channel.send_data(memoryview(PLAIN))
    channel.receive()
    assert len(store.held()) == 1
    assert len(relay.passed) > len(PLAIN) and b"weights" not in relay.passed and b"put" not in relay.passed
    relay.close()


@pytest.mark.parametrize("at", [3, 8, -1])
def test_a_frame_that_was_changed_is_not_obeyed(answerer: Answerer, store: ShardStore, at: int) -> None:
    message = {"do": "put", "row": copy_of(1, 5).row()}
    to_come = HANDSHAKE + at % (LENGTH.size + len(pack(message)) + TAG)

    def flip(raw: bytes) -> bytes:
        nonlocal to_come
        here, to_come = to_come, to_come - len(raw)
        return raw if not 0 <= here < len(raw) else raw[:here] + bytes([raw[here] ^ 128]) + raw[here + 1 :]

    relay = Relay(answerer.address, flip)
    channel = through(relay, answerer)
    channel.settimeout(10.0)
    with pytest.raises(OSError):
        channel.send(message)
        channel.receive()
    assert to_come < 0, "nothing was changed"
    assert store.held() == []
    relay.close()


def test_a_frame_that_is_repeated_is_not_obeyed(answerer: Answerer) -> None:
    received: list[str] = []
    answerer._notice = lambda message: received.append(message["do"]) or {}  # type: ignore[func-returns-value]
    armed = threading.Event()
    relay = Relay(answerer.address, lambda raw: raw + raw if armed.is_set() else raw)
    channel = through(relay, answerer)
    channel.settimeout(10.0)
    armed.set()
    with pytest.raises(OSError):
        channel.send({"do": "safe"})
        channel.receive()
        channel.receive()
    assert received.count("safe") <= 1
    relay.close()


def test_a_caller_is_not_convinced_by_its_own_words() -> None:
    """Whoever sends back what he gets knows nothing of the secret."""
    near, far = socket.socketpair()

    def echo() -> None:
        with suppress(OSError):
            while raw := far.recv(4096):
                far.sendall(raw)

    threading.Thread(target=echo, daemon=True).start()
    with pytest.raises(WireError, match="does not know this job's secret"):
        Channel(near, SECRET, caller=True, address="host:1")
    near.close()


def test_no_end_of_a_connection_holds_a_frame_back_for_an_acknowledgement(
    answerer: Answerer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame is two writes: with Nagle's algorithm each message would take 40 ms and more."""
    ends: list[socket.socket] = []

    class Seen(Channel):
        def __init__(self, peer: socket.socket, secret: bytes, caller: bool, address: str) -> None:
            super().__init__(peer, secret, caller, address)
            ends.append(peer)

    monkeypatch.setattr(peers, "Channel", Seen)
    with PeerConnection(answerer.address, SECRET) as caller:
        caller.notify({"do": "safe"})
        assert [end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for end in ends] == [1, 1]


def test_two_connections_never_share_keys(answerer: Answerer) -> None:
    first, second = Relay(answerer.address), Relay(answerer.address)
    for relay in (first, second):
        through(relay, answerer).send({"do": "safe", "rank": 0})
        until(lambda relay=relay: len(relay.passed) > 150, "passed")  # type: ignore[misc]
    assert bytes(first.passed[-40:]) != bytes(second.passed[-40:])
    first.close()
    second.close()


def test_others_that_say_nothing_do_not_keep_a_partner_out_for_long(answerer: Answerer, store: ShardStore) -> None:
    host, _, port = answerer.address.rpartition(":")
    strangers = [socket.create_connection((host, int(port))) for _ in range(MOST_STRANGERS + 20)]
    for stranger in strangers:
        stranger.close()
    until(lambda: _works(answerer), "a partner is served again")


def test_the_listener_survives_the_end_of_descriptors(answerer: Answerer, caplog: pytest.LogCaptureFixture) -> None:
    """EMFILE is no reason to stop listening for good."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    host, _, port = answerer.address.rpartition(":")
    waiting = [socket.socket() for _ in range(3)]
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, hard))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        for one in waiting:
            one.connect((host, int(port)))  # accepted by the kernel; accept() itself has no descriptor left
        until(lambda: "no connection can be accepted" in caplog.text, "the listener has met it")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)
    until(lambda: _works(answerer), "it listens again")
    for one in waiting:
        one.close()


def _works(answerer: Answerer) -> bool:
    try:
        with PeerConnection(answerer.address, SECRET) as caller:
            caller.put(copy_of(1, 5), RateLimit(0))
    except OSError:
        return False
    return True


def test_a_other_that_sends_a_byte_at_a_time_has_no_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeout of a socket begins anew with each byte: 48 bytes of a handshake could hold a place for minutes."""
    moments = iter(range(1_000))
    monkeypatch.setattr(wire.time, "monotonic", lambda: float(next(moments)))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(peers.PROOF_SECONDS)
        theirs.sendall(b"x" * 8)
        monkeypatch.setattr(socket.socket, "recv_into", lambda source, view: source.recv(1) and 1)
        with pytest.raises(TimeoutError):
            Channel(ours, SECRET, caller=False, address="a")


def test_the_listener_survives_the_end_of_threads(
    answerer: Answerer, store: ShardStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals, real = iter([True, True]), threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name == "connection" and next(refusals, False):
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    for _ in range(2):
        with socket.create_connection(answerer.address.rsplit(":", 1)) as turned_away:
            assert turned_away.recv(NONCE) == b""
    with socket.create_connection(answerer.address.rsplit(":", 1)) as served:
        assert len(served.recv(NONCE)) == NONCE
