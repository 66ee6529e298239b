"""Plan answer: one sentence, figures, assumptions, sensitivities and a curve."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf, isfinite
from typing import Any, TypeVar

from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.planning.chart import PlanChart
from holdfast.economics.planning.inputs import PlanInput

Question = TypeVar("Question")


@dataclass(frozen=True, slots=True)
class Figure:
    key: str  # its name in JSON, with the unit; '' is not in JSON
    value: Any
    name: str = ""  # name in the table; '' is not in the table
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The headline with one input halved or doubled. None: no progress is possible."""

    name: str
    halved: float | None
    doubled: float | None

    @property
    def span(self) -> float:
        ends = [inf if end is None else end for end in (self.halved, self.doubled)]
        return abs(ends[1] - ends[0]) if isfinite(ends[0]) or isfinite(ends[1]) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAnswer:
    plan: str
    headline: str
    figures: Sequence[Figure]
    inputs: Sequence[PlanInput]
    sensitivities: Sequence[Sensitivity] = ()
    sensitivity_of: str = ""  # name of the figure that the sensitivities vary
    show: Callable[[float], str] = str
    notes: Sequence[str] = ()
    chart: Callable[[], PlanChart]  # drawn only on request

    def document(self) -> dict[str, Any]:
        return {
            "plan": self.plan,
            "headline": self.headline,
            **{figure.key: _finite(figure.value) for figure in self.figures if figure.key},
            "inputs": {
                given.name: {"value": given.value, "unit": given.unit, "source": given.source} for given in self.inputs
            },
            "what_matters_most": [
                {
                    "input": sensitivity.name,
                    "halved": _finite(sensitivity.halved),
                    "doubled": _finite(sensitivity.doubled),
                }
                for sensitivity in self.sensitivities
            ],
            "notes": list(self.notes),
        }


def sensitivities(
    question: Question, headline: Callable[[Question], float], names: Mapping[str, str]
) -> list[Sensitivity]:
    """Each input (name -> its label) halved and doubled, the strongest effect first. Shares stop at 1."""

    def at(name: str, factor: float) -> float | None:
        try:
            return headline(replace(question, **{name: _moved(question, name, factor)}))  # type: ignore[type-var]
        except (NoProgress, BadNumber, ArithmeticError):
            return None

    found = [Sensitivity(given, at(name, 0.5), at(name, 2.0)) for name, given in names.items()]
    return sorted(found, key=lambda sensitivity: -sensitivity.span)


def _moved(question: Any, name: str, factor: float) -> float:
    value = float(getattr(question, name)) * factor
    is_share = next(f for f in fields(question) if f.name == name).metadata.get("share", False)
    return min(1.0, value) if is_share else value


def _finite(value: Any) -> Any:
    """The value for JSON, which has no infinity: null, and the figure's text says why."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value
