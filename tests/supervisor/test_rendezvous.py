"""Supervisors that agree over a store which anybody can reach: only those with the job's secret count."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.supervisor.nodes.admission import Signer
from holdfast.supervisor.nodes.rendezvous import LeaderLost
from holdfast.supervisor.nodes.report import AttemptEnd, AttemptPlan, AttemptReport
from tests.ports import free_port
from tests.waiting import until

pytest.importorskip("torch", reason="the training extra is not installed")

from torch._C._distributed_c10d import TCPStore

from holdfast.supervisor.nodes.c10d import C10dRendezvous, Size, StoreTimeouts

SECRET = b"s" * 32
QUICKLY = StoreTimeouts(assembly_seconds=30.0, lost_seconds=10.0, heartbeat_seconds=0.01, poll_seconds=0.005)


@contextmanager
def joined(size: Size, *names: str) -> Iterator[tuple[C10dRendezvous, dict[str, C10dRendezvous], TCPStore, list[str]]]:
    """(leader, followers, the attacker's connection, what the leader said)."""
    address, message = f"127.0.0.1:{free_port()}", list[str]()
    leader = C10dRendezvous("n1", address, SECRET, size, QUICKLY, leads=True, notify=message.append)
    followers = {
        name: C10dRendezvous(name, address, SECRET, size, QUICKLY, leads=False, notify=message.append) for name in names
    }
    host, port = address.split(":")
    attacker = TCPStore(host, int(port), is_master=False, timeout=timedelta(seconds=5), wait_for_workers=False)
    threads = [threading.Thread(target=one.assemble, daemon=True) for one in followers.values()]
    try:
        leader._heart.start()
        for thread in threads:
            thread.start()
        until(lambda: len(leader._joined()) == len(names) + 1, lambda: str(leader._joined()))
        for thread in threads:
            thread.join()
        yield leader, followers, attacker, message
    finally:
        leader._closing.set()
        for one in followers.values():
            one._closing.set()


def without_heart(leader: C10dRendezvous) -> C10dRendezvous:
    """Only one thread may admit nodes: from here on it is the test's."""
    leader._closing.set()
    leader._heart.join()
    return leader


def on_a_thread(question: Callable[[], object]) -> Callable[[], object]:
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(question()), daemon=True)
    thread.start()

    def answer() -> object:
        thread.join(20)
        assert answers, "no answer"
        return answers[0]

    return answer


def test_a_plan_without_the_job_s_secret_is_not_followed() -> None:
    with joined(Size(2, 2), "n2") as (leader, followers, attacker, _):
        forged = msgspec.json.encode(AttemptPlan(number=1, members=("n2",), master_host="10.6.6.6", master_port=1))
        attacker.set("plan/1", forged.decode())
        waits = on_a_thread(lambda: followers["n2"].next_plan(0))
        attacker.set("plan/1", Signer(b"w" * 32).seal("plan/1", forged))
        true = AttemptPlan(number=1, members=("n1", "n2"), master_host="127.0.0.1", master_port=5)
        leader.announce(true)
        assert waits() == true


def test_a_signed_message_counts_only_where_and_when_it_was_signed() -> None:
    with joined(Size(2, 2), "n2") as (leader, followers, attacker, _):
        leader.announce(AttemptPlan(number=1, members=("n1", "n2"), master_host="h", master_port=5))
        recorded = attacker.get("plan/1")
        attacker.set("plan/2", recorded.decode())  # as the next attempt's
        assert followers["n2"]._get("plan/1", followers["n2"]._signer) is not None
        assert followers["n2"]._get("plan/2", followers["n2"]._signer) is None
    with joined(Size(2, 2), "n2") as (_, followers, attacker, _):  # the same job, started again
        attacker.set("plan/1", recorded.decode())
        assert followers["n2"]._get("plan/1", followers["n2"]._signer) is None


def test_a_plan_carries_neither_command_nor_environment() -> None:
    allowed = {
        "number",
        "members",
        "excluded",
        "master_host",
        "master_port",
        "probe",
        "finished",
        "exit_code",
        "reason",
    }
    assert {one.name for one in msgspec.inspect.type_info(AttemptPlan).fields} == allowed  # type: ignore[attr-defined]


def test_a_node_with_another_secret_is_refused_and_both_sides_say_so() -> None:
    with joined(Size(1, 3), "n2") as (leader, _, _, message):
        stranger = C10dRendezvous(
            "evil", f"{leader._host}:{leader._port}", b"x" * 32, Size(1, 3), QUICKLY, leads=False, notify=message.append
        )
        with pytest.raises(LeaderLost, match="another job secret"):
            stranger.assemble()
        assert leader._joined() == ["n1", "n2"]
        assert message == ["a node with another job secret asked to join and was refused"]


def test_a_recorded_claim_does_not_join() -> None:
    with joined(Size(2, 2), "n2") as (_, _, attacker, _):
        claim, hello = attacker.get("member/1"), attacker.get("hello/1")
    with joined(Size(2, 3), "n3") as (leader, _, attacker, _):
        number = attacker.add("joined", 1)
        assert number == 2
        attacker.set("member/1", claim.decode())
        attacker.set("member/2", claim.decode())
        attacker.set("hello/2", hello.decode())
        for _ in range(2):
            without_heart(leader)._admission.step(attacker)
        assert leader._joined() == ["n1", "n3"]


def test_a_flood_of_joins_is_bounded() -> None:
    with joined(Size(2, 2), "n2") as (leader, _, attacker, _):
        without_heart(leader)
        attacker.add("joined", 10**12)
        leader._admission.step(attacker)
        assert len(leader._admission._open) <= 4096
        assert leader._joined() == ["n1", "n2"]


def test_a_forged_heartbeat_end_or_report_is_not_counted() -> None:
    with joined(Size(2, 2), "n2") as (leader, followers, attacker, _):
        end = AttemptEnd(node="n2", why="forged")
        attacker.set("end/1", msgspec.json.encode(end).decode())
        assert leader.ended_elsewhere(1) is None
        followers["n2"].announce_end(1, AttemptEnd(node="n2", why="true"))
        assert leader.ended_elsewhere(1) == AttemptEnd(node="n2", why="true")
        attacker.set("report/1/n2", msgspec.json.encode(AttemptReport(node="n2", exit_code=0)).decode())
        followers["n2"].send_report(1, AttemptReport(node="n2", exit_code=7))
        assert [one.exit_code for one in leader.reports(1, ["n1", "n2"])] == [7]
        leader.lost(["n2"])
        before = leader._heartbeats["n2"]
        followers["n2"]._closing.set()
        followers["n2"]._heart.join()
        leader.lost(["n2"])
        before = leader._heartbeats["n2"]
        attacker.set("heartbeat/n2", "999")
        leader.lost(["n2"])
        # the forged value changed nothing but that the last true one is gone
        assert leader._heartbeats["n2"][0] in (before[0], b"")


def test_a_job_shrinks_to_its_least_and_grows_to_its_most() -> None:
    with joined(Size(2, 3), "n2", "n3") as (leader, _, _, _):
        whole = leader.select_members([])
        assert set(whole.names) == {"n1", "n2", "n3"} and whole.names[0] == "n1"
        assert leader.can_lose([], whole.names) == 1  # one above the minimum
        fewer = leader.select_members(["n2"])
        assert fewer.names == ("n1", "n3")
        assert leader.can_lose(["n2"], fewer.names) == 0
        assert fewer.master_port != whole.master_port
        with pytest.raises(LeaderLost, match="expected 2 nodes"):
            leader.select_members(["n2", "n3"])


def test_spares_and_members_above_the_minimum_can_be_lost() -> None:
    with joined(Size(2, 2), "n2", "n3") as (leader, _, _, _):
        members = leader.select_members([]).names
        assert len(members) == 2
        assert leader.can_lose([], members) == 1


def test_the_store_listens_on_the_chosen_interface_only() -> None:
    with joined(Size(2, 2), "n2") as (leader, _, _, _), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
        other.settimeout(2)
        with pytest.raises(OSError):
            other.connect(("127.0.0.2", leader._port))


@given(st.binary(max_size=64), st.text(max_size=20), st.binary(max_size=200))
def test_only_what_was_signed_opens(secret: bytes, key: str, junk: bytes) -> None:
    signer = Signer(secret, "session")
    assert signer.open(key, signer.seal(key, b"value").encode()) == b"value"
    assert signer.open(key, junk) is None
    assert signer.open(key + "x", signer.seal(key, b"value").encode()) is None
    assert Signer(secret + b"x", "session").open(key, signer.seal(key, b"value").encode()) is None
    assert signer.of_session("another").open(key, signer.seal(key, b"value").encode()) is None
