"""Each rule by which an instrument is called stuck, lost or absurd, on both sides of its limit."""

import numpy as np
import pytest

from holdfast.catalog.seam_signals import signals
from holdfast.model.panel import SignalTable
from holdfast.seams.instruments import (
    BadReading,
    _absurd,
    _as_lively,
    _changes_near,
    _lost,
    _peers_moved,
    _Rest,
    _rest,
    _restless,
    _stuck,
    _usual_gap,
    _where_it_was,
    _would_have_left,
)

FLOW, HEAT = signals()["cdu_flow_litres_per_minute"], signals()["gpu_temperature_celsius"]
NAN = float("nan")


def _table(*rows: object, names: str = "cdu/c{}") -> SignalTable:
    return SignalTable(tuple(names.format(n) for n in range(len(rows))), np.array(rows, np.float32))


def _times(columns: int, step: float = 10.0) -> np.ndarray:
    return np.arange(columns) * step


def test_a_reading_is_doubtful_only_where_its_rule_says_so() -> None:
    assert not BadReading("lost", "cdu/c1", FLOW.name, 0.0, "nothing").doubtful


@pytest.mark.parametrize(
    ("step", "silent", "lost"),
    [
        (10.0, 33, True),  # 330 s
        (10.0, 32, False),
        (60.0, 6, True),  # 5.5 columns are rounded to 6
        (60.0, 5, False),
        (300.0, 3, True),  # a reading every five minutes: three are missed at least
        (300.0, 2, False),
        (1000.0, 3, True),
        (1000.0, 2, False),
    ],
)
def test_silence_of_so_many_seconds_and_of_three_readings(step: float, silent: int, lost: bool) -> None:
    row = np.full(120, 200.0)
    row[120 - silent :] = NAN
    times = _times(120, step)
    found = list(_lost(FLOW, _table(row, np.full(120, 200.0)), times, step))
    assert [(bad.subject, bad.since, bad.doubtful) for bad in found] == (
        [("cdu/c0", step * (120 - silent), False)] if lost else []
    )


@pytest.mark.parametrize(("columns", "lost"), [(7, True), (6, False)])
def test_a_window_shorter_than_its_beginning_and_a_silence_says_nothing(columns: int, lost: bool) -> None:
    """A reading every five minutes: a beginning of four columns and a silence of three."""
    row = np.full(columns, 200.0)
    row[-3:] = NAN
    assert bool(list(_lost(FLOW, _table(row), _times(columns, 300.0), 300.0))) is lost


@pytest.mark.parametrize(("seen", "lost"), [(17, True), (16, False), (1, False), (0, False)])
def test_who_spoke_for_less_than_half_of_a_silence_never_spoke(seen: int, lost: bool) -> None:
    row = np.full(240, NAN)
    row[50 : 50 + seen] = 200.0
    assert bool(list(_lost(FLOW, _table(row), _times(240), 10.0))) is lost


@pytest.mark.parametrize(
    ("why", "own", "others", "silent", "lost", "doubtful"),
    [
        ("nobody misses a reading", 0, 0, 33, True, False),
        ("others miss one: for a quarter of an hour", 0, 1, 90, True, True),
        ("the instrument itself misses one: for a quarter of an hour", 1, 0, 90, True, False),
        ("not so long, others miss one", 0, 1, 89, False, False),
        ("not so long, it misses one itself", 1, 0, 89, False, False),
        ("others are silent for five minutes: for three times as long", 0, 31, 93, True, True),
        ("not three times as long", 0, 31, 92, False, False),
        ("it is silent for five minutes itself: for three times as long", 31, 0, 93, True, True),
        ("not three times as long, itself", 31, 0, 92, False, False),
        ("the longer of both counts", 31, 20, 92, False, False),
    ],
)
def test_a_silence_beside_the_silences_that_are_usual(
    why: str, own: int, others: int, silent: int, lost: bool, doubtful: bool
) -> None:
    rows = np.full((3, 400), 200.0)
    rows[0, 100 : 100 + own] = NAN
    rows[1:, 150 : 150 + others] = NAN
    rows[0, 400 - silent :] = NAN
    found = list(_lost(FLOW, _table(*rows), _times(400), 10.0))
    assert [bad.subject for bad in found] == (["cdu/c0"] if lost else []), why
    if lost:
        assert found[0].doubtful is (bool(own) or bool(others)), why


@pytest.mark.parametrize(
    ("why", "rows", "gap"),
    [
        ("nothing is missing", [[1, 1, 1]], 0),
        ("two readings", [[1, NAN, NAN, 1]], 2),
        ("the longest of several", [[1, NAN, 1, NAN, NAN, NAN, 1, NAN, 1]], 3),
        ("of all instruments", [[1, NAN, 1, 1, 1], [1, NAN, NAN, NAN, 1]], 3),
        ("before the first reading is no gap", [[NAN, NAN, NAN, 1, NAN, 1]], 1),
        ("who has not come back is not usual", [[1, NAN, 1, NAN, NAN, NAN]], 1),
    ],
)
def test_the_longest_silence_after_which_one_came_back(why: str, rows: list[list[float]], gap: int) -> None:
    assert _usual_gap(np.array(rows, np.float32)) == gap, why


def test_of_many_instruments_some_are_asked_for_their_silences() -> None:
    """Of 256 every second one; of 128 each."""
    for count, gap_seen in ((256, False), (128, True)):
        rows = np.full((count, 240), 200.0)
        rows[1, 100] = NAN
        rows[0, 240 - 40 :] = NAN
        found = list(_lost(FLOW, _table(*rows), _times(240), 10.0))
        assert bool(found) is not gap_seen


@pytest.mark.parametrize(
    ("step", "columns", "absurd"),
    [
        (10.0, slice(114, 116), True),  # the last minute
        (10.0, slice(113, 115), False),
        (60.0, slice(116, 118), True),  # four columns at least
        (60.0, slice(115, 117), False),
        (10.0, slice(119, 120), False),  # twice at least
    ],
)
def test_an_absurd_value_counts_in_the_last_minute_and_four_columns(step: float, columns: slice, absurd: bool) -> None:
    row = np.full(120, 200.0)
    row[columns] = -1.0
    found = list(_absurd(FLOW, _table(row), _times(120, step), step))
    assert [(bad.kind, bad.subject, bad.since) for bad in found] == (
        [("absurd", "cdu/c0", step * columns.start)] if absurd else []
    )


@pytest.mark.parametrize(
    ("value", "absurd"),
    [
        (FLOW.lowest, False),
        (FLOW.lowest - 1e-6, False),
        (FLOW.lowest - 0.01, True),
        (FLOW.highest, False),
        (FLOW.highest + 10.0, True),
    ],
)
def test_what_is_just_possible_is_not_absurd(value: float, absurd: bool) -> None:
    row = np.full(120, 200.0)
    row[100:] = value
    found = list(_absurd(FLOW, _table(row), _times(120), 10.0))
    assert [(bad.since, bad.says) for bad in found] == (
        [(1000.0, f"{value:.4g}, which it cannot mean")] if absurd else []
    )


RESTLESS = [0.0, 1.0, -1.0, 0.0, 2.0, 0.0, -1.0, 0.0, 1.0, 0.0]  # four levels within ten readings
CALMER = [0.0, 1.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0]  # three


@pytest.mark.parametrize(
    ("why", "runs", "restless"),
    [
        ("four levels in every run", [RESTLESS] * 5, True),
        ("in four of five", [RESTLESS] * 4 + [CALMER], True),
        ("in three of five", [RESTLESS] * 3 + [CALMER] * 2, False),
        ("three levels", [CALMER] * 5, False),
        ("two runs are enough", [RESTLESS] * 2, True),
        ("one is not", [RESTLESS], False),
        ("what is left over at the beginning does not count", [[5.0, 5.0, 5.0], *[RESTLESS] * 2], True),
    ],
)
@pytest.mark.parametrize("step", [1.0, 0.5])
def test_an_instrument_is_restless_that_spans_four_levels_in_ten_readings(
    why: str, runs: list[list[float]], restless: bool, step: float
) -> None:
    lively = step * np.concatenate(runs).astype(np.float32)
    assert _restless(lively, step) is restless, why


@pytest.mark.parametrize(
    ("why", "lively", "value", "step", "there"),
    [
        ("in the middle of its last ten readings", [10, 12, 10, 12, 10, 12, 10, 12, 10, 12], 11, 0.01, True),
        ("below all of them", [10, 12] * 5, 9.9, 1.0, False),
        ("above all of them", [10, 12] * 5, 12.1, 1.0, False),
        ("at the least of them", [10, 12] * 5, 10, 1.0, True),
        ("where it was long before, and four spreads from its last readings", [0, *[10, 12] * 5], 5.1, 0.01, True),
        ("farther than four spreads", [0, *[10, 12] * 5], 5.0, 0.01, False),
        ("two of its steps are allowed besides", [0, *[10, 12] * 5], 5.0, 0.1, True),
        ("by no more than two", [0, *[10, 12] * 5], 3.0, 1.0, False),
        ("only the last ten count", [0, *[10] * 10], 1.0, 0.1, False),
        ("ten, not nine", [0, 0, 0, 0, 0, 0, 10, 10, 10, 10], 0.0, 0.1, True),
    ],
)
def test_an_instrument_sticks_at_one_of_its_last_readings(
    why: str, lively: list[float], value: float, step: float, there: bool
) -> None:
    assert _where_it_was(np.array(lively, np.float32), value, step) is there, why


@pytest.mark.parametrize(
    ("why", "values", "value", "changes"),
    [
        ("three of its usual changes away is near", [100.0, 106.0, 100.0, 106.0], 103.0, 3),
        ("farther is not", [100.0, 106.1, 100.0, 106.1], 103.0, 0),
        ("both readings must be near", [100.0, 102.0, 120.0, 102.0], 101.0, 1),
        ("what does not change is no change", [100.0, 100.0, 100.0, 102.0], 101.0, 1),
        ("what was not seen is skipped", [100.0, NAN, 102.0], 101.0, 1),
    ],
)
def test_how_often_an_instrument_moved_near_the_level_at_which_it_rests(
    why: str, values: list[float], value: float, changes: int
) -> None:
    rest = _Rest(still=5, longest=1, changes=9, resolution=0.5, usual_change=1.0)
    assert _changes_near(np.array(values), value, rest) == changes, why


def test_near_is_three_of_its_steps_where_they_are_larger() -> None:
    rest = _Rest(still=5, longest=1, changes=9, resolution=2.0, usual_change=1.0)
    assert _changes_near(np.array([100.0, 106.0]), 100.0, rest) == 1
    assert _changes_near(np.array([100.0, 106.1]), 100.0, rest) == 0


@pytest.mark.parametrize(
    ("why", "late", "lively"),
    [
        ("they change as often as before", [1, 1, 1, 1], True),
        ("half as often", [1, 0, 1, 0], True),
        ("less often", [1, 0, 0, 0], False),
        ("never", [0, 0, 0, 0], False),
    ],
)
def test_the_others_are_as_lively_that_change_half_as_often_as_before(why: str, late: list[int], lively: bool) -> None:
    early = np.arange(20) % 2
    row = np.concatenate([early, early[-1] + np.cumsum(late * 5)])
    rows = [np.full(40, 7.0), row, row, row]
    assert _as_lively(_table(*rows), 20) is lively, why


@pytest.mark.parametrize(("changes", "lively"), [(5, True), (4, False)])
def test_how_lively_the_others_were_is_what_they_did_before(changes: int, lively: bool) -> None:
    """Nine changes in twenty readings before: a half of that is between four and five."""
    early = np.repeat(np.arange(10) % 2, 2)
    row = np.concatenate([early, early[-1] + np.cumsum([5] * changes + [0] * (20 - changes))])
    assert _as_lively(_table(np.full(40, 7.0), row, row, row), 20) is lively


def test_who_never_moved_says_nothing_of_how_lively_the_others_are() -> None:
    assert not _as_lively(_table(np.full(40, 7.0), np.full(40, 7.0)), 20)
    moving = np.arange(40)
    assert _as_lively(_table(np.full(40, 7.0), np.full(40, 7.0), moving), 20)


@pytest.mark.parametrize(
    ("why", "before", "still", "every", "left"),
    [
        ("three passes in thirty visits, for 75 readings", [1, 0, -1, 0, 1, 0, -1, *[0] * 27], 75, 1, True),
        ("for 74", [1, 0, -1, 0, 1, 0, -1, *[0] * 27], 74, 1, False),
        ("of an instrument that is read every other column, for 150", [1, 0, -1, 0, 1, 0, -1, *[0] * 27], 150, 2, True),
        ("for 149", [1, 0, -1, 0, 1, 0, -1, *[0] * 27], 149, 2, False),
        ("a pass takes ten readings at most", [1, *[0] * 9, -1, *[0] * 9, 1, *[0] * 9, -1], 240, 1, True),
        ("not eleven", [1, *[0] * 10, -1, *[0] * 10, 1, *[0] * 10, -1], 240, 1, False),
        ("it was never at that level", [1, -1, 1, -1], 240, 1, False),
        ("it came and went back", [1, 0, 1, 0, 1, 0, 1, 0, 1], 240, 1, False),
    ],
)
def test_an_instrument_that_passes_through_its_level_leaves_it(
    why: str, before: list[float], still: int, every: int, left: bool
) -> None:
    table = _table(*[np.arange(400) % 2] * 4)
    assert _would_have_left(table, np.array(before, np.float32), 0.0, still, every) is left, why


@pytest.mark.parametrize(
    ("why", "subject", "mates", "still", "moved", "expected"),
    [
        ("four of five moved", "node/n1/gpu/9", 5, 30, 4, True),
        ("three of five", "node/n1/gpu/9", 5, 30, 3, False),
        ("three mates are enough", "node/n1/gpu/9", 3, 30, 3, True),
        ("two are not", "node/n1/gpu/9", 2, 30, 2, False),
        ("six columns show two levels", "node/n1/gpu/9", 3, 6, 3, True),
        ("five do not", "node/n1/gpu/9", 3, 5, 3, False),
        ("what is no part of a whole has no mates", "cdu/c9", 5, 30, 5, False),
        ("parts of another whole are none", "node/n2/gpu/9", 5, 30, 5, False),
    ],
)
def test_the_parts_of_a_whole_that_moved_while_one_rested(
    why: str, subject: str, mates: int, still: int, moved: int, expected: bool
) -> None:
    rows = np.full((mates + 1, 100), 60.0, np.float32)
    rows[1 : 1 + moved, 100 - still // 2 :] += 8.0
    table = SignalTable((subject, *(f"node/n1/gpu/{n}" for n in range(mates))), rows)
    assert _peers_moved(table, 0, still, 1.0) is expected, why
    assert not _peers_moved(table, 0, still, 1.01), "not by eight of its steps"


def test_mates_that_nobody_saw_did_not_move() -> None:
    rows = np.full((5, 90), 60.0, np.float32)
    rows[1:, 45:] += 9.0
    table = SignalTable(tuple(f"node/n1/gpu/{n}" for n in range(5)), rows)
    assert _peers_moved(table, 0, 90, 1.0)
    rows[1, :] = NAN
    assert not _peers_moved(table, 0, 90, 1.0)


def test_a_dip_of_one_reading_is_no_move_of_a_level() -> None:
    rows = np.full((5, 90), 60.0, np.float32)
    rows[1:, 80:84] += 50.0
    assert not _peers_moved(SignalTable(tuple(f"node/n1/gpu/{n}" for n in range(5)), rows), 0, 90, 1.0)


FINE = np.resize([0.0, 3.0, 2.0, 5.0, 1.0, 4.0], 240)  # it usually moves by three of its steps


def _still(until: int) -> np.ndarray:
    row = 200.0 + FINE.astype(float)
    row[until + 1 :] = row[until]
    return row


@pytest.mark.parametrize(
    ("step", "columns", "still", "stuck"),
    [
        (10.0, 240, 18, True),  # three minutes
        (10.0, 240, 17, False),
        (20.0, 240, 12, True),  # twelve columns at least
        (20.0, 240, 11, False),
    ],
)
def test_an_instrument_is_still_for_three_minutes_and_twelve_columns(
    step: float, columns: int, still: int, stuck: bool
) -> None:
    row = _still(columns - 1 - still)
    found = list(_stuck(FLOW, _table(row), _times(columns, step), step))
    assert [bad.since for bad in found] == ([step * (columns - 1 - still)] if stuck else [])
    if stuck:
        assert found[0].says == f"exactly {row[-1]:.4g} for {still * step:.0f} s"


@pytest.mark.parametrize(("columns", "stuck"), [(27, True), (26, False)])
def test_a_window_shorter_than_its_beginning_and_a_rest_says_nothing(columns: int, stuck: bool) -> None:
    """A beginning of a third of the window, and 18 columns of rest."""
    row = 200.0 + np.resize([0.0, 3.0, 1.0, 4.0, 0.0, 4.0], columns)
    row[columns - 18 :] = row[columns - 19]
    assert bool(list(_stuck(FLOW, _table(row), _times(columns), 10.0))) is stuck


def test_only_the_last_sixty_columns_before_a_rest_tell_where_it_was() -> None:
    """It fell to a level that it left long ago: that is a rest, not a stuck instrument."""
    row = 200.0 + FINE
    row[:100] -= 60.0
    row[200:] = 140.0
    assert list(_stuck(FLOW, _table(row), _times(240), 10.0)) == []
    row[140:160] = 140.0 + FINE[:20]
    row[200:] = 200.0
    assert list(_stuck(FLOW, _table(row), _times(240), 10.0)) != []


@pytest.mark.parametrize(
    ("why", "row", "usual"),
    [
        ("the middle of its changes", [1, 2, 4, 4, 8], 2.0),
        ("the smallest is its resolution", [1, 2, 4, 8], 2.0),
    ],
)
def test_the_usual_change_of_an_instrument(why: str, row: list[float], usual: float) -> None:
    rest = _rest(np.array(row, np.float32))
    assert rest is not None
    assert (rest.usual_change, rest.resolution) == (usual, 1.0), why


@pytest.mark.parametrize(("size", "moved"), [(1.1, True), (0.9, False)])
def test_a_change_of_a_millionth_of_its_largest_reading_is_rounding(size: float, moved: bool) -> None:
    values = np.array([1e6, 1e6 + size, 1e6, 1e6 + size])  # float64: no rounding of its own
    assert (_rest(values) is not None) is moved


@pytest.mark.parametrize(("levels", "stuck"), [(RESTLESS, True), (CALMER, False)])
def test_of_many_instruments_one_that_never_rests_is_stuck_when_it_does(levels: list[float], stuck: bool) -> None:
    """Of 33 nobody asks how often one passed through its level."""
    rows = 60.0 + np.tile(np.resize(CALMER, 240), (33, 1))
    rows[0, :151] = 60.0 + np.resize(levels, 151)
    rows[0, 151:] = rows[0, 150]
    found = list(_stuck(FLOW, _table(*rows), _times(240), 10.0))
    assert [bad.subject for bad in found] == (["cdu/c0"] if stuck else [])


@pytest.mark.parametrize(("own", "lost"), [(31, False), (29, True)])
def test_of_many_instruments_one_is_asked_for_its_own_silences_whether_it_is_in_the_sample_or_not(
    own: int, lost: bool
) -> None:
    """Of 256 every second one is in the sample, and the second one is not. It is silent for 90 columns."""
    rows = np.full((256, 400), 200.0)
    rows[1, 100 : 100 + own] = NAN
    rows[1, -90:] = NAN
    assert bool(list(_lost(FLOW, _table(*rows), _times(400), 10.0))) is lost
