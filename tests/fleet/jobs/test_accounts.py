"""The ledger of a training job: every moment has one name, steps made again are rework, a restart has its price."""

from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from holdfast.fleet.jobs.accounts import MOST_RESTARTS, STEP_TIMES, Accounts
from holdfast.fleet.jobs.snapshot import _count, _recount
from holdfast.fleet.jobs.verdicts import USUAL_READINGS
from holdfast.model.wire.progress import WINDOW_SECONDS, RankWindow


def window(at: float, step: int, steps: int, seconds: float, checkpoint: float = 0.0, began: float = 0.0) -> RankWindow:
    return RankWindow(
        job="j", owner="uid-1", rank=0, world=8, session="s", began=began, at=at, step=step, steps=steps,
        seconds=seconds, checkpoint_seconds=checkpoint, own_seconds=seconds / steps,
    )  # fmt: skip


def run(accounts: Accounts, at: float, step: int, windows: int, attempt: int = 0) -> tuple[float, int]:
    for _ in range(windows):
        at, step = at + 10, step + 10
        accounts.take(window(at, step, 10, 10.0), attempt)
    return at, step


def test_steps_are_productive_and_what_saving_took_is_checkpoint():
    accounts = Accounts()
    at, step = run(accounts, 100.0, 0, 8)
    accounts.take(window(at + 10, step + 8, 8, 10.0, checkpoint=2.0), 0)
    ledger = accounts.ledger_until(at + 10)
    assert ledger.checkpoint == approx(2.0) and ledger.productive == approx(88.0)
    assert ledger.restart == approx(100.0)  # from the beginning to the first step


def test_what_slow_steps_took_above_the_usual_is_degraded():
    accounts = Accounts()
    at, step = run(accounts, 0.0, 0, 20)
    accounts.take(window(at + 10, step + 5, 5, 10.0), 0)
    assert accounts.ledger.degraded == approx(5.0)
    assert accounts.usual_seconds == approx(1.0)


def test_the_first_window_counts_from_step_0_and_nothing_in_it_is_made_again():
    accounts = Accounts()
    accounts.take(window(10.0, 7, 8, 8.0), 0)
    assert accounts.ledger.rework == 0.0
    assert accounts.ledger.productive == approx(8.0)


def test_the_usual_step_is_the_one_that_a_quarter_of_the_windows_beat():
    accounts = Accounts()
    at = step = 0
    for number in range(1, 12):
        at, step = at + number, step + 1
        accounts.take(window(at, step, 1, float(number)), 0)
    assert accounts.usual_seconds == approx(3.0)


def test_restarts_of_an_older_version_are_numbered_by_their_place():
    accounts = Accounts()
    at, step = run(accounts, 0.0, 0, 10)
    for attempt in (1, 2, 3):
        at, step = run(accounts, at + 30, step, 4, attempt)
    accounts.restarts = deque(replace(one, attempt=-1) for one in accounts.restarts)
    assert [one.attempt for one in _recount(_count(accounts)).restarts] == [0, 1, 2]


def test_a_restart_costs_the_pause_and_the_steps_made_again():
    accounts = Accounts()
    at, _ = run(accounts, 0.0, 0, 10)  # step 100 at 100 s
    run(accounts, at + 30, 80, 4, attempt=1)  # again from step 80
    [restart] = accounts.restarts
    assert (restart.down_seconds, restart.from_step, restart.lost_steps) == (approx(30), 80, 20)
    assert restart.attempt == 0, "the one that died"
    assert restart.rework_seconds == approx(20.0) and accounts.ledger.rework == approx(20.0)
    assert accounts.ledger.restart == approx(30.0)
    assert accounts.best_step == 120


def test_a_window_that_reports_more_saving_than_time_is_charged_its_time_once():
    accounts = Accounts()
    at, _ = run(accounts, 0.0, 0, 10)
    accounts.take(window(at + 10, 105, 10, 10.0, checkpoint=90.0), 1)  # steps 96 to 100 are made again
    ledger = accounts.ledger
    assert (ledger.rework, ledger.checkpoint, ledger.productive) == (approx(5.0), approx(5.0), approx(100.0))


def test_time_that_another_rank_reported_already_is_not_reported_twice():
    accounts = Accounts()
    at, step = run(accounts, 0.0, 0, 10)
    accounts.take(window(at + 3, step + 3, 10, 10.0), 0)
    assert accounts.ledger.total == approx(103.0) and accounts.ledger.rework == 0.0


def test_a_window_that_never_arrived_is_unknown():
    accounts = Accounts()
    at, step = run(accounts, 0.0, 0, 3)
    run(accounts, at + 10, step + 10, 1)
    assert accounts.ledger.unknown == approx(10.0)


_window = st.tuples(
    st.floats(-5, 60), st.integers(1, 50), st.floats(0, 100), st.floats(0, 100), st.integers(0, 200), st.booleans()
)


@given(st.lists(_window, max_size=30))
def test_the_parts_are_always_the_whole(windows):
    accounts, at, attempt = Accounts(), 0.0, 0
    for later, steps, seconds, checkpoint, step, again in windows:
        at, attempt = at + later, attempt + again
        accounts.take(window(at, step + steps, steps, seconds, min(checkpoint, seconds)), attempt)
    ledger = accounts.ledger_until(at + 5)
    if accounts.began is not None:
        assert ledger.total == approx(max(at + 5, accounts.at) - accounts.began, abs=1e-6)
    assert all(part >= -1e-9 for part in ledger.parts().values())


def test_six_windows_say_what_is_usual_and_it_is_the_quicker_quarter():
    accounts = Accounts()
    at, step = run(accounts, 0.0, 0, 5)
    assert accounts.usual_seconds is None
    at, step = run(accounts, at, step, 1)
    assert accounts.usual_seconds == approx(1.0)
    for seconds in (20.0, 30.0, 40.0, 50.0, 60.0):
        at, step = at + seconds, step + 10
        accounts.take(window(at, step, 10, seconds), 0)
    assert accounts.usual_seconds == approx(1.0)  # a quarter of eleven were quicker


@pytest.mark.parametrize(("seconds", "degraded"), [(10.5, 0.0), (10.6, 0.6), (20.0, 10.0)])
def test_a_twentieth_above_the_usual_is_slow(seconds, degraded):
    accounts = Accounts()
    at, step = run(accounts, 0.0, 0, 20)
    accounts.take(window(at + seconds, step + 10, 10, seconds), 0)
    assert accounts.ledger.degraded == approx(degraded)
    assert accounts.ledger.productive == approx(200.0 + seconds - degraded)


def test_what_is_slow_is_a_share_of_the_usual_whatever_a_step_takes():
    accounts = Accounts()
    for number in range(1, 21):
        accounts.take(window(20.0 * number, 10 * number, 10, 20.0), 0)
    accounts.take(window(422.0, 210, 10, 22.0), 0)
    assert accounts.ledger.degraded == approx(2.0)
    accounts.take(window(442.5, 220, 10, 20.5), 0)
    assert accounts.ledger.degraded == approx(2.0)


def test_what_is_usual_is_learned_from_hours_and_so_many_restarts_are_remembered():
    assert STEP_TIMES * WINDOW_SECONDS == 6 * 3600
    assert USUAL_READINGS * WINDOW_SECONDS == 3600
    accounts = Accounts()
    assert (accounts.restarts.maxlen, MOST_RESTARTS, accounts.step_times.maxlen) == (1000, 1000, STEP_TIMES)


@pytest.mark.parametrize(("gap", "unknown"), [(0.5, 0.0), (0.6, 0.6)])
def test_half_a_second_between_two_windows_is_rounding(gap, unknown):
    accounts = Accounts()
    at, step = run(accounts, 0.0, 0, 3)
    accounts.take(window(at + gap + 10, step + 10, 10, 10.0), 0)
    assert accounts.ledger.unknown == approx(unknown)
    assert accounts.ledger.productive == approx(40.0 + gap - unknown)


def test_a_window_without_steps_reports_nothing():
    accounts = Accounts()
    accounts.take(RankWindow(job="j", owner="u", rank=0, world=8, session="s", began=0.0, at=10.0), 0)
    assert accounts.began is None
    assert accounts.ledger_until(99.0).total == 0.0


def test_a_job_starts_with_its_process_and_what_is_not_reported_yet_is_unknown():
    accounts = Accounts()
    accounts.take(window(110.0, 10, 10, 10.0, began=70.0), 3)
    assert (accounts.began, accounts.at, accounts.attempt, accounts.step) == (70.0, 110.0, 3, 10)
    assert accounts.ledger.restart == approx(30.0)
    assert accounts.ledger_until(125.0).unknown == approx(15.0)
    assert accounts.ledger_until(100.0).unknown == 0.0


def test_what_another_rank_reported_already_is_charged_by_its_new_part_alone():
    """Half of the window is new: half of its steps and half of what saving took."""
    accounts = Accounts()
    at, step = run(accounts, 0.0, 0, 10)
    accounts.take(window(at + 5, step + 5, 10, 10.0, checkpoint=4.0), 0)
    assert accounts.ledger.checkpoint == approx(2.0)
    assert accounts.ledger.productive == approx(103.0)
    assert accounts.step_times[-1] == approx(3.0 / 5)
    accounts.take(window(at + 5, step + 5, 10, 10.0), 0)
    assert accounts.ledger.total == approx(105.0)


def test_of_a_window_made_partly_again_the_new_part_alone_is_progress():
    """Ten steps, four of them made before: of ten seconds and two of saving, four and none are charged as rework."""
    accounts = Accounts()
    at, _ = run(accounts, 0.0, 0, 10)  # step 100
    accounts.nodes_before = ("n1",)
    accounts.take(window(at + 40, 106, 10, 10.0, checkpoint=2.0), 1)
    [restart] = accounts.restarts
    assert (restart.at, restart.down_seconds, restart.from_step, restart.lost_steps) == (at + 30, 30.0, 96, 4)
    assert (restart.rework_seconds, restart.nodes) == (approx(4.0), ("n1",))
    ledger = accounts.ledger
    assert (ledger.rework, ledger.checkpoint, ledger.restart) == (approx(4.0), approx(1.2), approx(30.0))
    assert ledger.productive == approx(100.0 + 4.8)
    assert accounts.step_times[-1] == approx(4.8 / 6)


def test_only_the_last_restart_bears_what_is_made_again():
    accounts = Accounts()
    at, _ = run(accounts, 0.0, 0, 10)
    at, _ = run(accounts, at + 30, 80, 1, attempt=1)
    run(accounts, at + 40, 70, 3, attempt=2)
    assert [one.rework_seconds for one in accounts.restarts] == [approx(10.0), approx(30.0)]
    assert [(one.lost_steps, one.down_seconds) for one in accounts.restarts] == [(20, 30.0), (30, 40.0)]


def test_a_restart_that_lost_nothing_is_reported_as_one():
    accounts = Accounts()
    at, step = run(accounts, 0.0, 0, 10)
    accounts.take(window(at + 5, step + 10, 10, 10.0), 1)
    [restart] = accounts.restarts
    assert (restart.down_seconds, restart.lost_steps, restart.rework_seconds) == (0.0, 0, 0.0)


def test_the_furthest_step_stays_the_furthest():
    accounts = Accounts()
    at, _ = run(accounts, 0.0, 0, 10)
    run(accounts, at, 50, 1, attempt=1)
    assert (accounts.step, accounts.best_step) == (60, 100)
