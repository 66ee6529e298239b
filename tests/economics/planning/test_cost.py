"""One incident's cost: defaults that are said, what matters most, and the worth of noticing sooner."""

from dataclasses import replace

import pytest

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.planning import cost
from holdfast.economics.planning.inputs import PlanInputs

NOTHING = cost.CostQuestion(**dict.fromkeys(cost.CostQuestion.__dataclass_fields__, None))
PLAIN = replace(NOTHING, gpus="100", price="2")


def document(**more: str) -> dict[str, object]:
    return cost.answer(PlanInputs(), replace(PLAIN, **more)).document()


def test_what_no_one_reported_is_ten_minutes_unnoticed_and_half_an_hour_repeated() -> None:
    found = document()
    assert found["direct_compute"] == pytest.approx(100 * 2 / 6)
    assert found["rollback"] == pytest.approx(100 * 2 * 0.5)
    assert found["total"] == pytest.approx(100 * 2 * (1 / 6 + 0.5))
    assert found["lost_gpu_hours"] == pytest.approx(100 * (1 / 6 + 0.5))
    assert found["lost_cluster_days"] == pytest.approx((1 / 6 + 0.5) / 24)
    assert found["schedule_slip"] is None
    assert found["headline"] == "This incident cost 133 USD and 67 GPU-hours of progress."


def test_every_number_by_hand() -> None:
    found = document(
        detect="1h", diagnose="2h", restore="3h", rework="4h", slow="50%", slow_for="6h", blast="8", repair="5h",
        alternative="2.5", queued="0.5", people="3", hours="2h", wage="100", day_value="2400", float_days="0.5",
        critical="50%",
    )  # fmt: skip
    assert found["direct_compute"] == pytest.approx((100 * (6 + 3) + 8 * 5) * 2)
    assert found["reserved_capacity"] == pytest.approx(100 * 6 * 0.5 * 0.5)
    assert found["rollback"] == pytest.approx(100 * 2 * 4)
    assert found["labour"] == pytest.approx(600)
    assert found["schedule_slip"] == pytest.approx(2400 * (13 / 24 - 0.5) * 0.5)


def test_a_slip_without_a_value_is_reported_not_to_be_in_the_total() -> None:
    without = cost.answer(PlanInputs(), PLAIN)
    assert without.figures[0].shown.endswith(" without the slip")
    assert any("needs --day-value" in note for note in without.notes)
    valued = cost.answer(PlanInputs(), replace(PLAIN, day_value="1000"))
    assert not valued.figures[0].shown.endswith(" without the slip")
    assert not any("needs --day-value" in note for note in valued.notes)


@pytest.mark.parametrize(
    ("expected", "missing"),
    [("slow", "slow-for"), ("slow_for", "slow"), ("blast", "repair"), ("repair", "blast"), ("alternative", "queued"),
     ("queued", "alternative"), ("people", "hours"), ("hours", "people"), ("float_days", "day-value")],
)  # fmt: skip
def test_half_of_a_product_changes_nothing_and_is_reported(expected: str, missing: str) -> None:
    values = {"slow": "20%", "slow_for": "2h", "repair": "2h", "hours": "2h", "queued": "50%"}
    notes = cost.answer(PlanInputs(), replace(PLAIN, **{expected: values.get(expected, "1")})).notes
    assert f"--{expected.replace('_', '-')} changes nothing without --{missing}" in notes


def test_what_matters_is_what_is_there_and_moves_the_total() -> None:
    names = [one["input"] for one in document()["what_matters_most"]]  # type: ignore[attr-defined]
    assert names[:2] == ["gpus", "price"]
    assert set(names) == {"gpus", "price", "detect hours", "rework hours"}


@pytest.mark.parametrize(
    ("text", "good"), [("0.01", True), ("1000000", True), ("0", False), ("1000001", False), ("x", False), (None, False)]
)
def test_a_price_is_above_nothing_and_below_a_million(text: str | None, good: bool) -> None:
    if good:
        assert cost.price(PlanInputs(), text) == float(text or 0)
    else:
        with pytest.raises(BadNumber, match="--price"):
            cost.price(PlanInputs(), text)


def test_a_gpu_has_the_catalogs_price() -> None:
    asked = PlanInputs()
    assert cost.price(asked, "h100") > 0
    assert asked.given[0].name == "price"


def test_the_curve_reports_what_quick_detection_is_worth() -> None:
    chart = cost.answer(PlanInputs(), replace(PLAIN, detect="30m", rework="0s")).chart()
    (line,) = chart.lines
    assert (line.points[0], line.points[-1], len(line.points)) == ((0.0, 0.0), (120.0, pytest.approx(400.0)), 41)
    assert chart.mark == (30.0, pytest.approx(100.0))
    soon = cost.answer(PlanInputs(), replace(PLAIN, detect="1m")).chart()
    assert soon.lines[0].points[-1][0] == 60.0  # an hour at least


def test_both_halves_of_a_product_are_reported_of_by_no_one() -> None:
    whole = replace(
        PLAIN, slow="20%", slow_for="2h", people="2", hours="1h", day_value="1", float_days="1", critical="1"
    )
    assert not any("changes nothing" in note for note in cost.answer(PlanInputs(), whole).notes)
    assert not cost.answer(PlanInputs(), PLAIN).chart().log_x
    with pytest.raises(BadNumber, match="--price is missing"):
        cost.price(PlanInputs(), None)


def test_what_moves_the_total_by_cents_is_reported_too() -> None:
    small = cost.answer(PlanInputs(), replace(PLAIN, gpus="1", price="0.1"))
    assert {sensitivity.name for sensitivity in small.sensitivities} == {
        "gpus",
        "price",
        "detect hours",
        "rework hours",
    }
