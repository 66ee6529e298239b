"""Nodes that come together without a shell: who was asked and knows the key is let in, no one else."""

import itertools
import json
import socket
import threading

import pytest

from holdfast.model.wire.probe import Participant
from holdfast.node.probes.sweep import rendezvous as gathering
from holdfast.node.probes.sweep.rendezvous import CannotMeet, Gathering

KEY = "k" * 32
TIMEOUT = 60.0


def gather(*names: str) -> tuple[Gathering, int]:
    place = Gathering([Participant(name=name) for name in names], "127.0.0.1", 0, KEY)
    return place, int(place._listener.getsockname()[1])


def never() -> bool:
    return False


def quietly(words: str) -> None:
    """No one listens."""


def come(name: str, port: int, key: str = KEY, tries: int | None = None) -> socket.socket:
    unwanted = never if tries is None else map(lambda number: number >= tries, itertools.count()).__next__
    return gathering.come(name, "127.0.0.1", port, key, TIMEOUT, unwanted)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "POLL_SECONDS", 0.01)


def test_whoever_was_asked_comes_and_is_asked_over_its_line() -> None:
    place = Gathering([Participant(name="n2", leaf="l1"), Participant(name="n3")], "127.0.0.1", 0, KEY)
    port = place._listener.getsockname()[1]
    ends: dict[str, socket.socket] = {}
    participants = [threading.Thread(target=lambda n=name: ends.update({n: come(n, port)})) for name in ("n2", "n3")]
    for guest in participants:
        guest.start()
    lines = place.wait(TIMEOUT, quietly, never)
    for guest in participants:
        guest.join()
    assert {name: line.trouble for name, line in lines.items()} == {"n2": "", "n3": ""}
    assert (lines["n2"].host.address, lines["n2"].host.leaf) == ("127.0.0.1", "l1")
    lines["n2"].ask({"do": "port"})
    with ends["n2"].makefile("rw") as file:
        assert json.loads(file.readline()) == {"do": "port", "slot": 0}
        file.write('greetings\n[1]\n{"slot": 7}\n{"port": 5}\n')
        file.flush()
    assert lines["n2"].answer(TIMEOUT) == {"port": 5}
    ends["n3"].shutdown(socket.SHUT_RDWR)
    assert lines["n3"].answer(TIMEOUT)["error"] == "set-up failed: the worker died: its line ended"
    for end in ends.values():
        gathering.hang_up(end)


def test_who_does_not_come_is_distinguished() -> None:
    lines = gather("n2")[0].wait(0.0, quietly, never)
    assert lines["n2"].answer(0.0)["error"] == "set-up failed: it did not come within 0 s"
    lines["n2"].ask({"do": "port"})


@pytest.mark.parametrize(("name", "key"), [("n2", "another"), ("n9", KEY), ("", KEY)])
def test_a_other_is_not_let_in(name: str, key: str) -> None:
    place, port = gather("n2")
    with pytest.raises(CannotMeet, match="is not the leader"):
        come(name, port, key, tries=2)
    assert place.wait(0.0, quietly, never)["n2"].trouble


@pytest.mark.parametrize(
    "expected", [b"\n", b"[]\n", b"\xff\xfe\n", b'{"name": 3}\n', b"x" * 5000, b"{" * 900 + b"\n", b""]
)
def test_strange_greetings_hold_up_no_one(expected: bytes) -> None:
    place, port = gather("n2")
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(expected)
        end = come("n2", port)
        assert not place.wait(TIMEOUT, quietly, never)["n2"].trouble
        gathering.hang_up(end)


def test_somebody_else_on_that_port_is_not_believed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        threading.Thread(target=lambda: other.accept()[0].sendall(b'{"name": "", "proof": "0"}\n'), daemon=True).start()
        with pytest.raises(CannotMeet, match="does not know the key"):
            come("n2", other.getsockname()[1], tries=1)


def test_a_port_that_is_taken_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(CannotMeet, match="cannot listen at 127"):
        Gathering([], "127.0.0.1", other.getsockname()[1], KEY)


def test_a_greeting_that_was_overheard_is_worth_nothing_on_another_connection() -> None:
    """The old greeting was the same each time: whoever saw it could come as that node."""
    place, port = gather("n2", "n3")
    overheard: list[bytes] = []

    class Overheard(gathering.GreetingLine):
        def send(self, **fields: str) -> None:
            if "name" in fields or "nonce" not in fields:  # what the guest says; the leader answers with both
                overheard.append(json.dumps(fields).encode() + b"\n")
            super().send(**fields)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "GreetingLine", Overheard)
        gathering.hang_up(come("n2", port))
    place.close()
    again, port = gather("n2")
    assert len(overheard) == 2
    with socket.create_connection(("127.0.0.1", port), timeout=20) as thief:
        for line in overheard:
            thief.sendall(line)
        assert b"nonce" in thief.makefile("rb").readline()
        assert thief.recv(1) == b""
    assert again.wait(0.0, quietly, never)["n2"].trouble


@pytest.mark.parametrize("where", ["accept", "thread"])
def test_a_machine_out_of_descriptors_or_threads_lets_them_in_later(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([True, True])
    real_accept, real_start = socket.socket.accept, threading.Thread.start

    def accept(listener: socket.socket) -> tuple[socket.socket, object]:
        if where == "accept" and next(failures, False):
            raise OSError(24, "Too many open files")
        return real_accept(listener)

    def start(thread: threading.Thread) -> None:
        if where == "thread" and getattr(thread, "_target", None).__name__ == "_greet" and next(failures, False):
            raise RuntimeError("can't start new thread")
        real_start(thread)

    monkeypatch.setattr(socket.socket, "accept", accept)
    monkeypatch.setattr(threading.Thread, "start", start)
    place, port = gather("n2")
    end = come("n2", port)
    assert not place.wait(TIMEOUT, quietly, never)["n2"].trouble
    gathering.hang_up(end)


def test_one_byte_at_a_time_does_not_make_the_greeting_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = itertools.count(step=1.0)
    monkeypatch.setattr(gathering.time, "monotonic", lambda: next(moments))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b" " * 400)
        with pytest.raises(CannotMeet):
            gathering.GreetingLine(ours).receive()
