"""The parts always sum to the whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.ledger import Ledger

SECONDS = st.floats(0, 1e12)


@given(SECONDS, SECONDS, SECONDS, SECONDS)
def test_the_shares_sum_to_one(productive: float, rework: float, restart: float, idle: float) -> None:
    ledger = Ledger(productive=productive, rework=rework, restart=restart, idle=idle)
    assert ledger.total == pytest.approx(productive + rework + restart + idle)
    if ledger.total > 0:
        assert sum(ledger.shares().values()) == pytest.approx(1, abs=1e-9)


def test_nothing_has_no_shares() -> None:
    assert Ledger().shares() == {} and Ledger().share("productive") == 0
