"""Offers, premiums, what failures cost, and what an agreement pays back."""

import pytest

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.planning import price
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.inputs import PlanInputs

NONE: dict[str, str | None] = dict.fromkeys(("identify", "interval", "start", "repair", "failover", "blast"))
TWO = ["dear=3.00@90%", "cheap=2.00@75%"]


def asked(offers: list[str] | None = None, gpus: str | None = None, days: str | None = None, rate: str | None = None,
          sla: str | None = None, down: str | None = None, **stages: str) -> PlanAnswer:  # fmt: skip
    return price.answer(
        PlanInputs(), TWO if offers is None else offers, gpus, days, rate, {**NONE, **stages}, sla, down
    )


def test_the_cheapest_productive_hour_comes_first() -> None:
    found = asked()
    document = found.document()
    assert list(document["effective_price"].items()) == [
        ("cheap", pytest.approx(8 / 3)),
        ("dear", pytest.approx(10 / 3)),
    ]
    assert document["headline"] == "cheap is the cheapest: 2.67 USD per productive GPU-hour."
    assert document["break_even_premium"] == {"dear": pytest.approx(0.2)}
    assert "dear 20.00 %, asks +50.0 %" in [figure.shown for figure in found.figures]
    assert "break_even_premium" not in asked(["a=2@0.9"]).document()


@pytest.mark.parametrize(
    "offers",
    [[], ["a=2@0.9", "a=3@0.9"], ["a=2"], ["a=2@1.1"], ["a=1000001@0.9"], ["a=2-2@0.9"], ["=2@0.9"]],
)
def test_offers_that_are_none_are_refused(offers: list[str]) -> None:
    with pytest.raises(BadNumber):
        asked(offers)


def test_credits_just_below_what_is_paid_are_an_offer() -> None:
    assert asked(["a=2+1-2.99@1"]).document()["effective_price"]["a"] == pytest.approx(0.01)


def test_what_matters_is_price_or_goodput_and_a_goodput_stops_at_one() -> None:
    output = {one["input"]: one for one in asked(["a=2@0.8"]).document()["what_matters_most"]}
    assert (output["price"]["halved"], output["price"]["doubled"]) == (pytest.approx(1.25), pytest.approx(5.0))
    assert (output["goodput"]["halved"], output["goodput"]["doubled"]) == (pytest.approx(5.0), pytest.approx(2.0))


@pytest.mark.parametrize("alone", [{"days": "3"}, {"rate": "1"}, {"sla": "99%:10%"}, {"down": "1h"}, {"repair": "1h"}])
def test_failures_are_priced_for_a_job_of_a_known_size(alone: dict[str, str]) -> None:
    with pytest.raises(BadNumber, match="--gpus is missing"):
        asked(**alone)


def test_what_failures_cost_by_hand() -> None:
    """365 GPUs for ten days at 0.1 a year: one failure. Nobody waits for anything but the minutes that are told."""
    found = asked(
        ["a=2.00@0.9"], "365", "10", "0.1/y", identify="6m", interval="2h", start="30m", repair="3h", failover="12m"
    )
    document = found.document()
    assert document["failures"] == pytest.approx(1.0)
    assert document["failures_95_percent"] == [0, 3]
    lost = 0.1 + 1.0 + 0.5
    assert document["restart_expense"] == {
        "cold": pytest.approx((lost + 3) * 365 * 2),
        "hot": pytest.approx((lost * 365 + 3 * 8) * 2),
        "tolerant": pytest.approx(((0.1 + 0.2) * 365 + 3 * 8) * 2),
    }
    paid = 365 * 10 * 24 * 2.0
    assert any(f"({100 * (lost + 3) * 730 / paid:.2f} %)" in figure.shown for figure in found.figures)


def test_stages_that_no_one_reported_are_the_documented_ones() -> None:
    expense = asked(["a=1@1"], "365", "10", "0.1/y").document()["restart_expense"]
    lost = 0.25 + 0.5 + 1 / 6
    assert expense["cold"] == pytest.approx((lost + 1) * 365)
    assert expense["tolerant"] == pytest.approx((0.25 + 1 / 60) * 365 + 8)
    assert asked(["a=1@1"], "365", None, "0.1/y").document()["failures"] == pytest.approx(3.0)  # a month
    wide = asked(["a=1@1"], "365", "10", "0.1/y", blast="64").document()["restart_expense"]
    assert wide["tolerant"] == pytest.approx((0.25 + 1 / 60) * 365 + 64)


def test_an_agreement_pays_for_the_node_and_not_for_the_job() -> None:
    """Two hours of 730 are 99.726 % of uptime."""
    document = asked(["a=2@1"], "1000", "10", "1", sla="99.9%:10%, 99%:25%").document()
    assert document["sla_uptime"] == pytest.approx(1 - 2 / 730)
    assert document["sla_credit"] == pytest.approx(0.10 * 8 * 730 * 2)
    assert document["sla_loss"] == pytest.approx(1000 * 2 * 2)
    longer = asked(["a=2@1"], "1000", "10", "1", sla="99.9%:10%,99%:25%", down="10h").document()
    assert longer["sla_credit"] == pytest.approx(0.25 * 8 * 730 * 2)
    whole = asked(["a=2@1"], "1000", "10", "1", sla="99%:25%", down="60d").document()
    assert whole["sla_uptime"] == 0.0


@pytest.mark.parametrize("sla", ["", "99%", "99%:10%;98%:20%", "x"])
def test_an_agreement_that_is_none_is_refused(sla: str) -> None:
    with pytest.raises(BadNumber, match="--sla"):
        asked(["a=2@1"], "8", "10", "1", sla=sla)


def test_the_curve_of_an_offer_is_its_price_by_goodput() -> None:
    chart = asked(["a=2@0.8"]).chart()
    (line,) = chart.lines
    assert (line.points[0], line.points[-1], len(line.points)) == ((0.5, 4.0), (1.0, 2.0), 51)
    assert chart.mark == (0.8, pytest.approx(2.5))
    assert asked(["a=2@0.3"]).chart().mark == (0.5, 4.0)


def test_a_doubtful_rate_is_reported() -> None:
    assert any("is a count" in note for note in asked(["a=2@1"], "8", "10", "0.9").notes)
    assert len(asked(["a=2@1"], "8", "10", "0.9/y").notes) == 1


def test_the_interval_of_the_count_holds_ninety_five_of_a_hundred() -> None:
    assert asked(["a=1@1"], "3650", "10", "0.1/y").document()["failures_95_percent"] == [4, 17]
    assert not asked(["a=1@1"]).chart().log_x


def test_a_goodput_of_less_than_half_doubles() -> None:
    output = {one["input"]: one for one in asked(["a=2@0.2"]).document()["what_matters_most"]}
    assert output["goodput"]["doubled"] == pytest.approx(5.0)
