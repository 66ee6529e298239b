"""Every second is charged to one name, whatever happens in whatever order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.ledger import Ledger
from holdfast.supervisor.accounts import RunAccounts


def test_a_run_with_a_restart() -> None:
    accounts = RunAccounts(0.0)
    accounts.begin(1.0)
    for step in range(1, 11):
        accounts.step(10.0 + step, step)
    accounts.save(20.5, "begin")
    accounts.save(22.0, "end")
    accounts.step(23.0, 11)
    accounts.end(30.0, well=False)
    accounts.begin(35.0)
    accounts.step(40.0, 10)  # starts with the tenth step again: the eleventh is made twice
    accounts.step(41.0, 11)
    accounts.step(42.0, 12)
    accounts.end(43.0, well=True)
    assert accounts.ledger == Ledger(
        productive=9.0 + 0.5 + 1.0 + 1.0 + 1.0, checkpoint=1.5, rework=1.0, restart=10.0 + 7.0 + 5.0, waiting=1.0 + 5.0
    )
    assert accounts.ledger.total == accounts.wall_seconds == 43.0


def test_slow_steps_are_degraded_above_the_usual() -> None:
    accounts = RunAccounts(0.0)
    accounts.begin(0.0)
    for step in range(20):
        accounts.step(float(step), step)
    accounts.step(22.0, 20)
    assert accounts.ledger.degraded == pytest.approx(2.0)
    assert accounts.ledger.total == accounts.wall_seconds


def test_without_a_progress_line_no_one_knows() -> None:
    accounts = RunAccounts(0.0)
    accounts.begin(0.0)
    accounts.end(100.0, well=True)
    assert accounts.ledger == Ledger(unknown=100.0)


HAPPENS = st.tuples(st.sampled_from(["begin", "step", "save", "saved", "well", "badly"]), st.integers(0, 50))


@given(st.lists(st.tuples(HAPPENS, st.floats(0.0, 1e4))), st.floats(0.0, 1e6))
def test_the_parts_are_the_whole(happenings: list[tuple[tuple[str, int], float]], before: float) -> None:
    accounts, now = RunAccounts(0.0, Ledger(unknown=before)), 0.0
    for (what, step), later in happenings:
        now += later
        if what == "begin":
            accounts.begin(now)
        elif what == "step":
            accounts.step(now, step)
        elif what in ("save", "saved"):
            accounts.save(now, "begin" if what == "save" else "end")
        else:
            accounts.end(now, well=what == "well")
    accounts.charge(now, "waiting")
    assert accounts.ledger.total == pytest.approx(before + now, abs=1e-6)
    assert accounts.wall_seconds == pytest.approx(before + now, abs=1e-6)
    assert min(accounts.ledger.parts().values()) > -1e-6
