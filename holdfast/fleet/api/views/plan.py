"""API types of a plan: the document of `holdfast plan --json`, and chart data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.chart import PlanChart, drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFigureView:
    name: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGivenView:
    """One input of the answer."""

    name: str
    shown: str
    unit: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSensitivityView:
    """The headline with one input halved or doubled."""

    name: str
    halved: str
    doubled: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLineView:
    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChartView:
    title: str
    across: str
    up: str
    log_x: bool
    lines: tuple[PlanLineView, ...]
    mark: tuple[float, float] | None
    """Where the answer lies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    plan: str
    headline: str
    figures: tuple[PlanFigureView, ...]
    inputs: tuple[PlanGivenView, ...]
    sensitivity_of: str
    """What the sensitivities are of."""
    sensitivities: tuple[PlanSensitivityView, ...]
    notes: tuple[str, ...]
    chart: PlanChartView
    document: Mapping[str, Any]
    """As `holdfast plan --json` prints it."""


def plan_view(answer: PlanAnswer) -> PlanView:
    return PlanView(
        plan=answer.plan,
        headline=answer.headline,
        figures=tuple(PlanFigureView(name=one.name.strip(), shown=one.shown) for one in answer.figures if one.name),
        inputs=tuple(
            PlanGivenView(name=one.name, shown=one.shown, unit=one.unit, source=one.source) for one in answer.inputs
        ),
        sensitivity_of=answer.sensitivity_of,
        sensitivities=tuple(
            PlanSensitivityView(name=one.name, halved=_end(answer, one.halved), doubled=_end(answer, one.doubled))
            for one in answer.sensitivities
        ),
        notes=tuple(answer.notes),
        chart=_chart_view(answer.chart()),
        document=answer.document(),
    )


def _end(answer: PlanAnswer, value: float | None) -> str:
    return "no progress" if value is None else answer.show(value)


def _chart_view(chart: PlanChart) -> PlanChartView:
    return PlanChartView(
        title=chart.title,
        across=chart.across,
        up=chart.up,
        log_x=chart.log_x,
        lines=tuple(PlanLineView(name=line.name, points=tuple(drawn(line))) for line in chart.lines),
        mark=chart.mark,
    )
