"""What moved: against its own beginning, its own noise and its usual excursions, and since when."""

from typing import Any

import numpy as np
import pytest

from holdfast.catalog.seam_signals import SeamSignal, signals
from holdfast.model.panel import SignalTable
from holdfast.seams.moved import baseline_columns, median, moves, recent_columns

FLOW = signals()["cdu_flow_litres_per_minute"]._replace(least_ratio=0.0, least_absolute=4.0)
COLUMNS = 240
TIMES = np.arange(COLUMNS) * 10.0
NAN = float("nan")


def _row(*spans: tuple[int, float], columns: int = COLUMNS) -> list[float]:
    """A value from each column on."""
    row = [NAN] * columns
    for first, value in spans:
        row[first:] = [value] * (columns - first)
    return row


def _moved(row: list[float], signal: SeamSignal = FLOW, **more: Any) -> list[tuple[float, float, float]]:
    table = SignalTable(("x",), np.array([row], np.float32))
    found = moves(table, np.arange(len(row)) * 10.0, signal, **more).symptoms()
    return [(one.since, one.before, one.now) for one in found]


@pytest.mark.parametrize(
    ("columns", "step", "calm"),
    [(0, 10.0, 0), (1, 10.0, 0), (2, 10.0, 4), (15, 10.0, 5), (240, 10.0, 80), (600, 10.0, 90), (600, 60.0, 15), (600, 600.0, 4)],
)  # fmt: skip
def test_a_third_of_the_window_is_calm_and_a_quarter_of_an_hour_at_the_most(
    columns: int, step: float, calm: int
) -> None:
    assert baseline_columns(np.arange(columns) * step) == calm


@pytest.mark.parametrize(("step", "recent"), [(10.0, 6), (15.0, 4), (30.0, 2), (60.0, 2)])
def test_the_last_minute_is_now_and_two_columns_at_least(step: float, recent: int) -> None:
    assert recent_columns(np.arange(10) * step) == recent


@pytest.mark.parametrize(
    ("bad", "now", "moved"),
    [
        ("down", 195.9, True), ("down", 196.1, False), ("down", 205.0, False),
        ("up", 204.1, True), ("up", 203.9, False), ("up", 195.0, False),
        ("either", 195.9, True), ("either", 204.1, True), ("either", 203.9, False), ("either", 196.1, False),
    ],
)  # fmt: skip
def test_only_what_hurts_and_is_enough_is_a_move(bad: str, now: float, moved: bool) -> None:
    found = _moved(_row((0, 200.0), (150, now)), FLOW._replace(bad=bad))
    assert found == ([(1500.0, 200.0, pytest.approx(now))] if moved else [])


@pytest.mark.parametrize(("ratio", "moved"), [(0.02, True), (0.0249, True), (0.026, False)])
def test_the_larger_of_both_limits_counts(ratio: float, moved: bool) -> None:
    assert bool(_moved(_row((0, 200.0), (150, 195.0)), FLOW._replace(least_ratio=ratio))) is moved


@pytest.mark.parametrize(("at", "moved"), [(237, True), (238, False)])
def test_the_middle_of_the_last_minute_is_now(at: int, moved: bool) -> None:
    assert bool(_moved(_row((0, 200.0), (at, 191.0)))) is moved


@pytest.mark.parametrize(("size", "moved"), [(13.0, True), (12.5, False)])
def test_a_move_is_five_times_the_noise_of_as_many_columns(size: float, moved: bool) -> None:
    """A row that is 3 off to either side: 5 * 1.4826 * 3 * sqrt(2 / 6) is 12.8."""
    row = np.array(_row((0, 200.0), (150, 200.0 - size)))
    row[:150] += np.resize([3.0, 2.9, -3.0, -2.9], 150)  # every second column is looked at
    assert bool(_moved(list(row))) is moved


@pytest.mark.parametrize(("often", "moved"), [(1, True), (2, False)])
def test_what_it_does_one_time_in_25_is_no_news(often: int, moved: bool) -> None:
    """Of forty columns of the beginning that are looked at."""
    row = np.array(_row((0, 200.0), (150, 190.0)))
    row[: 2 * often : 2] = 185.0
    assert bool(_moved(list(row))) is moved


@pytest.mark.parametrize(
    ("why", "spans", "since"),
    [
        ("at once", [(0, 200.0), (150, 190.0)], 1500.0),
        ("one wild sample before does not begin it", [(0, 200.0), (120, 180.0), (121, 200.0), (150, 190.0)], 1500.0),
        ("one good sample does not end it", [(0, 200.0), (150, 190.0), (180, 200.0), (181, 190.0)], 1500.0),
        ("two good ones do", [(0, 200.0), (150, 190.0), (180, 200.0), (182, 190.0)], 1820.0),
        ("a third of the least that matters begins it", [(0, 200.0), (130, 198.7), (150, 190.0)], 1300.0),
        ("less does not", [(0, 200.0), (130, 198.9), (150, 190.0)], 1500.0),
        ("it was so all the time, beside a calm past", [(0, 190.0)], 0.0),
    ],
)
def test_since_when(why: str, spans: list[tuple[int, float]], since: float) -> None:
    calm = SignalTable(("x",), np.full((1, 40), 200.0, np.float32)) if len(spans) == 1 else None
    ((found, before, now),) = _moved(_row(*spans), calm=calm)
    assert (found, before, now) == (since, 200.0, 190.0), why


@pytest.mark.parametrize(("off", "since"), [(1.05, 1300.0), (0.55, 1500.0)])
def test_a_move_starts_three_noises_from_usual(off: float, since: float) -> None:
    """A row that is 0.2 off to either side: three noises are 0.9; then 0.3 * 4 is more."""
    signal = FLOW._replace(least_absolute=1.0)
    row = np.array(_row((0, 200.0), (130, 200.0 - off), (150, 190.0)))
    row[:130] += np.resize([0.2, 0.2, -0.2, -0.2], 130)
    ((found, *_),) = _moved(list(row), signal)
    assert found == since


def test_a_window_too_short_for_a_beginning_and_an_end_says_nothing() -> None:
    assert _moved([200.0] * 4 + [150.0] * 5) == []
    assert _moved([200.0] * 4 + [150.0] * 6) != []


@pytest.mark.parametrize(("gap", "moved"), [(40, True), (42, False)])
def test_a_row_seen_for_less_than_half_of_its_beginning_has_another(gap: int, moved: bool) -> None:
    """It is compared with the first it was seen: here that is what it is now."""
    row = np.array(_row((0, 190.0), (80, 200.0), (150, 190.0)))
    row[:gap] = NAN
    row[40:80] = 200.0
    if not moved:
        row[:150] = NAN
    assert bool(_moved(list(row))) is moved


def test_who_came_later_is_held_against_its_own_first_minutes() -> None:
    assert _moved(_row((100, 200.0), (210, 190.0))) == [(2100.0, 200.0, 190.0)]
    assert _moved(_row((228, 200.0), (231, 190.0))) == [], "what is now is not what was"


@pytest.mark.parametrize(("silent", "moved"), [(3, True), (4, False)])
def test_half_of_the_last_minute_must_be_seen(silent: int, moved: bool) -> None:
    row = np.array(_row((0, 200.0), (150, 190.0)))
    row[COLUMNS - silent :] = NAN
    assert bool(_moved(list(row))) is moved


@pytest.mark.parametrize(("silent", "moved"), [(30, True), (33, True), (34, False)])
def test_a_signal_that_pauses_is_judged_by_what_was_read_before_the_pause(silent: int, moved: bool) -> None:
    row = np.array(_row((0, 200.0), (150, 190.0)))
    row[COLUMNS - silent :] = NAN
    assert bool(_moved(list(row), pauses=True)) is moved
    assert not _moved(list(row))


def test_a_value_reported_now_and_then_holds_until_the_next() -> None:
    row = [NAN] * COLUMNS
    row[5], row[100], row[160] = 200.0, 200.0, 190.0
    assert _moved(row, FLOW._replace(sparse=True)) == [(1600.0, 200.0, 190.0)]
    assert _moved(row) == []


def test_a_calm_past_is_the_baseline_of_the_subjects_in_it() -> None:
    table = SignalTable(("new", "known"), np.array([_row((0, 190.0)), _row((0, 190.0))], np.float32))
    calm = SignalTable(("other", "known"), np.array([[100.0] * 64, [200.0] * 64], np.float32))
    found = moves(table, TIMES, FLOW, calm)
    assert [(one.subject, one.before) for one in found.symptoms()] == [("known", 200.0)]
    assert found.center.tolist() == [190.0, 200.0]


def test_only_every_few_columns_of_a_long_past_are_looked_at() -> None:
    """Of 96 columns every third: what lies between them is not seen."""
    past = np.full((1, 96), 100.0, np.float32)
    past[0, ::3] = 200.0
    table = SignalTable(("x",), np.array([_row((0, 200.0))], np.float32))
    assert moves(table, TIMES, FLOW, SignalTable(("x",), past)).center.tolist() == [200.0]


@pytest.mark.parametrize(
    ("row", "middle"),
    [
        ([1.0, 2.0, 9.0], 2.0), ([1.0, 2.0, 4.0, 9.0], 3.0), ([1.0, NAN, 9.0, 2.0], 2.0), ([NAN, 4.0, 1.0, NAN], 2.5),
        ([NAN, NAN, 4.0], NAN), ([NAN, NAN, NAN], NAN), ([NAN, 1.0, 2.0, 3.0, 6.0], 2.5),
    ],
)  # fmt: skip
def test_the_middle_of_what_was_seen_where_half_was(row: list[float], middle: float) -> None:
    found = median(np.array([row, [5.0] * len(row)], np.float32))
    assert found.tolist() == [pytest.approx(middle, nan_ok=True), 5.0]


def test_who_was_not_seen_neither_moved_nor_stayed() -> None:
    table = SignalTable(("a", "b"), np.array([_row((0, 200.0)), [NAN] * COLUMNS], np.float32))
    found = moves(table, TIMES, FLOW)
    assert found.seen.tolist() == [True, False]
    nothing = moves(SignalTable((), np.empty((0, COLUMNS), np.float32)), TIMES, FLOW)
    assert (nothing.symptoms(), nothing.seen.tolist()) == ([], [])


@pytest.mark.parametrize(
    ("why", "strays", "by", "moved"),
    [
        ("its peers are still", 0.0, 5.0, True),
        ("it strays as they do", 1.0, 5.0, False),
        ("farther than they do", 1.0, 7.0, True),
        ("what all do together is no straying", -3.0, 5.0, True),
        ("so far no instrument strays", 3.0, 12.5, True),
        ("less than that", 3.0, 11.5, False),
    ],
)
def test_a_move_is_beyond_what_its_peers_do_by_themselves(why: str, strays: float, by: float, moved: bool) -> None:
    """Seven peers end up to one, two and three times `strays` away; below 0: all by the same."""
    ends = [-strays if strays < 0 else strays * place for place in (-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 0.0)]
    rows = [_row((0, 200.0), (150, 200.0 - end)) for end in (by, *ends)]
    table = SignalTable(tuple("abcdefgh"), np.array(rows, np.float32))
    found = moves(table, TIMES, FLOW).symptoms()
    assert ("a" in [one.subject for one in found]) is moved, why
