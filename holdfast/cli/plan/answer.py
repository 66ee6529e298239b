"""Telling a plan's answer: a few tables for people, one document as JSON, a plot where one is wished."""

import json
from collections.abc import Callable

import typer

from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.planning.answer import Answer
from holdfast.model.refusal import Refusal

HERE = "-"  # a plot on the terminal


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
        from holdfast.economics.reports import plot as plan_plot

        plan_plot.write(answer.chart(), plot)
        return ""
    if as_json:
        raise Refusal("--plot -: expected a file with --json, for its document stands alone on stdout")
    from holdfast.cli.plan import terminal as plan_terminal

    plan_terminal.refuse_poor_terminal()
    return plan_terminal.picture(answer.chart())


def _print(answer: Answer) -> None:
    from holdfast.cli.shared.table import console, table

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
