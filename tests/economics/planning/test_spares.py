"""Spare nodes: by hand, with crews, and what no number of them can cover."""

from math import exp

import pytest

from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.planning import spares
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.inputs import PlanInputs


def asked(nodes: str = "365", known: dict[str, tuple[str, str]] | None = None, **more: str | None) -> PlanAnswer:
    """365 nodes of one GPU that fails once a year, mended within a day: one is out on average."""
    texts = {"per_node": "1", "rate": "1", "events": None, "years": None, "repair": "1d", "swap": None, "crews": None,
             "confidence": None} | more  # fmt: skip
    return spares.answer(PlanInputs(known=known or {}), nodes, *texts.values())


def test_one_out_on_average_by_hand() -> None:
    """Poisson with mean 1: at most 3 with 98.1 %, at most 4 with 99.6 %."""
    found = asked().document()
    assert found["mean_nodes_out"] == pytest.approx(1.0)
    assert found["spares"] == 4
    assert found["spares_by_confidence"] == {"0.95": 3, "0.99": 4, "0.999": 5}
    assert found["failures_per_node_day"] == pytest.approx(1 / 365)
    assert found["headline"] == "4 spare nodes cover the outages of 365 nodes 99.0 % of the time."
    assert "repairs_that_wait" not in found


def test_more_gpus_a_node_a_longer_repair_and_fewer_swaps() -> None:
    assert asked(per_node=None).document()["mean_nodes_out"] == pytest.approx(8.0)
    assert asked(repair=None).document()["mean_nodes_out"] == pytest.approx(3.0)
    assert asked(swap="25%").document()["mean_nodes_out"] == pytest.approx(0.25)
    assert asked(confidence="95%").document()["spares"] == 3


def test_two_crews_by_hand() -> None:
    """M/M/2 with a load of 1: a third of repairs wait, 4/3 nodes are out on average."""
    found = asked(crews="2").document()
    assert found["repairs_that_wait"] == pytest.approx(1 / 3)
    assert found["mean_nodes_out"] == pytest.approx(4 / 3)
    assert found["spares"] > asked().document()["spares"]
    assert found["spares_with_one_more_crew"] == asked(crews="3").document()["spares"]


@pytest.mark.parametrize(
    "wrong",
    [{"crews": "0"}, {"crews": "0.5"}, {"crews": "1.5"}, {"crews": "100001"}, {"confidence": "0"},
     {"confidence": "1"}, {"per_node": "0"}, {"per_node": "1.5"}, {"repair": "0s"}],
)  # fmt: skip
def test_what_cannot_be_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(BadNumber):
        asked(**wrong)


def test_a_fleet_that_is_always_out_is_reported() -> None:
    with pytest.raises(NoProgress, match="a node is out every"):
        asked(repair="365d")
    assert asked(repair="364d").headline
    with pytest.raises(NoProgress, match="crews"):
        asked(crews="1")


def test_crews_that_are_reported_by_somebody_else_count() -> None:
    assert "repairs_that_wait" in asked(known={"crews": ("2", "the plan")}).document()


def test_the_curve_is_the_chance_to_have_enough() -> None:
    chart = asked().chart()
    (line,) = chart.lines
    assert line.name == "unlimited crews"
    assert line.points[0] == (0.0, pytest.approx(exp(-1)))
    assert line.points[2] == (2.0, pytest.approx(2.5 * exp(-1)))
    assert line.points[-1][0] == 10.0
    assert chart.mark == (4.0, pytest.approx(exp(-1) * (1 + 1 + 1 / 2 + 1 / 6 + 1 / 24)))
    many = asked("36500", repair="10d").chart().lines[0].points
    assert 60 <= len(many) <= 100


def test_counts_give_an_interval() -> None:
    low, high = asked(rate=None, events="10", years="10").document()["spares_95_percent"]
    assert low < asked().document()["spares"] < high


def test_what_is_shown_to_people() -> None:
    def shown(found: PlanAnswer, key: str) -> str:
        return next(figure.shown for figure in found.figures if figure.key == key)

    low, high = asked(rate=None, events="10", years="10").document()["spares_95_percent"]
    assert shown(asked(rate=None, events="10", years="10"), "spares_95_percent") == f"{low} to {high}"
    assert any("is a count" in note for note in asked(rate="0.9").notes)
    assert asked().notes == []
    assert {given.name: given.value for given in asked().inputs}["crews"] == 0
    with pytest.raises(NoProgress, match="a node is out every 365 d and its repair takes 2 years"):
        asked(repair="2y")
    with pytest.raises(NoProgress, match="a node is out every 2 years and its repair takes 4 years"):
        asked(repair="4y", swap="50%")


def test_the_curve_ends_beyond_the_answer() -> None:
    chart = asked("3650", repair="10d").chart()
    needed = asked("3650", repair="10d").document()["spares"]
    assert chart.lines[0].points[-1][0] == pytest.approx(1.4 * needed, abs=2)
    assert not chart.log_x
