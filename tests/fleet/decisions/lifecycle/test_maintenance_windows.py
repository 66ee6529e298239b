"""Planned work covers the nodes it names, from its first second to just before its last."""

import pytest

from holdfast.fleet.decisions.lifecycle.maintenance import DAY_SECONDS, MONDAY, WEEK_SECONDS, Maintenance
from holdfast.model.lifecycle import NodeState

HOUR = 3600.0
# 2024-01-01 was a Monday. `date -u -d 2024-01-01 +%s`
NEW_YEAR_MONDAY = 1_704_067_200.0
ONCE = Maintenance(name="pump", start=100.0, end=200.0)
# Tuesdays from 02:00 to 04:00 UTC.
TUESDAYS = Maintenance(name="patch", weekly=True, start=26 * HOUR, end=28 * HOUR)
# From Sunday 22:00 to Monday 01:00 UTC.
OVER_THE_WEEKEND = Maintenance(name="power", weekly=True, start=6 * DAY_SECONDS + 22 * HOUR, end=1 * HOUR)


@pytest.mark.parametrize(
    "planned, now, active",
    [
        (ONCE, 99.9, False),
        (ONCE, 100.0, True),
        (ONCE, 199.9, True),
        (ONCE, 200.0, False),
        (TUESDAYS, NEW_YEAR_MONDAY + 26 * HOUR - 1, False),
        (TUESDAYS, NEW_YEAR_MONDAY + 26 * HOUR, True),
        (TUESDAYS, NEW_YEAR_MONDAY + 28 * HOUR - 1, True),
        (TUESDAYS, NEW_YEAR_MONDAY + 28 * HOUR, False),
        (TUESDAYS, NEW_YEAR_MONDAY + 7 * DAY_SECONDS + 27 * HOUR, True),  # the week after
        (TUESDAYS, NEW_YEAR_MONDAY + 2 * DAY_SECONDS + 3 * HOUR, False),  # a Wednesday
        (OVER_THE_WEEKEND, NEW_YEAR_MONDAY, True),
        (OVER_THE_WEEKEND, NEW_YEAR_MONDAY + 1 * HOUR - 1, True),
        (OVER_THE_WEEKEND, NEW_YEAR_MONDAY + 1 * HOUR, False),
        (OVER_THE_WEEKEND, NEW_YEAR_MONDAY - 2 * HOUR - 1, False),
        (OVER_THE_WEEKEND, NEW_YEAR_MONDAY - 2 * HOUR, True),
        (OVER_THE_WEEKEND, NEW_YEAR_MONDAY + 3 * DAY_SECONDS, False),
    ],
)
def test_it_is_active_from_its_start_to_just_before_its_end(planned: Maintenance, now: float, active: bool) -> None:
    assert planned.active(now) is active


def test_a_weekly_window_without_length_is_never_active() -> None:
    empty = Maintenance(name="none", weekly=True, start=HOUR, end=HOUR)
    assert not any(empty.active(NEW_YEAR_MONDAY + hour * HOUR) for hour in range(7 * 24))


@pytest.mark.parametrize(
    "nodes, pool, covered",
    [
        ((), "", True),  # the whole fleet
        (("n1", "n2"), "", True),
        (("n2",), "", False),
        ((), "train", True),
        ((), "serve", False),
        (("n1",), "train", True),
        (("n1",), "serve", False),
        (("n2",), "train", False),
    ],
)
def test_nodes_and_pool_both_narrow_it_down(nodes: tuple[str, ...], pool: str, covered: bool) -> None:
    planned = Maintenance(name="pump", nodes=frozenset(nodes), pool=pool, start=100.0, end=200.0)
    node = NodeState(name="n1", pool="train")
    assert planned.covers(node, 150.0) is covered
    assert not planned.covers(node, 250.0)


@pytest.mark.parametrize(
    "since, until, found",
    [
        (0.0, 300.0, [100.0, 200.0]),
        (100.0, 200.0, []),  # what happens at the ends of the span belongs to its neighbours
        (99.0, 101.0, [100.0]),
        (150.0, 201.0, [200.0]),
        (201.0, 900.0, []),
    ],
)
def test_work_done_once_starts_and_ends_once(since: float, until: float, found: list[float]) -> None:
    assert ONCE.boundaries(since, until) == found


def test_weekly_work_starts_and_ends_in_every_week_of_the_span() -> None:
    begin, end = NEW_YEAR_MONDAY + 26 * HOUR, NEW_YEAR_MONDAY + 28 * HOUR
    week = 7 * DAY_SECONDS
    assert TUESDAYS.boundaries(begin - 1, begin + 1) == [begin]
    assert TUESDAYS.boundaries(begin, end) == []
    assert TUESDAYS.boundaries(begin - 1, end + week + 1) == [begin, end, begin + week, end + week]
    assert TUESDAYS.boundaries(end + 1, begin + week - 1) == []
    sunday, monday = NEW_YEAR_MONDAY - 2 * HOUR, NEW_YEAR_MONDAY + HOUR
    assert OVER_THE_WEEKEND.boundaries(sunday - 1, monday + 1) == [sunday, monday]


def test_weeks_are_counted_from_a_monday() -> None:
    assert (NEW_YEAR_MONDAY - MONDAY) % WEEK_SECONDS == 0
    assert WEEK_SECONDS == 604_800.0


def test_the_last_week_of_a_span_is_searched_too() -> None:
    begin = NEW_YEAR_MONDAY + 26 * HOUR
    week = 7 * DAY_SECONDS
    assert TUESDAYS.boundaries(begin - 3 * week + 1, begin + 1)[-1] == begin
    assert TUESDAYS.boundaries(NEW_YEAR_MONDAY - 1, NEW_YEAR_MONDAY + 27 * HOUR) == [begin]


@pytest.mark.parametrize(
    "window, now, active",
    [
        ({}, 0.0, False),
        ({}, 0.5, False),
        ({"end": 10.0}, 0.0, True),
        ({"start": -1.0}, -0.5, True),
        ({"start": -1.0}, 0.0, False),
        ({"end": 10.0}, 7 * DAY_SECONDS + 5.0, False),  # once, unless it says weekly
    ],
)
def test_a_window_that_names_no_time_is_empty_and_comes_once(
    window: dict[str, float], now: float, active: bool
) -> None:
    assert Maintenance(name="none", **window).active(now) is active  # type: ignore[arg-type]


def test_the_weeks_of_a_span_are_all_that_it_touches() -> None:
    begin, end, week = NEW_YEAR_MONDAY + 26 * HOUR, NEW_YEAR_MONDAY + 28 * HOUR, 7 * DAY_SECONDS
    all_of_it = TUESDAYS.boundaries(NEW_YEAR_MONDAY, NEW_YEAR_MONDAY + 3 * week)
    assert all_of_it == [at + n * week for n in range(3) for at in (begin, end)]
    assert OVER_THE_WEEKEND.boundaries(NEW_YEAR_MONDAY, NEW_YEAR_MONDAY + 2 * HOUR) == [NEW_YEAR_MONDAY + HOUR]
