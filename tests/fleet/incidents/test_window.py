"""A bounded window: what is kept, how long a value holds, what is left out."""

import math

import numpy as np
import pytest

from holdfast.fleet.incidents.window import SeamWindow, held
from holdfast.model.subject import gpu
from holdfast.model.wire import digest
from holdfast.model.wire.report import Report

FLOW = "cdu_flow_litres_per_minute"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_values_stand_in_their_columns_and_hold_for_a_while(clock: Clock) -> None:
    window = SeamWindow(clock, 10.0, 10.0)
    window.put(clock.now, "cdu/c1", FLOW, 5.0, cadence=10.0)
    clock.now += 60
    window.put(clock.now, "cdu/c1", FLOW, 7.0, cadence=10.0)
    row = window.panel().row(FLOW, "cdu/c1")
    assert row is not None
    assert row.tolist()[:3] == [5.0, 5.0, 5.0] and math.isnan(row[3]) and math.isnan(row[5]) and row[6] == 7.0


def test_the_window_is_bounded_and_forgets_what_left_it(clock: Clock) -> None:
    window = SeamWindow(clock, 10.0, 10.0)
    window.put(clock.now, "cdu/old", FLOW, 5.0, 10.0)
    for _ in range(200):
        clock.now += 10
        window.put(clock.now, "cdu/new", FLOW, 6.0, 10.0)
    panel = window.panel()
    assert len(panel.times) == 60 and panel.of(FLOW).subjects == ("cdu/new",)
    assert np.isfinite(panel.of(FLOW).values).all()


def test_a_wrong_clock_pushes_nothing_out(clock: Clock) -> None:
    window = SeamWindow(clock, 10.0, 10.0)
    window.put(clock.now, "cdu/c1", FLOW, 5.0, 10.0)
    window.put(clock.now + 3600, "cdu/c1", FLOW, 9.0, 10.0)
    window.put(math.inf, "cdu/c1", FLOW, 9.0, 10.0)
    window.put(clock.now - 3600, "cdu/c1", FLOW, 9.0, 10.0)
    assert window.panel().of(FLOW).values.tolist() == [[5.0]]


@pytest.mark.parametrize("value", [math.nan, math.inf, -5.0, 65_535.0])
def test_what_cannot_be_is_not_seen(clock: Clock, value: float) -> None:
    window = SeamWindow(clock)
    window.put(clock.now, "cdu/c1", FLOW, value, 10.0)
    assert not window.panel().tables


def test_an_agents_digest_is_kept(clock: Clock) -> None:
    window = SeamWindow(clock)
    packed = digest.pack("n1", lambda about, name: 61.5 if about == gpu("n1", 0) and "temperature" in name else None)
    window.take_report(Report(node="n1", session="s", seq=1, at=clock.now, digest=packed), clock.now)
    assert window.panel().of("gpu_temperature_celsius").row("node/n1/gpu/0") is not None


def test_a_value_stays_for_at_most_so_many_columns() -> None:
    filled = held(np.array([[np.nan, 1, np.nan, np.nan, np.nan, 2]], np.float32), 2)
    assert np.array_equal(filled, np.array([[np.nan, 1, 1, 1, np.nan, 2]], np.float32), equal_nan=True)
