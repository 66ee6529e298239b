"""What an answer tells machines: no infinities, and what matters most first."""

from dataclasses import dataclass, field
from math import inf, nan

import pytest

from holdfast.economics.costs.feasible import NoProgress
from holdfast.economics.planning.answer import Figure, PlanAnswer, Sensitivity, sensitivities
from holdfast.economics.planning.chart import ChartLine, PlanChart, drawn, spaced


@dataclass(frozen=True)
class Question:
    price: float = 2.0
    goodput: float = field(default=0.8, metadata={"share": True})
    free: float = 1.0


def test_each_input_is_halved_and_doubled_and_a_share_stops_at_one() -> None:
    found = sensitivities(
        Question(), lambda q: q.price / q.goodput, {"price": "the price", "goodput": "goodput", "free": "free"}
    )
    assert found == [
        Sensitivity("the price", 1.0 / 0.8, 4.0 / 0.8),
        Sensitivity("goodput", 2.0 / 0.4, 2.0),
        Sensitivity("free", 2.5, 2.5),
    ]
    assert [one.span for one in found] == [pytest.approx(3.75), pytest.approx(3.0), 0.0]


def test_what_stops_all_progress_matters_most() -> None:
    def headline(question: Question) -> float:
        if question.free > 1:
            raise NoProgress("never")
        return question.price * 100

    first, second = sensitivities(Question(), headline, {"price": "price", "free": "free"})
    assert (first.name, first.halved, first.doubled, first.span) == ("free", 200.0, None, inf)
    assert second.name == "price"
    assert Sensitivity("both", None, None).span == 0.0
    assert Sensitivity("both", inf, inf).span == 0.0


def test_a_document_has_every_figure_with_a_key_and_no_infinity() -> None:
    figures = [
        Figure("wall", inf),
        Figure("", 5.0, "for people", "5"),
        Figure("ends", [1.0, nan]),
        Figure("by", {"a": -inf, "b": 2}),
        Figure("words", "x"),
    ]
    made = PlanAnswer(
        plan="limit", headline="so", figures=figures, inputs=(),
        sensitivities=[Sensitivity("a", 1.0, inf)], notes=["n"],
        chart=lambda: PlanChart("t", "x", "y", ()),
    )  # fmt: skip
    assert made.document() == {
        "plan": "limit",
        "headline": "so",
        "wall": None,
        "ends": [1.0, None],
        "by": {"a": None, "b": 2},
        "words": "x",
        "inputs": {},
        "what_matters_most": [{"input": "a", "halved": 1.0, "doubled": None}],
        "notes": ["n"],
    }


def test_points_lie_at_equal_ratios_from_end_to_end() -> None:
    points = spaced(1.0, 100.0, 3)
    assert points == [pytest.approx(1.0), pytest.approx(10.0), pytest.approx(100.0)]
    assert len(spaced(1.0, 2.0)) == 60


def test_only_points_that_can_be_drawn_are() -> None:
    assert drawn(ChartLine("x", ((1.0, 2.0), (inf, 1.0), (1.0, nan)))) == [(1.0, 2.0)]


def test_one_end_that_is_finite_makes_a_span() -> None:
    assert (Sensitivity("x", None, 1.0).span, Sensitivity("x", 1.0, None).span, Sensitivity("x", 1.0, 3.0).span) == (
        inf,
        inf,
        2.0,
    )
