"""Faults that come and go: a minute in five, found from their third time on; calm rows are no fault."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.panel import SignalTable
from holdfast.seams.instruments import bad_readings
from holdfast.seams.intermittent import folded

BANDWIDTH = "link_bandwidth_bytes_per_second"


def _comes_and_goes(world: Any, times: int, columns: int = 6, share: float = 0.4) -> None:
    """From half of the window on, for so many columns of ten seconds in every five minutes."""
    for number in range(times):
        begin = 120 + 30 * number
        world.tables[BANDWIDTH].values[0, begin : begin + columns] *= share
        world.tables["link_errors_per_second"].values[0, begin : begin + columns] += 50.0


@pytest.mark.parametrize(("times", "columns", "found"), [(3, 6, True), (2, 6, False), (3, 1, False), (3, 25, False)])
def test_three_episodes_of_two_readings_are_put_side_by_side(quiet: Any, times: int, columns: int, found: bool) -> None:
    _comes_and_goes(quiet, times, columns)
    fold = folded(quiet.panel)
    assert (fold is not None) is found
    if fold is not None:
        assert (fold.episodes, fold.since) == (times, float(quiet.panel.times[120]))
        assert len(fold.panel.times) < len(quiet.panel.times)


def test_a_link_that_is_bad_for_a_minute_in_five_is_named(world: Any) -> None:
    _comes_and_goes(world, 4)
    cause = world.tables[BANDWIDTH].subjects[0]
    (one,) = [one for one in world.explain() if one.cause == cause]
    assert one.evidence[0].startswith("it is intermittent: 4 times")
    assert one.raw <= 0.9


def test_nothing_comes_and_goes_where_nothing_is_wrong(world: Any) -> None:
    assert folded(world.panel) is None


@pytest.mark.parametrize(
    ("gap", "silent", "lost"), [(0, 50, True), (2, 50, False), (2, 89, False), (2, 90, True), (31, 90, False)]
)
def test_silence_is_measured_by_the_gaps_that_are_usual(gap: int, silent: int, lost: bool) -> None:
    """Eight minutes of silence are no news where readings are missed, nor is a quarter where five minutes are."""
    times = np.arange(360) * 10.0
    values = np.tile(np.sin(np.arange(360)) + 200.0, (4, 1)).astype(np.float32)
    for begin in range(20, 240, 60):
        values[:, begin : begin + gap] = np.nan
    values[0, -silent:] = np.nan
    table = SignalTable(("cdu/a", "cdu/b", "cdu/c", "cdu/d"), values)
    found = [bad for bad in bad_readings({"cdu_flow_litres_per_minute": table}, times) if bad.kind == "lost"]
    assert bool(found) is lost


CLOCK = "gpu_clock_sm_hertz"


@pytest.mark.parametrize(
    ("why", "times", "gpus", "found"),
    [
        ("one GPU, four times", 4, 1, True),
        ("three times are too few for one instrument", 3, 1, False),
        ("a fifth of all at once: their job pauses", 4, 5, False),
    ],
)
def test_a_gpu_that_is_slow_now_and_then(quiet: Any, why: str, times: int, gpus: int, found: bool) -> None:
    for number in range(times):
        quiet.tables[CLOCK].values[:gpus, 120 + 30 * number : 126 + 30 * number] *= 0.7
    assert (("node/n1/gpu/0", "gpu.slow") in quiet.named()) is found, why


def test_a_job_that_is_slow_at_other_times_too_is_no_effect_of_what_comes_and_goes(quiet: Any) -> None:
    _comes_and_goes(quiet, 4)
    for begin in range(120, 240, 20):
        quiet.tables["job_step_seconds"].values[:, begin : begin + 10] *= 1.5
    fold = folded(quiet.panel)
    assert fold is not None
    first = len(fold.panel.times) - 24
    steps = fold.panel.of("job_step_seconds").values[0]
    assert np.ptp(steps[:first]) > 1.0, "its past has slow steps too"
