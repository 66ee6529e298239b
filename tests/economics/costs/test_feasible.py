"""Numbers that make sense, and those that do not."""

import math

import pytest

from holdfast.economics.costs.feasible import BadNumber, not_negative, positive, share


@pytest.mark.parametrize(
    ("ask", "good", "bad"),
    [
        (positive, [1e-9, 1.0, 1e300], [0.0, -1.0, math.inf, math.nan]),
        (not_negative, [0.0, 1e300], [-1e-9, math.inf, math.nan]),
        (share, [0.0, 0.5, 1.0], [-1e-9, 1.0 + 1e-9, math.nan]),
    ],
)
def test_both_sides_of_what_is_expected(ask, good, bad) -> None:  # type: ignore[no-untyped-def]
    assert [ask("x", value) for value in good] == good
    for value in bad:
        with pytest.raises(BadNumber, match="x: expected"):
            ask("x", value)
