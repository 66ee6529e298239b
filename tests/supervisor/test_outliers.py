"""Who stands elsewhere than the others."""

from holdfast.supervisor.evidence.outliers import evidence
from holdfast.supervisor.evidence.stack_capture import StackCapture

WAITING = ("all_reduce (torch/distributed/distributed_c10d.py:2810)", "update (train.py:58)", "<module> (train.py:99)")
SLEEPING = ("sleep (train.py:12)", "<module> (train.py:99)")
GATHERING = ("all_gather (torch/distributed/distributed_c10d.py:3100)", "metrics (train.py:70)")


def look(rank: int, frames: tuple[str, ...], state: str = "S", cpu: float = 0.0, io: int = 0) -> StackCapture:
    return StackCapture(rank=rank, host="n1", pid=100 + rank, state=state, frames=frames, cpu_seconds=cpu, io_bytes=io)


def test_the_rank_that_the_others_wait_for() -> None:
    found = evidence([look(0, WAITING), look(1, WAITING), look(2, SLEEPING), look(3, WAITING)], at=5.0)
    assert [(one.rank, one.cause) for one in found] == [(2, "job.rank_slow")]
    assert "rank 2 is in sleep (train.py:12) while ranks 0, 1, 3 are in all_reduce" in found[0].event.text


def test_a_rank_in_another_collective_is_a_mismatch() -> None:
    found = evidence([look(0, WAITING), look(1, GATHERING), look(2, WAITING)], at=5.0)
    assert [(one.rank, one.cause) for one in found] == [(1, "job.collective_mismatch")]


def test_stopped_and_blocked_processes() -> None:
    stopped, blocked = look(1, (), "T"), look(2, ("nfs_wait (kernel)",), "D")
    found = evidence([look(0, WAITING), stopped, blocked, look(3, WAITING)], at=5.0)
    assert [(one.rank, one.cause) for one in found] == [(1, "job.rank_slow"), (2, "storage.stall")]


def test_no_one_is_blamed_where_all_wait_or_there_is_no_majority() -> None:
    assert evidence([look(rank, WAITING) for rank in range(4)], at=5.0) == []
    assert evidence([look(0, WAITING), look(1, WAITING), look(2, SLEEPING), look(3, GATHERING)], at=5.0) == []
    assert evidence([look(0, WAITING)], at=5.0) == []
    assert evidence([], at=5.0) == []


def test_what_counts_as_moving() -> None:
    assert look(0, SLEEPING).moved_since(look(0, WAITING))
    assert look(0, WAITING, io=4096).moved_since(look(0, WAITING))  # a save that writes
    assert look(0, SLEEPING, cpu=2.0).moved_since(look(0, SLEEPING))  # busy with one long call
    assert not look(0, WAITING, cpu=2.0).moved_since(look(0, WAITING))  # a collective spins
    assert not look(0, SLEEPING).moved_since(look(0, SLEEPING))
