"""What is compared with a known good past, and with what is measured: clock reasons, coolant, the wandering of peers."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.panel import SignalTable
from holdfast.seams.rules.cooling_flow import explain as flow
from holdfast.seams.rules.sensor_drift import explain
from holdfast.seams.scene import Scene
from tests.seams.conftest import _calm
from tests.seams.making import change, gpus, nodes, of

BRAKE = 128
REASONS, RACK_FLOW = "gpu_clock_event_reasons", "rack_flow_litres_per_minute"


@pytest.mark.parametrize(("usual", "found"), [(0, True), (BRAKE, False), (4, True)])
def test_a_reason_older_than_the_window_is_news_against_the_past(quiet: Any, usual: int, found: bool) -> None:
    quiet.tables[REASONS].values[:2] = BRAKE
    past = _calm(1)
    past.tables[REASONS].values[:] = usual
    assert not Scene(quiet.panel, quiet.topology).reasons(BRAKE)
    assert bool(Scene(quiet.panel, quiet.topology, past.panel).reasons(BRAKE)) is found


@pytest.mark.parametrize(
    ("without", "coolant"),
    [((), 31.9), (("cdu_supply_celsius",), 32.3), (("cdu_supply_celsius", "rack_inlet_celsius"), 23.9)],
)
def test_heat_leaves_to_the_coolant_that_is_measured(quiet: Any, without: tuple[str, ...], coolant: float) -> None:
    for name in without:
        del quiet.tables[name]
    assert quiet.scene.coolant == pytest.approx(coolant, abs=0.25)


def test_without_any_meter_the_coolant_is_as_cold_as_plants_make_it(quiet: Any) -> None:
    for name in ("cdu_supply_celsius", "rack_inlet_celsius", "ambient_celsius"):
        del quiet.tables[name]
    assert quiet.scene.coolant == 20.0


@pytest.mark.parametrize(("wander", "found"), [(0.0, True), (0.02, True), (0.04, False)])
def test_a_drift_is_farther_than_instruments_stray_here(quiet: Any, wander: float, found: bool) -> None:
    """Ten racks; one lost 12 %. If the others are 4 % off as well, instruments wander so here."""
    rng = np.random.default_rng(3)
    subjects = tuple(f"rack/r{number}" for number in range(1, 11))
    values = 100 + rng.standard_normal((10, 240)).astype(np.float32) * 0.5
    values[1:, 150:] *= 1 + wander * np.where(np.arange(9) % 2, 1, -1)[:, None]
    values[0, 150:] *= 0.88
    quiet.tables[RACK_FLOW] = SignalTable(subjects, values.astype(np.float32))
    assert ("rack/r1" in {one.cause for one in explain(quiet.scene)}) is found


@pytest.mark.parametrize(
    ("draws", "hot", "found"), [(1.0, False, True), (0.6, False, False), (0.9, False, True), (0.6, True, True)]
)
def test_a_unit_that_delivers_less_for_less_load_is_well(quiet: Any, draws: float, hot: bool, found: bool) -> None:
    """Constant temperature difference: flow follows the load. Where GPUs are hot, they draw less because of it."""
    six = nodes(1, 6)
    of(
        change("cdu_flow_litres_per_minute", "cdu/c1", times=0.6),
        change(RACK_FLOW, "rack/r1", "rack/r2", times=0.6),
        gpus("gpu_power_watts", six, times=draws),
    )(quiet)
    if hot:
        gpus("gpu_temperature_celsius", six, by=15.0)(quiet)
    (one,) = (one for one in flow(quiet.scene) if one.kind == "cooling.flow_low")
    assert (one.score > 0) is found
