"""Each step from readings to a move, on both sides of its limit: what is usual, what is now, how long, since when."""

from typing import Any

import numpy as np
import pytest

from holdfast.catalog.seam_signals import signals
from holdfast.model.panel import SignalTable
from holdfast.seams.moved import (
    Moves,
    _aligned,
    _beginning,
    _beyond_peers,
    _careful,
    _dense,
    _held,
    _high,
    _hurting,
    _lasts,
    _latest,
    _or_own_first,
    _steady,
    baseline_columns,
    cadence,
    cadence_columns,
    median,
    moves,
    recent_columns,
    resolution,
)

FLOW = signals()["cdu_flow_litres_per_minute"]._replace(least_ratio=0.0, least_absolute=4.0)
STEP = signals()["job_step_seconds"]._replace(least_ratio=0.0, least_absolute=4.0)
NAN = float("nan")


def _rows(*rows: Any) -> np.ndarray:
    return np.array(rows, np.float32)


def _table(*rows: Any) -> SignalTable:
    return SignalTable(tuple("abcdefghij"[: len(rows)]), _rows(*rows))


@pytest.mark.parametrize(("columns", "calm"), [(11, 4), (12, 4), (14, 4), (15, 5), (269, 89), (270, 90), (271, 90)])
def test_how_many_columns_are_calm(columns: int, calm: int) -> None:
    assert baseline_columns(np.arange(columns) * 10.0) == calm


@pytest.mark.parametrize(("step", "calm"), [(200.0, 4), (225.0, 4), (150.0, 6), (100.0, 9)])
def test_how_many_columns_of_a_long_window_are_calm(step: float, calm: int) -> None:
    assert baseline_columns(np.arange(100) * step) == calm


@pytest.mark.parametrize(("step", "recent"), [(24.0, 2), (25.0, 2), (20.0, 3), (1.0, 60)])
def test_how_many_columns_are_now(step: float, recent: int) -> None:
    assert recent_columns(np.arange(5) * step) == recent


@pytest.mark.parametrize(
    ("why", "series", "size", "step", "lasts"),
    [
        ("nine of ten readings of ten minutes", [0.0, *[5.0] * 9], 10.0, 60.0, True),
        ("eight of ten", [0.0, 0.0, *[5.0] * 8], 10.0, 60.0, False),
        ("half of its size is far enough", [5.0] * 10, 10.0, 60.0, True),
        ("less is not", [4.99] * 10, 10.0, 60.0, False),
        ("what was before ten minutes does not count", [*[0.0] * 9, *[5.0] * 10], 10.0, 60.0, True),
        ("with a reading every five minutes, three count", [0.0, 5.0, 5.0, 5.0], 10.0, 300.0, True),
        ("not two", [0.0, 5.0, 5.0], 10.0, 300.0, False),
    ],
)
def test_what_is_off_in_nearly_every_reading_of_the_last_minutes_lasts(
    why: str, series: list[float], size: float, step: float, lasts: bool
) -> None:
    found = _lasts(_rows(series), np.array([size]), np.arange(40) * step)
    assert found.tolist() == [lasts], why


@pytest.mark.parametrize(
    ("why", "row", "last", "latest"),
    [
        ("nothing is missing", [1, 2, 3, 4, 5], 2, [4, 5]),
        ("a pause is skipped", [1, 2, NAN, NAN, 5], 2, [2, 5]),
        ("a pause of five minutes", [1, 2, *[NAN] * 5], 2, [1, 2]),
        ("a longer one hides what was before", [1, 2, *[NAN] * 6], 2, [NAN, 2]),
        ("one reading is not several", [NAN, NAN, 3], 2, [NAN, 3]),
    ],
)
def test_the_last_readings_before_a_pause(why: str, row: list[float], last: int, latest: list[float]) -> None:
    found = _latest(_rows(row), np.arange(len(row)) * 60.0, last)
    assert found.tolist() == [pytest.approx(latest, nan_ok=True)], why


@pytest.mark.parametrize(
    ("row", "high"),
    [
        ([float(n) for n in range(25)], 23.0),  # one of 25 is above
        ([float(n) for n in range(50)], 47.0),
        ([float(n) for n in range(24)], 23.0),
        ([*[float(n) for n in range(25)], *[NAN] * 5], 23.0),
        ([7.0], 7.0),
    ],
)
def test_what_is_exceeded_one_time_in_25(row: list[float], high: float) -> None:
    assert _high(_rows(row)).tolist() == [high]


def test_what_is_exceeded_by_a_row_that_nobody_saw_is_unknown() -> None:
    assert np.isnan(_high(_rows([NAN, NAN]))).all()


@pytest.mark.parametrize(
    ("row", "dense"),
    [
        ([NAN, NAN, 5, NAN, 7, NAN], [5, 5, 5, 5, 7, 7]),
        ([1, NAN, NAN], [1, 1, 1]),
        ([NAN, NAN], [NAN, NAN]),
    ],
)
def test_a_value_holds_until_the_next_and_the_first_from_the_beginning(row: list[float], dense: list[float]) -> None:
    assert _dense(_table(row)).values.tolist() == [pytest.approx(dense, nan_ok=True)]


def test_a_gap_holds_the_value_before_it() -> None:
    assert _held(_rows([NAN, 2, NAN, 4], [1, NAN, NAN, 5])).tolist() == [
        pytest.approx([NAN, 2, 2, 4], nan_ok=True),
        [1, 1, 1, 5],
    ]
    whole = _rows([1, 2])
    assert _held(whole) is whole


@pytest.mark.parametrize(
    ("row", "steady"),
    [
        ([1, 9, 1, 1], [1, 1, 1, 1]),
        ([1, 1, 9, 9, 1], [1, 1, 9, 9, 1]),
        ([9, 1, 1, 9], [9, 1, 1, 9]),
        ([3, 1, 2], [3, 2, 2]),
        ([1, 3, 2], [1, 2, 2]),
        ([1, 2, 3], [1, 2, 3]),
        ([2, 3, 1], [2, 2, 1]),
        ([1, NAN, 9, 9], [1, 1, 9, 9]),
    ],
)
def test_the_middle_of_three_neighbours(row: list[float], steady: list[float]) -> None:
    assert _steady(_rows(row)).tolist() == [steady]


@pytest.mark.parametrize(("bad", "hurts"), [("up", [2.0, -3.0]), ("down", [-2.0, 3.0]), ("either", [2.0, 3.0])])
def test_in_which_direction_a_change_hurts(bad: str, hurts: list[float]) -> None:
    assert _hurting(np.array([2.0, -3.0]), bad).tolist() == hurts


@pytest.mark.parametrize(("changes", "step"), [(8, 0.5), (7, 0.0)])
def test_eight_changes_tell_the_smallest_step_of_each_row(changes: int, step: float) -> None:
    row = np.zeros(12)
    row[: changes + 1] = 0.5 * (np.arange(changes + 1) % 2)
    row[changes + 1 :] = row[changes]
    assert resolution(_rows(row, np.arange(12) * 3.0)).tolist() == [step, 3.0]


@pytest.mark.parametrize(("size", "step"), [(1.1, 1.1), (0.9, 0.0)])
def test_a_step_of_a_millionth_of_the_largest_reading_is_rounding(size: float, step: float) -> None:
    values = np.array([[1e6 - size * (n % 2) for n in range(12)]])  # float64: no rounding of its own
    assert resolution(values).tolist() == [pytest.approx(step)]


@pytest.mark.parametrize(("columns", "looked_at"), [(32, 32), (63, 63), (64, 32), (65, 33), (90, 45), (96, 32)])
def test_of_a_long_beginning_some_columns_are_looked_at(columns: int, looked_at: int) -> None:
    table = _table(np.arange(200))
    found = _beginning(table, columns)
    assert found.shape == (1, looked_at)
    assert found[0, -1] < columns


@pytest.mark.parametrize(("missing", "own"), [(4, False), (5, True)])
def test_a_row_unseen_in_more_than_half_of_the_beginning_has_its_own(missing: int, own: bool) -> None:
    values = _rows(np.arange(20.0))
    values[0, :missing] = NAN
    found = _or_own_first(values[:, :8], values, 8)
    first = (
        [float(n) for n in range(missing, missing + 8)]
        if own
        else [*[NAN] * missing, *[float(n) for n in range(missing, 8)]]
    )
    assert found.tolist() == [pytest.approx(first, nan_ok=True)]


def test_the_own_beginning_of_a_row_ends_with_the_window() -> None:
    values = np.full((2, 12), 1.0, np.float32)
    values[1, :9] = NAN
    values[1, 9:] = [5.0, 6.0, 7.0]
    found = _or_own_first(values[:, :6], values, 6)
    assert found.tolist() == [[1.0] * 6, pytest.approx([5, 6, 7, NAN, NAN, NAN], nan_ok=True)]


def test_of_a_long_own_beginning_as_many_columns_are_looked_at_as_of_the_others() -> None:
    values = np.full((1, 200), NAN, np.float32)
    values[0, 70:] = np.arange(130)
    base = values[:, :64:2]
    assert _or_own_first(base, values, 64).tolist() == [[float(n) for n in range(0, 64, 2)]]


def test_a_known_past_is_repeated_where_it_is_shorter_and_put_in_order() -> None:
    table = SignalTable(("new", "known"), _rows([1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0]))
    calm = SignalTable(("known", "gone"), _rows([7, 8], [9, 9]))
    assert _aligned(table, calm, 5).tolist() == [[1, 2, 3, 4, 5], [7, 8, 7, 8, 7]]


def test_a_known_past_that_is_longer_widens_the_beginning_of_the_others() -> None:
    table = SignalTable(("new", "known"), _rows([1, 2, 3], [0, 0, 0]))
    calm = SignalTable(("known",), _rows([7, 8, 9, 10]))
    assert _aligned(table, calm, 2).tolist() == [pytest.approx([1, 2, NAN, NAN], nan_ok=True), [7, 8, 9, 10]]


@pytest.mark.parametrize(
    ("row", "middle"), [([4, NAN], 4.0), ([4, NAN, NAN], NAN), ([1, 3, NAN, NAN], 2.0), ([1, 3, 8, NAN, NAN], 3.0)]
)
def test_the_middle_where_half_was_seen(row: list[float], middle: float) -> None:
    assert median(_rows(row)).tolist() == [pytest.approx(middle, nan_ok=True)]


def test_the_middle_of_nothing() -> None:
    assert median(np.empty((0, 4), np.float32)).tolist() == []
    assert np.isnan(median(np.empty((2, 0), np.float32))).tolist() == [True, True]


def test_a_cadence_is_learned_once() -> None:
    table = _table(np.repeat(np.arange(40.0), 3))
    assert cadence(table) == 3
    table.values[:] = 1.0
    assert cadence(table) == 3
    assert cadence(_table(np.ones(120))) == 1


def test_of_many_rows_some_teach_the_cadence() -> None:
    """Of 64 rows every second one, of 63 each."""
    fast, slow = np.arange(120.0), np.repeat(np.arange(40.0), 3)
    assert cadence_columns(_rows(*[slow, fast] * 32)) == 3
    assert cadence_columns(_rows(*[slow, fast] * 31, slow)) == 1


@pytest.mark.parametrize(
    ("signal", "noise", "moved"),
    [(FLOW, 3, False), (STEP, 3, True), (FLOW, 1, True)],
)
def test_what_lasts_is_no_hiccup_of_single_steps(signal: Any, noise: int, moved: bool) -> None:
    """Three of the forty columns of the beginning are farther off than what is now. Jobs have such steps."""
    row = np.full(240, 200.0)
    row[4 : 4 + 2 * noise : 2] = 230.0 if signal.bad == "up" else 170.0
    row[150:] = 210.0 if signal.bad == "up" else 190.0
    found = moves(SignalTable(("x",), _rows(row)), np.arange(240) * 10.0, signal)
    assert bool(len(found.rows)) is moved


@pytest.mark.parametrize(("minutes", "moved"), [(9, True), (8, False)])
def test_a_job_that_was_slow_for_most_of_ten_minutes_is_slow(minutes: int, moved: bool) -> None:
    row = np.full(240, 200.0)
    row[4:10:2] = 230.0
    row[240 - 6 * minutes :] = 210.0
    assert bool(len(moves(SignalTable(("x",), _rows(row)), np.arange(240) * 10.0, STEP).rows)) is moved


@pytest.mark.parametrize(("size", "moved"), [(5.8, True), (5.7, False)])
def test_a_coarse_instrument_must_move_by_more_than_its_rounding(size: float, moved: bool) -> None:
    """Steps of 4: half of one is its noise; five times that, of the six readings of a minute, is 5.77."""
    row = np.full(240, 200.0)
    for n in range(10):
        row[8 * n : 8 * n + 2] = 204.0  # too seldom to be noise, often enough to tell the step
    row[150:] = 200.0 - size
    found = moves(SignalTable(("x",), _rows(row)), np.arange(240) * 10.0, FLOW)
    assert found.before.tolist() == ([200.0] if moved else [])


def _found(deviation: list[float], rows: list[int], seen: list[bool] | None = None) -> Moves:
    number = len(deviation)
    center, recent = np.full(number, 200.0, np.float32), 200.0 - np.array(deviation, np.float32)
    chosen = np.array(rows)
    return Moves(
        FLOW, tuple("abcdefghijkl"[:number]), chosen, center[chosen], recent[chosen], np.zeros(len(rows)),
        np.array(seen if seen else [True] * number), center, recent,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("why", "peers", "seen", "kept"),
    [
        ("six still peers that stray by as much", [-2.0, 2.0, -2.0, 2.0, -2.0, 2.0], None, False),
        ("five are too few to tell", [-2.0, 2.0, -2.0, 2.0, -2.0], None, True),
        ("who is not seen is no peer", [-2.0, 2.0, -2.0, 2.0, -2.0, 2.0], [True] * 6 + [False], True),
        ("a sixth of its own move", [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0], None, True),
        ("a little more", [-1.05, 1.05, -1.05, 1.05, -1.05, 1.05], None, False),
        ("all off by the same", [3.0] * 6, None, True),
    ],
)
def test_what_strays_six_times_as_far_as_its_peers(
    why: str, peers: list[float], seen: list[bool] | None, kept: bool
) -> None:
    """A move of 6, where 4 is worth a word."""
    found = _found([6.0, *peers], [0], seen)
    deviation = np.array([6.0, *peers], np.float32)
    left = _beyond_peers(found, deviation, np.full(len(deviation), 4.0, np.float32))
    assert bool(len(left.rows)) is kept, why


def test_what_moved_is_no_peer() -> None:
    deviation = [6.0, 6.0, *[-2.0, 2.0] * 2]
    found = _found(deviation, [0, 1])
    left = _beyond_peers(found, np.array(deviation, np.float32), np.full(6, 4.0, np.float32))
    assert left.rows.tolist() == [0, 1], "four are too few to tell"


@pytest.mark.parametrize(("size", "kept"), [(12.0, True), (11.9, False)])
def test_three_times_what_matters_is_beyond_all_peers(size: float, kept: bool) -> None:
    deviation = np.array([size, *[-3.9, 3.9] * 3], np.float32)
    left = _beyond_peers(_found(deviation.tolist(), [0]), deviation, np.full(7, 4.0, np.float32))
    assert bool(len(left.rows)) is kept


@pytest.mark.parametrize(
    ("why", "off", "since"),
    [("three noises begin a move", 0.95, 300.0), ("less does not", 0.85, 600.0)],
)
def test_since_when_it_is_off(why: str, off: float, since: float) -> None:
    """0.2 to either side: three noises are 0.89. Of a least move of 1, three tenths are less."""
    base = np.resize([199.8, 200.2], 40)
    row = np.concatenate([base[:30], np.full(30, 200.0 + off), np.full(30, 210.0)])
    found = _found([-10.0], [0])
    kept = _careful(found, _rows(base), _rows(row), np.arange(90) * 10.0, np.array([1.0], np.float32), 6)
    assert kept.since.tolist() == [since], why


@pytest.mark.parametrize(("readings", "kept"), [(2, False), (3, True)])
def test_more_readings_make_a_move_surer(readings: int, kept: bool) -> None:
    """A noise of 1.4826, five times that is 7.4; times sqrt(2 / 3) it is 6.05."""
    base = np.resize([199.0, 201.0], 40)
    row = np.concatenate([base, np.full(40, 206.5)])
    found = _found([-6.5], [0])
    left = _careful(found, _rows(base), _rows(row), np.arange(80) * 10.0, np.array([1.0], np.float32), readings)
    assert bool(len(left.rows)) is kept


@pytest.mark.parametrize(("change", "moved"), [(0.0, False), (-1e-3, True)])
def test_what_did_not_change_did_not_move_whatever_matters(change: float, moved: bool) -> None:
    signal = FLOW._replace(least_absolute=0.0)
    row = np.full(240, 200.0)
    row[150:] += change
    assert bool(len(moves(SignalTable(("x",), _rows(row)), np.arange(240) * 10.0, signal).rows)) is moved


def test_a_table_without_rows_or_columns_moves_nothing() -> None:
    for columns in (0, 1):
        found = moves(SignalTable(("x",), np.ones((1, columns), np.float32)), np.arange(columns) * 10.0, FLOW)
        assert (found.rows.tolist(), found.seen.tolist()) == ([], [False])
        assert np.isnan(found.center).all() and np.isnan(found.recent).all()


@pytest.mark.parametrize(("held", "last", "moved"), [(4, 5, False), (4, 7, True), (1, 2, False), (1, 4, True)])
def test_three_readings_at_least_show_a_move(held: int, last: int, moved: bool) -> None:
    """Twelve columns of an instrument that is read every fourth column, six of one that is read in each: half of them."""
    row = 200.0 + np.repeat(np.arange(240 // held) % 2, held) * 0.01
    row[240 - last :] = 150.0
    found = moves(SignalTable(("x",), _rows(row)), np.arange(240) * 10.0, FLOW)
    assert bool(len(found.rows)) is moved
