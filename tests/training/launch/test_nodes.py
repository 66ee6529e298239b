"""What launchers agree on: one new generation for deaths that come together, and an end that all see."""

import socket

import pytest

from holdfast.training.launch import nodes
from holdfast.training.launch.nodes import Generation, LauncherNodes, NodeLost
from tests.ports import free_port


def pair() -> tuple[LauncherNodes, LauncherNodes]:
    port = free_port()
    leader, other = LauncherNodes(2, 0, "127.0.0.1", port), LauncherNodes(2, 1, "127.0.0.1", port)
    leader.join()
    other.join()
    return leader, other


def number(one: LauncherNodes) -> int:
    found = one.generation()
    assert isinstance(found, Generation)
    return found.number


def test_both_see_the_first_generation_and_its_store() -> None:
    leader, other = pair()
    assert leader.generation() == other.generation()
    assert number(other) == 1


def test_a_loss_on_any_node_starts_one_generation_for_all() -> None:
    leader, other = pair()
    before = leader.generation()
    other.lose(1)
    other.lose(1)  # of the same generation: several ranks that died together
    leader.lose(1)
    assert number(other) == 1  # until the leader has made the store of the next
    assert number(leader) == number(other) == 2
    after = leader.generation()
    assert after is not None and before is not None and after.port != before.port
    leader.lose(2)
    assert number(leader) == number(other) == 3


def test_whoever_gives_up_ends_the_run_on_all_nodes() -> None:
    leader, other = pair()
    other.give_up("rank 3 ended with exit code 1")
    for one in (leader, other):
        with pytest.raises(NodeLost, match="rank 3 ended with exit code 1"):
            one.generation()


def test_ranks_that_finished_are_counted_over_all_nodes() -> None:
    leader, other = pair()
    assert leader.finished() == 0
    other.finish()
    leader.finish()
    assert leader.finished() == other.finished() == 2


def test_a_silent_launcher_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    leader, other = pair()
    now = 100.0
    monkeypatch.setattr(nodes.time, "monotonic", lambda: now)
    for _ in range(3):
        now += 1.0
        other.generation()
        leader.generation()
    now += nodes.SILENT_SECONDS - 0.5
    leader.generation()
    now += 1.0
    with pytest.raises(NodeLost, match="the launcher of node 1 is silent"):
        leader.generation()
        leader.generation()


def test_its_stores_listen_on_the_interface_of_the_job_alone() -> None:
    """PyTorch's store has no authentication: whoever reaches its port ends the job."""
    leader = LauncherNodes(1, 0, "127.0.0.2", 0)
    leader.join()
    generation = leader.generation()
    assert isinstance(generation, Generation)
    for port in (leader.port, generation.port):
        socket.create_connection(("127.0.0.2", port), timeout=5).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)
