"""When a keeper sends and writes: under its rate, and in the gaps between communication of the ranks beside it."""

import os
import threading

import pytest

from holdfast.training.checkpoint.keeper import pacing as pace
from holdfast.training.checkpoint.keeper.pacing import CopyBudget, Gaps, Overdue, RateLimit


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(0.0, seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    one = Clock()
    monkeypatch.setattr(pace, "time", one)
    return one


def test_what_shares_a_pace_stays_under_its_rate_together(clock: Clock) -> None:
    shared = RateLimit(1_000.0)
    for _ in range(5):
        shared.wait(2_000)
    assert clock.now == pytest.approx(108.0)  # the first begins at once, each of the others after those before it
    RateLimit(0.0).wait(1 << 40)
    assert clock.now == pytest.approx(108.0)


def test_a_chunk_waits_for_a_gap_but_not_for_ever(clock: Clock) -> None:
    gaps = Gaps()
    sending = RateLimit(0.0, gaps)
    mark = gaps.mark_of(3)
    sending.wait(1)
    assert sending.waited_seconds == 0.0
    mark.map[0] = 1
    sending.wait(1)
    assert sending.waited_seconds == pytest.approx(pace.LONGEST_WAIT_SECONDS, abs=0.01)
    gaps.left(3)  # a rank that was killed while it communicated
    sending.wait(1)
    assert sending.waited_seconds == pytest.approx(pace.LONGEST_WAIT_SECONDS, abs=0.01)


def test_the_end_of_a_communication_lets_the_next_chunk_go() -> None:
    gaps = Gaps()
    marks = [gaps.mark_of(rank) for rank in range(2)]
    for mark in marks:
        mark.map[0] = 1
    done = threading.Event()
    waiting = threading.Thread(target=lambda: (gaps.wait(), done.set()), daemon=True)
    waiting.start()
    for mark in marks:
        mark.map[0] = 0
    waiting.join(60)
    assert done.is_set()


def test_copies_are_spread_over_half_of_the_interval_and_at_most_five_seconds() -> None:
    spread = CopyBudget()
    spread.saved(0, 100.0)
    assert spread.seconds(0) == 0.0, "of the first copy there is no interval yet"
    spread.saved(0, 104.0)
    assert spread.seconds(0) == pytest.approx(2.0)
    spread.saved(1, 100.0)
    spread.saved(1, 104.0)
    assert spread.seconds(0) == pytest.approx(1.0), "two ranks share it"
    spread.saved(0, 1104.0)
    assert spread.seconds(0) == pytest.approx(2.5)
    longer = CopyBudget(60.0)
    for now in (100.0, 1104.0):
        longer.saved(0, now)
    assert longer.seconds(0) == pytest.approx(60.0), "as the keeper's --replica-seconds says"


def test_the_rate_of_one_copy_holds_beside_that_of_all(clock: Clock) -> None:
    shared = RateLimit(1_000.0)
    shared.wait(1_000, bytes_per_second=500.0)
    shared.wait(1_000, bytes_per_second=2_000.0)
    assert clock.now == pytest.approx(102.0)
    shared.wait(0)
    assert clock.now == pytest.approx(103.0)


def test_a_thread_that_copies_yields_to_training_and_others_do_not() -> None:
    seen: list[int] = []

    def work() -> None:
        pace.behind_training()
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert seen == [min(before + pace.NICENESS, pace.LOWEST_PRIORITY)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


def test_work_that_waits_too_long_is_overdue_until_it_is_done():
    overdue = Overdue()
    assert not overdue.now()
    overdue.begin("copy")
    assert not overdue.now()
    overdue.begin("torch", 0.0)
    assert overdue.now()
    overdue.end("torch")
    assert not overdue.now()
    overdue.end("never begun")
