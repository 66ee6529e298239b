"""The kernel's clock state, from its status word or from a file that stands in for it."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.host.timex import STA_NANO, ClockState, from_kernel, from_text


def test_the_offset_is_in_the_unit_the_status_word_says() -> None:
    assert from_kernel(0, STA_NANO, 1_000_000, 2000) == ClockState(True, 0.001, 0.002)
    assert from_kernel(0, 1, 1000, 2000) == ClockState(True, 0.001, 0.002)


def test_an_unsynchronised_clock_is_known_by_bit_or_by_return() -> None:
    assert not from_kernel(5, 0, 0, 0).synchronised
    assert not from_kernel(0, 0x40, 0, 16_000_000).synchronised


def test_a_file_may_give_the_word_or_the_meaning() -> None:
    times = "offset_seconds=-0.25\nmax_error_seconds=0.5\n"
    assert from_text("status=0x2001\n" + times) == ClockState(True, -0.25, 0.5)
    assert from_text("status=64\n" + times) == ClockState(False, -0.25, 0.5)
    assert from_text("synchronised=0\n" + times) == ClockState(False, -0.25, 0.5)


def test_what_is_missing_or_no_number_is_named() -> None:
    assert from_text("status=0\noffset_seconds=0") == "no max_error_seconds"
    assert from_text("offset_seconds=0\nmax_error_seconds=0") == "no status or synchronised"
    assert from_text("status=fine") == "'status' is not a number"


@given(st.text() | st.builds("status={}\noffset_seconds={}\nmax_error_seconds=1".format, st.floats(), st.floats()))
def test_arbitrary_text_never_raises(text: str) -> None:
    assert isinstance(from_text(text), ClockState | str)
