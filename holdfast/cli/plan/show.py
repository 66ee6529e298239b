"""Prints a plan as tables, a chart or one JSON document."""

import json
from collections.abc import Callable

import typer

from holdfast.cli.shared.terminal_chart import draw
from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.model.refusal import Refusal


def show(make: Callable[[], PlanAnswer], as_json: bool, plot: str) -> None:
    """Print one document or a few tables; a plot first, so that a refusal leaves stdout empty."""
    try:
        answer = make()
    except (NoProgress, BadNumber) as error:
        raise Refusal(str(error)) from None
    except ArithmeticError:
        raise Refusal("these inputs are too large or too small together: nothing can be computed from them") from None
    picture = draw(answer.chart, plot, as_json) if plot else ""
    if as_json:
        typer.echo(json.dumps(answer.document()))
    else:
        _print(answer)
    if picture:
        typer.echo("\n" + picture)


def _print(answer: PlanAnswer) -> None:
    from holdfast.cli.shared.table import console, table

    out = console()
    out.print(answer.headline, style="bold", markup=False, soft_wrap=True)
    out.print()
    results = table("result", "")
    for figure in answer.figures:
        if figure.name:
            results.add_row(figure.name, figure.shown)
    out.print(results)
    if answer.sensitivities:
        out.print()
        matters = table(f"what matters most for {answer.sensitivity_of}", "if halved", "if doubled")
        for sensitivity in answer.sensitivities:
            matters.add_row(
                sensitivity.name, _sensitivity(answer, sensitivity.halved), _sensitivity(answer, sensitivity.doubled)
            )
        out.print(matters)
    out.print()
    rests = table("it rests on", "value", "why")
    for given in answer.inputs:
        rests.add_row(f"--{given.name}", given.shown, given.source)
    out.print(rests)
    for note in answer.notes:
        out.print(f"\nNote: {note}", markup=False, soft_wrap=True)


def _sensitivity(answer: PlanAnswer, value: float | None) -> str:
    return "no progress" if value is None else answer.show(value)
