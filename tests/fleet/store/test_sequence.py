"""Ranges of report numbers say the same as a set would."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.store.sequence import MOST_RANGES, StoredSequence


@given(st.lists(st.integers(0, 40)))
def test_seen_answers_as_a_set_whatever_the_order(numbers: list[int]) -> None:
    seen, known = StoredSequence(), set[int]()
    for number in numbers:
        assert seen.add(number) == (number not in known)
        known.add(number)
        assert seen.newest == max(known)
        seen = StoredSequence(str(seen))  # as it is read back from the store
    gaps = {number for low, high in seen.gaps() for number in range(low, high + 1)}
    assert gaps == (set(range(min(known), max(known))) - known if known else set())


def test_a_session_in_order_stays_one_range() -> None:
    seen = StoredSequence()
    assert all(seen.add(number) for number in range(1, 500))
    assert str(seen) == "1-499"


def test_a_gap_is_filled_when_the_late_ones_come() -> None:
    seen = StoredSequence("1-3,6-9")
    assert seen.gaps() == [(4, 5)]
    assert seen.add(5)
    assert seen.add(4)
    assert str(seen) == "1-9"


def test_an_agent_that_only_leaves_gaps_cannot_make_the_row_grow_for_ever() -> None:
    seen = StoredSequence()
    for number in range(0, 3 * MOST_RANGES, 2):
        assert seen.add(number)
    assert str(seen).count(",") == MOST_RANGES - 1
    assert not seen.add(3 * MOST_RANGES - 2)
