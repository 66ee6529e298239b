"""Each rule about what comes and goes, on both sides of its limit: how far, how long, how often, and what is made of it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast.catalog.seam_confidence import calibrated
from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Finding, Symptom
from holdfast.model.panel import Panel, SignalTable
from holdfast.seams.intermittent import (
    Folded,
    _beyond,
    _episodes,
    _fold,
    as_intermittent,
    folded,
    slow_at_times,
)

FLOW, SUPPLY, RACK = "cdu_flow_litres_per_minute", "cdu_supply_celsius", "rack_flow_litres_per_minute"
BANDWIDTH, CLOCK, STEP = "link_bandwidth_bytes_per_second", "gpu_clock_sm_hertz", "job_step_seconds"
NAN = float("nan")


def _table(*rows: Any) -> SignalTable:
    return SignalTable(tuple("abcdefghijkl"[: len(rows)]), np.array(rows, np.float32))


@pytest.mark.parametrize(
    ("why", "signal", "base", "reading", "beyond"),
    [
        ("a twenty-fifth of its flow is worth a word", FLOW, [200.0] * 6, 192.0, 1.0),
        ("three times that", FLOW, [200.0] * 6, 176.0, 3.0),
        ("more flow hurts no one", FLOW, [200.0] * 6, 224.0, -3.0),
        ("a degree of supply is worth a word", SUPPLY, [30.0] * 6, 31.5, 1.5),
        ("colder hurts no one", SUPPLY, [30.0] * 6, 28.5, -1.5),
        ("of what may hurt either way both count", "cdu_pump_speed_ratio", [0.5] * 6, 0.34, 2.0),
        ("also the other", "cdu_pump_speed_ratio", [0.5] * 6, 0.66, 2.0),
        ("its noise, five times", SUPPLY, [29.0, 31.0] * 3, 44.826, 2.0),
        ("what it did in its calm beginning", SUPPLY, [30.0, 30.0, 30.0, 30.0, 30.0, 34.0], 38.0, 2.0),
        ("what was colder then hurt no one", SUPPLY, [30.0, 30.0, 30.0, 30.0, 30.0, 20.0], 32.0, 2.0),
        ("what nobody saw then", SUPPLY, [30.0, 30.0, 30.0, NAN, 30.0, 34.0], 38.0, 2.0),
        ("what nobody sees is not off", SUPPLY, [30.0] * 6, NAN, 0.0),
    ],
)
def test_how_far_a_reading_is_off(why: str, signal: str, base: list[float], reading: float, beyond: float) -> None:
    found = _beyond(_table([*base, reading]), 6, signals()[signal])
    assert found[0, 6] == pytest.approx(beyond, rel=1e-3), why


def test_a_coarse_instrument_is_off_by_more_than_its_rounding() -> None:
    """Steps of 2 degrees: half of one is noise, and five times that is 5 degrees."""
    base = [30.0, 32.0] * 5 + [30.0] * 11
    assert _beyond(_table([*base, 40.0]), len(base), signals()[SUPPLY])[0, -1] == pytest.approx(2.0)


def test_a_signal_of_which_nothing_small_matters_is_off_by_any_change() -> None:
    fact = signals()[SUPPLY]._replace(least_absolute=0.0)
    assert _beyond(_table([30.0] * 6 + [30.5]), 6, fact)[0, -1] > 1e6
    assert _beyond(_table([30.0] * 6 + [30.0]), 6, fact)[0, -1] == 0.0


def _mask(*runs: tuple[int, int], columns: int = 60) -> np.ndarray:
    mask = np.zeros(columns, np.bool_)
    for begin, end in runs:
        mask[begin:end] = True
    return mask


@pytest.mark.parametrize(
    ("why", "runs", "episodes"),
    [
        ("three times", [(10, 12), (20, 22), (30, 32)], [(10, 12), (20, 22), (30, 32)]),
        ("twice", [(10, 12), (20, 22)], None),
        ("one of three is too short", [(10, 12), (20, 21), (30, 32)], None),
        ("what is too short is left out", [(10, 12), (15, 16), (20, 22), (30, 32)], [(10, 12), (20, 22), (30, 32)]),
        ("one of three began in the calm beginning", [(9, 12), (20, 22), (30, 32)], None),
        ("at its end", [(10, 12), (20, 22), (58, 60)], [(10, 12), (20, 22), (58, 60)]),
        ("half of the time since the first", [(10, 20), (30, 40), (50, 55)], [(10, 20), (30, 40), (50, 55)]),
        ("more than half", [(10, 20), (30, 40), (50, 56)], None),
    ],
)
def test_when_it_was_off(why: str, runs: list[tuple[int, int]], episodes: list[tuple[int, int]] | None) -> None:
    found = _episodes(_mask(*runs), 2, 10)
    assert (None if found is None else found.tolist()) == (None if episodes is None else _mask(*episodes).tolist()), why


def test_all_the_time_from_the_first_column_on_is_no_episode() -> None:
    assert _episodes(np.ones(60, np.bool_), 2, 0) is None


def _panel(columns: int = 60, step: float = 10.0) -> Panel:
    row = np.arange(columns, dtype=np.float32)
    return Panel(
        np.arange(columns) * step,
        {
            FLOW: _table(row),
            STEP: _table(row),
            "job_checkpoint_seconds": _table(row),
            "no_signal_of_ours": _table(row),
        },
    )


@pytest.mark.parametrize(("last", "found"), [(34, True), (33, False)])
def test_a_hundred_seconds_of_episodes_are_put_side_by_side(last: int, found: bool) -> None:
    fold = _fold(_panel(), _mask((20, 23), (26, 29), (30, last)), 10)
    assert (fold is not None) is found


def test_what_is_put_side_by_side() -> None:
    fold = _fold(_panel(), _mask((20, 24), (30, 34), (40, 44)), 10)
    assert fold is not None
    late = [*range(20, 24), *range(30, 34), *range(40, 44)]
    between = [column for column in range(20, 60) if column not in late]
    assert set(fold.panel.tables) == {FLOW, STEP}, "neither what is told now and then nor what is no signal of ours"
    assert fold.panel.of(FLOW).values[0].tolist() == [*range(10), *late]
    apart = fold.panel.of(STEP).values[0].tolist()
    assert apart[10:] == late
    assert (apart[0], apart[9], len(apart)) == (between[0], between[-1], 22)
    assert set(apart[:10]) <= set(between), "work is compared with itself between the episodes"
    assert fold.panel.times.tolist() == [10.0 * n for n in range(22)]
    assert (fold.since, fold.episodes, fold.seconds) == (200.0, 3, 120.0)


def test_four_minutes_of_episodes_are_enough_and_the_latest_count() -> None:
    fold = _fold(_panel(120), _mask((20, 30), (40, 50), (60, 70), columns=120), 10)
    assert fold is not None
    assert fold.panel.of(FLOW).values[0].tolist() == [*range(10), *range(26, 30), *range(40, 50), *range(60, 70)]
    assert (fold.since, fold.episodes, fold.seconds) == (200.0, 3, 300.0)


def _seen(**rows: Any) -> Panel:
    tables = {name: _table(*values) for name, values in rows.items()}
    columns = next(iter(tables.values())).values.shape[1]
    return Panel(np.arange(columns) * 10.0, tables)


def _off(usual: float, to: float, *, times: int = 3, each: int = 6, columns: int = 240, at: int = 120) -> np.ndarray:
    row = np.full(columns, usual)
    for number in range(times):
        row[at + 30 * number : at + 30 * number + each] = to
    return row


@pytest.mark.parametrize(
    ("why", "signal", "usual", "to", "found"),
    [
        ("a coolant is off by three times what is worth a word", FLOW, 200.0, 175.9, True),
        ("by less", FLOW, 200.0, 176.1, False),
        ("a supply", SUPPLY, 30.0, 33.1, True),
        ("by less than three degrees", SUPPLY, 30.0, 32.9, False),
        ("a rack's flow", RACK, 100.0, 84.9, True),
        ("by less than three twentieths", RACK, 100.0, 85.1, False),
        ("a link is off by half more than is worth a word", BANDWIDTH, 400.0, 369.0, True),
        ("by less", BANDWIDTH, 400.0, 371.0, False),
        ("a path", "pool_transfer_seconds", 1.0, 1.38, True),
        ("by less than three eighths", "pool_transfer_seconds", 1.0, 1.37, False),
        ("what nobody watches", "cdu_return_celsius", 40.0, 90.0, False),
    ],
)
def test_how_far_what_comes_and_goes_is_off(why: str, signal: str, usual: float, to: float, found: bool) -> None:
    assert (folded(_seen(**{signal: [_off(usual, to)]})) is not None) is found, why


@pytest.mark.parametrize(("each", "held", "found"), [(4, 1, True), (8, 4, True), (4, 4, False)])
def test_an_episode_has_two_readings(each: int, held: int, found: bool) -> None:
    """Of an instrument that is read every fourth column one reading fills four."""
    row = _off(200.0, 150.0, each=each)
    row += 0.01 * np.repeat(np.arange(240 // held) % 2, held)
    for begin in (120, 150, 180):  # the readings begin with the columns
        row[begin : begin + each] = 150.0 + 0.01 * np.repeat(np.arange(each // held) % 2, held)
    assert (folded(_seen(**{FLOW: [row]})) is not None) is found


@pytest.mark.parametrize("columns", [0, 1, 2, 5, 9])
def test_in_a_window_that_has_only_begun_nothing_comes_and_goes(columns: int) -> None:
    panel = _seen(**{name: [np.resize([200.0, 100.0], columns)] for name in (FLOW, STEP)})
    assert folded(panel) is None
    assert slow_at_times(panel, STEP) == {}


def test_what_was_off_most_is_followed() -> None:
    near, far = _off(200.0, 150.0), _off(200.0, 100.0, at=130)
    for rows in ([near, far], [far, near]):
        fold = folded(_seen(**{FLOW: rows}))
        assert fold is not None
        assert fold.since == 1300.0


def test_what_a_cause_shows_goes_before_what_suffers_from_it() -> None:
    """A job is off by far more than the link that slows it."""
    fold = folded(_seen(**{BANDWIDTH: [_off(400.0, 300.0)], STEP: [_off(5.0, 50.0, at=130)]}))
    assert fold is not None
    assert fold.since == 1200.0
    alone = folded(_seen(**{STEP: [_off(5.0, 50.0, at=130)]}))
    assert alone is not None
    assert alone.since == 1300.0


@pytest.mark.parametrize(("slow", "found"), [(1, True), (2, False)])
def test_gpus_that_clock_down_together_pause_with_their_job(slow: int, found: bool) -> None:
    """One of ten is a GPU of its own."""
    rows = [_off(2.0, 1.5) if number < slow else np.full(240, 2.0) for number in range(10)]
    assert (folded(_seen(**{CLOCK: rows})) is not None) is found


@pytest.mark.parametrize(("others", "found"), [(1.93, False), (1.945, True)])
def test_gpus_that_clock_down_by_what_is_worth_a_word_count(others: float, found: bool) -> None:
    """Of twelve, two more clock down with one: by more than three in a hundred, or by less."""
    rows = [_off(2.0, 1.5), _off(2.0, others), _off(2.0, others), *[np.full(240, 2.0)] * 9]
    assert (folded(_seen(**{CLOCK: rows})) is not None) is found


def test_links_that_are_off_together_are_followed() -> None:
    assert folded(_seen(**{BANDWIDTH: [_off(400.0, 200.0)] * 3})) is not None


@pytest.mark.parametrize(
    ("why", "row", "since"),
    [
        ("three times", _off(5.0, 5.2, each=2), 1200.0),
        ("twice", _off(5.0, 5.2, times=2), None),
        ("one reading each is none", _off(5.0, 5.2, each=1, times=4), None),
        ("less than is worth a word", _off(5.0, 5.1), None),
        ("just worth a word", _off(5.0, 5.13), 1200.0),
        ("since", _off(5.0, 5.2, at=140), 1400.0),
        ("too soon to tell", _off(5.0, 5.2, columns=120, at=40, each=0), None),
    ],
)
def test_since_when_a_job_is_slow_at_times(why: str, row: np.ndarray, since: float | None) -> None:
    found = slow_at_times(_seen(**{STEP: [np.full(len(row), 5.0), row]}), STEP)
    assert found == ({"b": since} if since else {}), why


@pytest.mark.parametrize(("each", "found"), [(8, True), (4, False)])
def test_a_job_that_is_read_every_other_column_is_slow_for_two_readings(each: int, found: bool) -> None:
    """A reading is held for four columns, so that one of them is no stretch."""
    usual = 5.0 + np.repeat(np.arange(60) % 2, 4) * 0.001
    row = usual + _off(0.0, 0.5, each=each, at=120)
    assert bool(slow_at_times(_seen(**{STEP: [usual, row.astype(np.float32)]}), STEP)) is found


def test_where_no_job_is_read_none_is_slow_at_times() -> None:
    assert slow_at_times(_seen(**{FLOW: [np.full(240, 200.0)]}), STEP) == {}


FOUND = Finding(
    cause="cdu/c1", kind="cooling.flow_low", confidence=0.99, raw=0.95, since=900.0, evidence=("its flow fell",),
    symptoms=(Symptom("cdu/c1", FLOW, 900.0, 200.0, 100.0),),
)  # fmt: skip
STATED = replace(FOUND, kind="power.psu", symptoms=(Symptom("cdu/c1", "psu_healthy", 900.0, 1.0, 0.0),))


def _times(episodes: int = 3) -> Folded:
    return Folded(_panel(), 600.0, episodes, 190.0)


@pytest.mark.parametrize(
    ("why", "kind", "raw", "episodes", "found"),
    [
        ("strong evidence, three times", "cooling.flow_low", 0.85, 3, True),
        ("not strong", "cooling.flow_low", 0.849, 3, False),
        ("four times: one instrument is enough", "cooling.flow_low", 0.75, 4, True),
        ("not even that", "cooling.flow_low", 0.749, 4, False),
        ("a pump swings by itself", "cooling.pump_oscillation", 0.95, 4, False),
        *((f"{kind} may come and go", kind, 0.9, 3, True) for kind in (
            "power.cap", "fabric.uplink", "pools.path", "storage.metadata", "gpu.slow", "node.slow", "job.rank_slow",
        )),
        *((f"{kind} may not", kind, 0.95, 4, False) for kind in (
            "job.slowdown", "sensor.lost", "schedule.cadence_long", "software.rollout",
        )),
    ],
)  # fmt: skip
def test_what_may_come_and_go(why: str, kind: str, raw: float, episodes: int, found: bool) -> None:
    assert (as_intermittent(replace(FOUND, kind=kind, raw=raw), _times(episodes), 2400.0) is not None) is found, why


def test_what_is_said_of_it() -> None:
    one = as_intermittent(FOUND, _times(), 2400.0)
    assert one is not None
    assert one.evidence == (
        "it is intermittent: 3 times in 30 min, 190 s in all; the evidence is of those times",
        "its flow fell",
    )
    assert (one.since, one.raw, one.confidence) == (600.0, 0.9, 0.79)
    assert [sign.since for sign in one.symptoms] == [600.0]
    weak = as_intermittent(replace(FOUND, raw=0.86), _times(), 2400.0)
    assert weak is not None
    assert (weak.raw, weak.confidence) == (0.86, round(min(0.79, calibrated(0.86)), 3))


def test_what_a_device_states_is_as_sure_as_ever() -> None:
    one = as_intermittent(STATED, _times(), 2400.0)
    assert one is not None
    assert one.confidence == round(calibrated(0.9), 3) > 0.79
