"""Event logs: two forms, wrong ones refused in one sentence, anything at all survived."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.simulation.event_log import BadLog, read

STAYS = """SN,location,insert,remove,event
a,n1,2026-01-01 00:00:00,2026-07-02 12:00:00,
a,n1,2026-07-02 12:00:00,2026-07-02 12:00:00,DBE
a,n1,,2026-07-02 12:00:00,DBE
a,n1,,2026-07-02 12:00:00,OTB
a,n1,,2026-07-02 15:00:00,DBE
b,n2,2026-01-01 00:00:00,2027-01-01 00:00:00,
"""


def test_stays_give_time_and_every_event_but_not_one_that_is_written_twice() -> None:
    found = read(STAYS.splitlines())
    assert found.unit_years == pytest.approx(1.5, rel=1e-3)
    assert (found.events, found.repeats, found.units) == (3, 1, 2)


def test_lifetimes_are_kept_for_an_age_law() -> None:
    found = read(["serial,years,dead", "a,2.5,TRUE", "b,1.5,FALSE"])
    assert found.unit_years == 4.0
    assert found.lifetimes == [(2.5, True), (1.5, False)]


@pytest.mark.parametrize(
    ("lines", "expected_text"),
    [
        ([], "line 1: expected columns"),
        (["a,b,c", "1,2,3"], "found a, b, c"),
        (["device,begin,end,event", "x,2026-01-02,2026-01-01,"], "line 2: it ends before it begins"),
        (["device,begin,end,event", "x,yesterday,2026-01-01,"], "line 2: expected a time"),
        (["device,years,died", "x,-1,true"], "line 2: years: expected a time of 0 or more"),
        (["device,years,died", "x,1,perhaps"], "line 2: died: expected true or false"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(lines: list[str], expected_text: str) -> None:
    with pytest.raises(BadLog, match=expected_text):
        read(lines)


@given(st.lists(st.text(max_size=60), max_size=6))
def test_anything_is_read_or_refused(lines: list[str]) -> None:
    for header in ("device,begin,end,event", "sn,time,dead", ""):
        try:
            found = read([header, *lines])
        except BadLog:
            continue
        assert found.unit_years >= 0 and found.events >= 0
