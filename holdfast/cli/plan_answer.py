"""A plan's answer: one sentence, figures, what they rest on, what matters most; for people or as JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from holdfast.cli.plan_inputs import Given
from holdfast.cli.refusal import Refusal
from holdfast.costs.feasible import BadNumber, NoProgress

if TYPE_CHECKING:
    from holdfast.cli.plan_plot import Chart

_TIMES = ((31_536_000.0, "years"), (86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
HERE = "-"  # a plot on the terminal
Question = TypeVar("Question")


@dataclass(frozen=True, slots=True)
class Figure:
    key: str  # its name in JSON, with the unit; '' is not in JSON
    value: Any
    name: str = ""  # for people; '' is not in the table
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Sway:
    """What the headline becomes if one input were half or twice as large. None: no progress is possible."""

    name: str
    halved: float | None
    doubled: float | None

    @property
    def span(self) -> float:
        ends = [inf if end is None else end for end in (self.halved, self.doubled)]
        return abs(ends[1] - ends[0]) if isfinite(ends[0]) or isfinite(ends[1]) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    plan: str
    headline: str
    figures: Sequence[Figure]
    inputs: Sequence[Given]
    sways: Sequence[Sway] = ()
    swayed: str = ""  # what the sways are of
    show: Callable[[float], str] = str
    notes: Sequence[str] = ()
    chart: "Callable[[], Chart]"  # drawn only when somebody wants to see it

    def document(self) -> dict[str, Any]:
        return {
            "plan": self.plan,
            "headline": self.headline,
            **{figure.key: _finite(figure.value) for figure in self.figures if figure.key},
            "inputs": {
                given.name: {"value": given.value, "unit": given.unit, "source": given.source} for given in self.inputs
            },
            "what_matters_most": [
                {"input": sway.name, "halved": _finite(sway.halved), "doubled": _finite(sway.doubled)}
                for sway in self.sways
            ],
            "notes": list(self.notes),
        }


def sways(question: Question, headline: Callable[[Question], float], names: Mapping[str, str]) -> list[Sway]:
    """Each input (name -> how it is said) halved and doubled, what matters most first. Shares stop at 1."""

    def at(name: str, factor: float) -> float | None:
        try:
            return headline(replace(question, **{name: _moved(question, name, factor)}))  # type: ignore[type-var]
        except (NoProgress, BadNumber, ArithmeticError):
            return None

    found = [Sway(said, at(name, 0.5), at(name, 2.0)) for name, said in names.items()]
    return sorted(found, key=lambda sway: -sway.span)


def _moved(question: Any, name: str, factor: float) -> float:
    value = float(getattr(question, name)) * factor
    is_share = next(f for f in fields(question) if f.name == name).metadata.get("share", False)
    return min(1.0, value) if is_share else value


def tell(make: Callable[[], Answer], as_json: bool, plot: str) -> None:
    """Print one document or a few tables; a plot first, so that a refusal leaves stdout empty."""
    try:
        answer = make()
    except (NoProgress, BadNumber) as error:
        raise Refusal(str(error)) from None
    except ArithmeticError:
        raise Refusal("these inputs are too large or too small together: nothing can be computed from them") from None
    picture = _drawn(answer, as_json, plot) if plot else ""
    if as_json:
        typer.echo(json.dumps(answer.document()))
    else:
        _print(answer)
    if picture:
        typer.echo("\n" + picture)


def _drawn(answer: Answer, as_json: bool, plot: str) -> str:
    """Writes the file, or returns what is to be shown on the terminal."""
    if plot != HERE:
        from holdfast.cli import plan_plot

        plan_plot.write(answer.chart(), plot)
        return ""
    if as_json:
        raise Refusal("--plot -: expected a file with --json, for its document stands alone on stdout")
    from holdfast.cli import plan_terminal

    plan_terminal.refuse_poor_terminal()
    return plan_terminal.picture(answer.chart())


def _print(answer: Answer) -> None:
    from holdfast.cli.table import console, table

    out = console()
    out.print(answer.headline, style="bold", markup=False, soft_wrap=True)
    out.print()
    results = table("result", "")
    for figure in answer.figures:
        if figure.name:
            results.add_row(figure.name, figure.shown)
    out.print(results)
    if answer.sways:
        out.print()
        matters = table(f"what matters most for {answer.swayed}", "if halved", "if doubled")
        for sway in answer.sways:
            matters.add_row(sway.name, _sway(answer, sway.halved), _sway(answer, sway.doubled))
        out.print(matters)
    out.print()
    rests = table("it rests on", "value", "why")
    for given in answer.inputs:
        rests.add_row(f"--{given.name}", given.shown, given.source)
    out.print(rests)
    for note in answer.notes:
        out.print(f"\nNote: {note}", markup=False, soft_wrap=True)


def _sway(answer: Answer, value: float | None) -> str:
    return "no progress" if value is None else answer.show(value)


def _finite(value: Any) -> Any:
    """JSON knows no infinity: null, and the figure's words say why."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value


def time(seconds: float) -> str:
    """As people say it: 3.9 min, 7.7 h."""
    if not isfinite(seconds):
        return "never"
    for size, unit in _TIMES:
        if seconds >= 2 * size or (unit == "s"):
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def percent(value: float) -> str:
    """With as many digits as the distance from 0 or 1 needs."""
    if 0 < value < 1 and (value > 0.9995 or value < 0.0005):
        return f"{value:.4%}" if 1e-6 < value < 1 - 1e-6 else ("almost 100 %" if value > 0.5 else "almost 0 %")
    return f"{value:.1%}" if value > 0.2 else f"{value:.2%}"


def count(value: float) -> str:
    if not isfinite(value):
        return "no limit"
    return f"{value:,.0f}" if 10 <= value < 1e9 else f"{value:.3g}"


def bandwidth(bytes_per_second: float) -> str:
    for size, unit in ((1e15, "PB/s"), (1e12, "TB/s"), (1e9, "GB/s")):
        if bytes_per_second >= size:
            return f"{bytes_per_second / size:.3g} {unit}"
    return f"{bytes_per_second / 1e6:.3g} MB/s"


def money(value: float) -> str:
    return f"${value:,.2f}" if abs(value) < 100 else f"${value:,.0f}"
