"""Five layers, no dollar twice."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.incident import IncidentLoss, layers, total

KNOWN = IncidentLoss(
    gpus=1024,
    price=2.35,
    detect_hours=0.25,
    diagnose_hours=0.5,
    restore_hours=0.5,
    rework_hours=0.5,
    slow_share=0.2,
    slow_hours=2,
    people=4,
    people_hours=3,
)


def test_the_known_incident() -> None:
    costs = {layer.name: layer.cost for layer in layers(KNOWN)}
    assert costs == {
        "direct compute": pytest.approx(3970.56),
        "reserved capacity": 0.0,
        "rollback": pytest.approx(1203.2),
        "labour": pytest.approx(1680.0),
        "schedule slip": None,
    }
    assert KNOWN.lost_gpu_hours == pytest.approx(2201.6)


def test_reserved_capacity_is_only_what_another_use_pays_more() -> None:
    cheaper = replace(KNOWN, alternative_price=2.0, queued_chance=1.0)
    dearer = replace(KNOWN, alternative_price=3.35, queued_chance=0.5)
    assert layers(cheaper)[1].cost == 0
    assert layers(dearer)[1].cost == pytest.approx(1024 * 1.25 * 0.5)


def test_schedule_slip_only_beyond_the_float_and_with_a_value() -> None:
    valued = replace(KNOWN, day_value=100_000.0)
    assert layers(valued)[4].cost == pytest.approx(100_000 * 2.15 / 24)
    assert layers(replace(valued, float_days=1.0))[4].cost == 0
    assert total(layers(valued)) > total(layers(KNOWN))


@given(st.floats(1, 1e5), st.floats(0.1, 20), st.floats(0, 100), st.floats(0, 100), st.floats(0, 1))
def test_the_total_is_the_sum_and_more_never_costs_less(
    gpus: float, price: float, down: float, rework: float, slow: float
) -> None:
    here = IncidentLoss(gpus=gpus, price=price, restore_hours=down, rework_hours=rework, slow_share=slow, slow_hours=1)
    assert total(layers(here)) == pytest.approx(sum(layer.cost or 0 for layer in layers(here)))
    assert total(layers(replace(here, gpus=2 * gpus))) >= total(layers(here)) >= 0
    assert total(layers(replace(here, detect_hours=1.0))) >= total(layers(here))


@pytest.mark.parametrize("wrong", [{"gpus": 0}, {"price": -1}, {"slow_share": 2}, {"restore_hours": -1}, {"wage": -1}])
def test_what_cannot_be_is_reported(wrong: dict[str, float]) -> None:
    with pytest.raises(BadNumber):
        layers(replace(KNOWN, **wrong))


def test_each_layer_by_hand() -> None:
    """10 GPUs at 2.00: 1 + 2 + 3 hours down, 8 GPUs wait 5 hours for the repair, 4 hours are repeated."""
    here = IncidentLoss(
        gpus=10, price=2.0, detect_hours=1, diagnose_hours=2, restore_hours=3, rework_hours=4, slow_share=0.5,
        slow_hours=6, blast_gpus=8, repair_hours=5, alternative_price=2.5, queued_chance=0.5, people=3,
        people_hours=2, wage=100.0, day_value=2400.0, float_days=0.5, critical_chance=0.5,
    )  # fmt: skip
    assert (here.down_hours, here.delay_hours, here.lost_gpu_hours) == (6, 13, 130)
    assert [layer.cost for layer in layers(here)] == [
        (10 * (6 + 3) + 8 * 5) * 2.0,
        10 * 6 * 0.5 * 0.5,
        10 * 2.0 * 4,
        600.0,
        pytest.approx(2400 * (13 / 24 - 0.5) * 0.5),
    ]
    assert total(layers(here)) == pytest.approx(200 + 15 + 140 + 600 + 50)


def test_what_is_left_out_costs_nothing() -> None:
    bare = IncidentLoss(gpus=1, price=1.0)
    assert [layer.cost for layer in layers(bare)] == [0, 0, 0, 0, None]
    assert (bare.wage, bare.critical_chance) == (140.0, 1.0)


@pytest.mark.parametrize(
    "name",
    ["detect_hours", "diagnose_hours", "restore_hours", "rework_hours", "slow_hours", "repair_hours", "people_hours",
     "people", "wage", "float_days", "blast_gpus", "alternative_price", "day_value", "queued_chance",
     "critical_chance", "slow_share"],
)  # fmt: skip
def test_nothing_is_below_nothing(name: str) -> None:
    layers(replace(KNOWN, **{name: 0.0}))
    with pytest.raises(BadNumber):
        layers(replace(KNOWN, **{name: -0.1}))


def test_what_is_left_out_is_nothing_one_by_one() -> None:
    assert IncidentLoss(gpus=1, price=1.0) == IncidentLoss(
        gpus=1, price=1.0, detect_hours=0.0, diagnose_hours=0.0, restore_hours=0.0, rework_hours=0.0, slow_share=0.0,
        slow_hours=0.0, blast_gpus=0.0, repair_hours=0.0, alternative_price=0.0, queued_chance=0.0, people=0.0,
        people_hours=0.0, wage=140.0, day_value=None, float_days=0.0, critical_chance=1.0, slip_hours=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("down", "slip_hours", "float_days", "slip_days"),
    [(0.0, None, 0.0, 0.0), (24.0, None, 0.0, 1.0), (36.0, None, 1.0, 0.5), (24.0, None, 1.0, 0.0),
     (24.0, 0.0, 0.0, 0.0), (24.0, 12.0, 3.0, 0.5)],
)  # fmt: skip
def test_a_slip_is_what_the_ledger_says_or_what_is_beyond_the_float(
    down: float, slip_hours: float | None, float_days: float, slip_days: float
) -> None:
    here = IncidentLoss(
        gpus=1, price=1.0, restore_hours=down, slip_hours=slip_hours, float_days=float_days, day_value=10.0
    )
    assert layers(here)[4].cost == pytest.approx(10 * slip_days)


def test_no_milestone_slips_by_less_than_nothing() -> None:
    with pytest.raises(BadNumber):
        layers(IncidentLoss(gpus=1, price=1.0, slip_hours=-0.1))


def test_what_another_use_pays_counts_only_above_the_price() -> None:
    for alternative, cost in ((0.0, 0.0), (2.0, 0.0), (2.5, 10 * 3 * 0.5)):
        here = IncidentLoss(gpus=10, price=2.0, detect_hours=3, alternative_price=alternative, queued_chance=1.0)
        assert layers(here)[1].cost == pytest.approx(cost)
