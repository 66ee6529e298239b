"""Plants drawn wide: the same seed gives the same plant; the family kept out of tuning has laws of its own."""

import numpy as np
import pytest

from holdfast.lab.drills.score import Truth
from holdfast.lab.drills.wide import fifth, fourth, seventh, sixth, unseen
from holdfast.lab.drills.wide.laws import FAMILIES
from holdfast.lab.drills.wide.play import _happens, stage, tasks
from holdfast.lab.drills.wide.spoil import one_that_moves
from holdfast.lab.drills.wide.stager import Situation
from holdfast.model.panel import Panel, SignalTable

TIMES = np.arange(0.0, 3600.0, 10.0)


@pytest.mark.parametrize("family", ["third", "fifth", "sixth", "seventh", "unseen"])
def test_a_seed_is_a_plant(family: str) -> None:
    one, other = (stage((7, "calm.quiet", family))[0] for _ in range(2))
    assert one.tables.keys() == other.tables.keys()
    assert all(
        np.array_equal(one.tables[name].values, other.tables[name].values, equal_nan=True) for name in one.tables
    )


def test_half_of_the_draws_are_faults_and_the_kept_family_has_more_situations() -> None:
    kinds = {family: {kind for _, kind, _ in tasks(400, 1, family)} for family in FAMILIES}
    assert kinds["unseen"] > kinds["seventh"] > kinds["sixth"] > kinds["fifth"] > kinds["fourth"] == kinds["tuned"]
    assert {"calm.backup", "planned.switch", "unknown.wears_out"} <= kinds["fifth"] - kinds["tuned"]
    assert {"calm.readers", "planned.hall", "unknown.cron"} <= kinds["sixth"] - kinds["fifth"]
    assert {"fabric.routing", "calm.spike", "unknown.stairs"} <= kinds["seventh"] - kinds["sixth"]
    assert {"calm.door", "planned.optics", "unknown.walks"} <= kinds["unseen"] - kinds["seventh"]
    faults = [kind for _, kind, _ in tasks(400, 1, "unseen") if not kind.startswith(("calm.", "planned.", "unknown."))]
    assert len(faults) == 200


def test_a_poller_misses_whole_rounds_and_a_meter_of_changes_reports_every_fourth_time() -> None:
    seed = next(one for one in range(1, 99) if fifth.ranges(one).rounds > 0.03 and fifth.ranges(one).missed < 0.02)
    values = np.full((50, 360), 20.0)
    rounds = fifth.due("rounds", values, 3, seed, np.random.default_rng(1))
    asked = rounds[:, ::3].mean(axis=0)
    assert not rounds[:, 1::3].any() and (asked == 0).any() and np.median(asked) > 0.9
    changes = fifth.due("changes", values, 3, seed, np.random.default_rng(1)).mean()
    assert changes == pytest.approx(1 / (3 * fifth.HEARTBEATS), rel=0.1)


@pytest.mark.parametrize("laws", [fourth, fifth, sixth, seventh, unseen])
def test_a_fault_that_returns_is_there_for_a_part_of_the_time(laws: object) -> None:
    there = laws.returns(TIMES, 5)  # type: ignore[attr-defined]
    assert set(np.unique(there)) == {0.0, 1.0} and 0.15 < there.mean() < 0.6
    assert there[0] == 1.0


@pytest.mark.parametrize("family", ["seventh", "unseen"])
def test_a_repaired_fault_has_an_end_and_no_effect_after_it(family: str) -> None:
    for seed in range(1, 60):
        panel, _, situation = stage((seed, "power.cap", family))
        end = situation.truths[0].end
        if end < 3300:
            limits = panel.tables["gpu_power_limit_watts"].values
            assert np.nanmax(limits[:, -1]) == np.nanmin(limits[:, -1])
            return
    raise AssertionError("no fault of the family is repaired")


def test_only_an_instrument_that_moves_is_stuck() -> None:
    still = np.full((1, len(TIMES)), 20.0, np.float32)
    moving = np.array([[20.0, 21.0] * (len(TIMES) // 2)], np.float32)
    tables = {
        "cdu_supply_celsius": SignalTable(("cdu/u0",), still),
        "gpu_temperature_celsius": SignalTable(("node/a/gpu/0", "node/a/gpu/1"), np.concatenate([still, moving])),
    }
    panel, since = Panel(TIMES, tables, (), ()), 1800.0
    for signal, subject, stuck in [
        ("cdu_supply_celsius", "cdu/u0", "node/a/gpu/1"),
        ("gpu_temperature_celsius", "node/a/gpu/1", "node/a/gpu/1"),
    ]:
        truth = Truth(cause=subject, kind="sensor.stuck", start=since)
        drawn = Situation(truths=(truth,), sensor=("stuck", signal, subject, since))
        found = one_that_moves(panel, drawn)
        assert found.truths[0].cause == stuck
        assert found.sensor == ("stuck", "gpu_temperature_celsius", stuck, since)


def test_no_gpu_throttles_in_a_calm_hour() -> None:
    """In a plant that runs near its limit a calm situation gets colder water."""
    drawn = [(seed, "calm.heavier", "sixth") for seed in range(1, 40)]
    hot = next(one for one in drawn if _reasons(_happens(one)[2]["gpu_clock_event_reasons"][1]) & 32)
    reasons = stage(hot)[0].tables.get("gpu_clock_event_reasons")
    assert reasons is None or not _reasons(reasons.values) & 32
    conditions, _, _ = _happens(hot)
    throttle = conditions.site.constants["throttle"]
    assert np.nanmedian(stage(hot)[0].tables["gpu_temperature_celsius"].values.max(axis=1)) < throttle


def _reasons(values: np.ndarray) -> int:
    return int(np.bitwise_or.reduce(np.nan_to_num(values).astype(int).ravel()))


@pytest.mark.parametrize("family", ["tuned", "sixth", "unseen"])
def test_a_slow_writer_writes_after_it_became_slow(family: str) -> None:
    for seed in range(1, 9):
        conditions, situation, found = _happens((seed, "storage.one_writer", family))
        work, late = conditions.site.works[0], conditions.times >= situation.truths[0].start
        took = found["rank_checkpoint_seconds"][1][: len(conditions.site.gpus_of(work.nodes)), late]
        assert np.nanmax(took) > 2 * np.nanmedian(took[:, -1])


@pytest.mark.parametrize("family", ["seventh", "unseen"])
def test_a_power_cap_that_is_a_fault_holds_its_job_back(family: str) -> None:
    for seed in range(1, 9):
        conditions, situation, found = _happens((seed, "power.cap", family))
        truth = situation.truths[0]
        held = (conditions.times > truth.start) & (conditions.times < truth.end) & (conditions.limit.min(axis=0) < 1)
        assert _reasons(found["gpu_clock_event_reasons"][1][:, held]) & 4
        assert not _reasons(found["gpu_clock_event_reasons"][1][:, conditions.times < truth.start]) & 4


def test_a_site_of_the_kept_family_is_healthy_before_its_fault() -> None:
    for seed in range(1, 12):
        conditions, situation, found = _happens((seed, "cooling.supply_warm", "unseen"))
        early = conditions.times < situation.truths[0].start
        assert 16 <= conditions.site.nodes <= 128
        assert _reasons(found["gpu_clock_event_reasons"][1][:, early]) == 0


def test_a_counter_and_a_window_report_what_flows() -> None:
    values = 100 + 5 * np.sin(TIMES / 400)[None, :]
    for meters in ("counter", "window"):
        seen = unseen.reported(meters, values, 10.0)
        assert np.abs(seen - values).max() < 4 and seen.mean() == pytest.approx(values.mean(), rel=0.01)
    assert (np.diff(unseen.reported("window", values, 10.0)) == 0).mean() > 0.8


def test_a_gateway_delivers_old_readings_and_a_subscription_only_changes() -> None:
    values = np.arange(360.0)[None, :].repeat(20, axis=0)
    late = values.copy()
    arrived = unseen.due("jitter", late, 6, 3, np.random.default_rng(1)) > 0
    assert (late[arrived] <= values[arrived]).all() and (values[arrived] - late[arrived]).max() in (5, 6)
    flat = np.full((20, 360), 20.0)
    rare = unseen.due("cov", flat, 6, 3, np.random.default_rng(1)).mean()
    assert rare == pytest.approx(1 / (6 * unseen.HEARTBEATS), rel=0.15)
