"""An agent whose clock is wrong is put on the controller's clock, and jitter of the wire moves nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.api.skew import TOLERATED_SECONDS, Clocks, on_our_clock
from holdfast.model.signal import Event
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange

NOW = 1_800_000_000.0
HOUR = 3600.0


def report_behind(seconds: float) -> bytes:
    return f"{seconds:.3f}".encode()


@pytest.mark.parametrize("off", [HOUR, -HOUR])
def test_an_hour_ahead_or_behind_is_taken_off(off: float) -> None:
    assert Clocks().seconds_behind("n1", report_behind(NOW + off), NOW) == -off


def test_what_the_wire_explains_moves_nothing_and_a_known_skew_is_kept_through_jitter() -> None:
    clocks = Clocks()
    assert clocks.seconds_behind("n1", report_behind(NOW - 10), NOW) == 0.0
    assert clocks.seconds_behind("n1", report_behind(NOW - HOUR), NOW) == HOUR
    assert clocks.seconds_behind("n1", report_behind(NOW - HOUR - 10), NOW) == HOUR
    assert clocks.seconds_behind("n2", report_behind(NOW), NOW) == 0.0
    assert clocks.seconds_behind("n1", report_behind(NOW - 1), NOW) == 0.0  # somebody set it right


@given(st.binary(max_size=40))
def test_any_bytes_are_a_clock_that_is_believed_or_not(header: bytes) -> None:
    behind = Clocks().seconds_behind("n1", header, NOW)
    assert behind == 0.0 or abs(behind) > TOLERATED_SECONDS


def test_every_time_is_moved_but_the_one_that_is_not_known() -> None:
    report = Report(
        node="n1",
        session="s",
        seq=1,
        at=10.0,
        events=(Event(kind="xid", at=5.0, text=""), Event(kind="xid", at=0.0, text="")),
        changes=(VerdictChange(at=6.0, check="c", before="", after="pass"),),
        outcomes=(OrderOutcome(order=1, verb="retest", ok=True, began=4.0),),
    )
    moved = on_our_clock(report, HOUR)
    assert (moved.at, moved.events[0].at, moved.events[1].at) == (HOUR + 10, HOUR + 5, 0.0)
    assert moved.changes[0].at == HOUR + 6
    assert on_our_clock(report, 0.0) is report
