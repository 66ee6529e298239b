"""Readings that are held, values that are told late or never, and what an instrument says last."""

from typing import Any

import numpy as np
import pytest

from holdfast.catalog.seam_signals import signals
from holdfast.model.panel import SignalTable
from holdfast.seams.instruments import bad_readings, silent_readings
from holdfast.seams.moved import moves

FLOW, STEP, SAVED = "cdu_flow_litres_per_minute", "job_step_seconds", "job_checkpoint_seconds"
TIMES = np.arange(240) * 10.0
NAN = float("nan")


@pytest.mark.parametrize(
    ("held", "at", "moved"),
    [(4, 236, False), (4, 232, True), (1, 236, True), (1, 238, False)],
)
def test_one_reading_that_is_held_for_several_columns_is_one_reading(held: int, at: int, moved: bool) -> None:
    row = 200.0 + np.repeat(np.arange(240 // held) % 2, held) * 0.01
    row[at:] = 150.0
    found = moves(SignalTable(("x",), np.array([row], np.float32)), TIMES, signals()[FLOW])
    assert bool(found.symptoms()) is moved


def test_of_several_rows_only_those_that_came_late_have_another_beginning() -> None:
    rows = np.full((3, 240), 200.0, np.float32)
    rows[:, 200:] = 150.0
    rows[1, :100] = NAN
    rows[2] = NAN
    found = moves(SignalTable(("a", "b", "c"), rows), TIMES, signals()[FLOW])
    assert [(one.subject, one.since, one.before, one.now) for one in found.symptoms()] == [
        ("a", 2000.0, 200.0, 150.0),
        ("b", 2000.0, 200.0, 150.0),
    ]
    assert found.seen.tolist() == [True, True, False]


def test_a_row_that_came_just_now_has_no_beginning() -> None:
    rows = np.full((1, 240), NAN, np.float32)
    rows[0, 225:] = 200.0
    assert moves(SignalTable(("a",), rows), TIMES, signals()[FLOW]).seen.tolist() == [False]
    rows[0, 190:] = 200.0
    assert moves(SignalTable(("a",), rows), TIMES, signals()[FLOW]).seen.tolist() == [True]


def _silent(subject: str = "job/a") -> SignalTable:
    values = np.full((1, 240), 5.0, np.float32)
    values[0, 150:] = NAN
    return SignalTable((subject,), values)


@pytest.mark.parametrize(
    ("why", "name", "table", "times", "found"),
    [
        ("it fell silent", STEP, _silent(), TIMES, [("job/a", 1500.0)]),
        ("a value told now and then may be", SAVED, _silent(), TIMES, []),
        ("no signal of ours", "job_other", _silent(), TIMES, []),
        ("of nobody", STEP, SignalTable((), np.empty((0, 240), np.float32)), TIMES, []),
    ],
)
def test_who_fell_silent(why: str, name: str, table: Any, times: Any, found: list[tuple[str, float]]) -> None:
    assert [(bad.subject, bad.since) for bad in silent_readings({name: table}, times)] == found, why


@pytest.mark.parametrize("name", ["no_signal", SAVED])
def test_of_what_is_no_instrument_nothing_is_absurd(name: str) -> None:
    table = SignalTable(("x",), np.full((1, 240), -5.0, np.float32))
    assert list(bad_readings({name: table}, TIMES)) == []
    assert [bad.kind for bad in bad_readings({STEP: table}, TIMES)] == ["absurd"]


def test_an_absurd_instrument_is_quoted_with_what_it_reported_last() -> None:
    values = np.full((1, 240), 200.0, np.float32)
    values[0, 100:110] = -1.0
    values[0, 236:239] = -2.0
    (bad,) = bad_readings({FLOW: SignalTable(("cdu/x",), values)}, TIMES)
    assert (bad.since, bad.says) == (1000.0, "-2, which it cannot mean")


@pytest.mark.parametrize(("value", "absurd"), [(-0.9e-6, False), (-1.1e-6, True)])
def test_a_hair_below_nothing_is_rounding(value: float, absurd: bool) -> None:
    values = np.full((1, 240), value, np.float32)
    assert bool(list(bad_readings({FLOW: SignalTable(("cdu/x",), values)}, TIMES))) is absurd
