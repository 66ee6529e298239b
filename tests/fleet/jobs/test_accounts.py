"""The ledger of a training job: every moment has one name, steps made again are rework, a restart has its price."""

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from holdfast.fleet.jobs.accounts import Accounts
from holdfast.model.wire.progress import RankWindow


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


def test_a_restart_costs_the_pause_and_the_steps_made_again():
    accounts = Accounts()
    at, _ = run(accounts, 0.0, 0, 10)  # step 100 at 100 s
    run(accounts, at + 30, 80, 4, attempt=1)  # again from step 80
    [restart] = accounts.restarts
    assert (restart.down_seconds, restart.from_step, restart.lost_steps) == (approx(30), 80, 20)
    assert restart.rework_seconds == approx(20.0) and accounts.ledger.rework == approx(20.0)
    assert accounts.ledger.restart == approx(30.0)
    assert accounts.best_step == 120


def test_time_that_another_rank_told_already_is_not_told_twice():
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
def test_the_parts_are_always_the_whole(told):
    accounts, at, attempt = Accounts(), 0.0, 0
    for later, steps, seconds, checkpoint, step, again in told:
        at, attempt = at + later, attempt + again
        accounts.take(window(at, step + steps, steps, seconds, min(checkpoint, seconds)), attempt)
    ledger = accounts.ledger_until(at + 5)
    if accounts.began is not None:
        assert ledger.total == approx(max(at + 5, accounts.at) - accounts.began, abs=1e-6)
    assert all(part >= -1e-9 for part in ledger.parts().values())
