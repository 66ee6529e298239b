"""A drill is priced as a live incident: same code, same assumptions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast.economics.costs.finding import Prices, bill
from holdfast.lab.drills.drill import Drill
from holdfast.lab.drills.file import load
from holdfast.lab.drills.pricing import Loser, cost_document, losers, outcomes, price
from holdfast.lab.drills.stage import LEAD, plant_of
from holdfast.lab.twin.plant.truth import without
from holdfast.model.account import Loss
from holdfast.model.panel import Panel

HOUR = 3600.0


@pytest.fixture(scope="module")
def drill() -> Drill:
    return load("pump-fades")


@pytest.fixture(scope="module")
def panel(drill: Drill) -> Panel:
    return plant_of(drill).panel(drill.lasts, LEAD)


def steady(drill: Drill, panel: Panel, gpus: int = 64, per_hour: float = 32.0) -> Loser:
    """Loses at one rate from the first fault on."""
    began = min(fault.start for fault in drill.faults)
    return Loser("job/a", gpus, np.maximum(0.0, panel.times - began) / HOUR * per_hour)


def test_the_bill_is_that_of_a_live_incident(drill: Drill, panel: Panel) -> None:
    hours = (panel.now - min(fault.start for fault in drill.faults)) / HOUR
    live = Loss(subject="job/a", gpus=64, share_so_far=0.5, share_now=0.5)
    expected = bill([live], Prices(), hours)
    found = price(drill, [steady(drill, panel)], panel, panel.now)
    assert [one.name for one in found.layers] == [one.name for one in expected.layers]
    for ours, theirs in zip(found.layers, expected.layers, strict=True):
        assert ours.so_far == (None if theirs.so_far is None else pytest.approx(theirs.so_far, rel=1e-6))
    assert found.gpu_hours == pytest.approx(expected.gpu_hours, rel=1e-6)


def test_labour_is_two_people_for_two_hours_at_most(drill: Drill, panel: Panel) -> None:
    lost = [steady(drill, panel)]
    day = price(drill, lost, panel, 24 * HOUR)
    labour = next(one for one in day.layers if one.name == "labour")
    assert labour.so_far == 2 * 2 * 140.0


def test_a_schedule_has_a_price_only_where_its_day_has(drill: Drill, panel: Panel) -> None:
    lost = [steady(drill, panel)]
    slip = [one.so_far for one in price(drill, lost, panel, panel.now).layers if one.name == "schedule slip"]
    assert slip == [None]
    dear = replace(drill, day_value=24_000.0)
    found = price(dear, lost, panel, panel.now)
    hours = found.finish_shift_hours
    assert [one.so_far for one in found.layers if one.name == "schedule slip"] == [pytest.approx(1000 * hours)]


def test_after_the_drill_the_loss_goes_on_at_its_last_rate(drill: Drill, panel: Panel) -> None:
    one = steady(drill, panel)
    assert one.until(panel.now + HOUR, panel) == pytest.approx(float(one.lost[-1]) + 32.0)


def test_a_wrong_guess_costs_a_restart_and_more_labour(drill: Drill, panel: Panel) -> None:
    lost = [steady(drill, panel)]
    right = {name: bill for name, _, bill in outcomes(drill, lost, panel, 600.0, True, 300.0)}
    wrong = {name: (at, bill) for name, at, bill in outcomes(drill, lost, panel, 600.0, False, None)}
    assert list(right) == ["your guess", "Holdfast", "no repair for a day"] and "Holdfast" not in wrong
    at, dear = wrong["your guess"]
    assert at == 600 + 15 * 60 + 45 * 60
    same_time = price(drill, lost, panel, at)
    restart = max(job.restart_seconds for job in drill.layout.jobs) / HOUR
    assert dear.gpu_hours - same_time.gpu_hours == pytest.approx(64 * restart)
    assert right["your guess"].total_so_far < dear.total_so_far


def test_a_drill_without_faults_costs_nothing(drill: Drill, panel: Panel) -> None:
    assert losers(drill, panel, panel) == ()
    document: dict[str, Any] = cost_document(drill, (), panel)
    assert document["total"] == 0.0 and document["layers"] == []


def test_a_faulty_drill_names_who_lost(drill: Drill, panel: Panel) -> None:
    plant = plant_of(drill)
    for fault in drill.faults:
        plant = without(plant, next(one for one in plant.faults if one == fault))
    healthy = plant.panel(drill.lasts, LEAD)
    lost = losers(drill, panel, healthy)
    document = cost_document(drill, lost, panel)
    assert document["by"] and {one["name"] for one in document["by"]} <= {
        f"job/{job.name}" for job in drill.layout.jobs
    }
    assert document["total"] > 0 and len(document["layers"]) == 5
