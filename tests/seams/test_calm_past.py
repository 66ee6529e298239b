"""What is compared with a known good past, and with what is measured: clock reasons, coolant, the wandering of peers."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.panel import Table
from holdfast.seams.rules.sensor_drift import explain
from holdfast.seams.scene import Scene
from tests.seams.conftest import _calm

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
    luck = np.random.default_rng(3)
    subjects = tuple(f"rack/r{number}" for number in range(1, 11))
    values = 100 + luck.standard_normal((10, 240)).astype(np.float32) * 0.5
    values[1:, 150:] *= 1 + wander * np.where(np.arange(9) % 2, 1, -1)[:, None]
    values[0, 150:] *= 0.88
    quiet.tables[RACK_FLOW] = Table(subjects, values.astype(np.float32))
    assert ("rack/r1" in {one.cause for one in explain(quiet.scene)}) is found
