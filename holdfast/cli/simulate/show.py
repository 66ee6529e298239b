"""Prints simulation results."""

from typing import Any

import typer

from holdfast.cli.shared.table import console, table
from holdfast.economics.planning.formatting import money, percent
from holdfast.economics.simulation.estimate import Estimate, difference
from holdfast.economics.studies.replicas import Results
from holdfast.economics.studies.results import COMPARED, effective_price, headline, number, share, verdict
from holdfast.economics.studies.sense import doubts
from holdfast.economics.studies.sweep import best_of, changes_text

NAMES = {
    "ettr": "productive share of the jobs' own time (ETTR)",
    "interruptions": "interruptions of jobs",
    "interruptions_in_restart": "of them while a job was starting",
    "planned_stops": "planned stops",
    "failures": "failures of units in service",
    "quarantines": "nodes quarantined",
    "repairs": "repairs by people",
    "held_by_breaker": "failures held by the breaker",
    "missed_by_test": "broken nodes that passed their test",
    "nodes_out_mean": "nodes out of service, mean",
    "preemptions": "jobs that were preempted",
}
SHARES = ("productive", "ettr")


def show(results: Results) -> None:
    out, scenario_file = console(), results.setting.parsed()
    out.print(headline(results), style="bold", markup=False, soft_wrap=True)
    out.print()
    ledger = table("where the paid time goes", "share", "95 %", "GPU-hours")
    for part in results.parts:
        of_paid = results.share(part)
        ledger.add_row(part, percent(of_paid.mean), _range(of_paid, share), f"{results.gpu_hours(part).mean:,.0f}")
    out.print(ledger)
    out.print()
    figures = table("figure", "mean", "95 %")
    for name in results.figures:
        one = results.figure(name)
        if name != "productive" and (one.mean or name in ("ettr", "interruptions")):
            shown = share if name in SHARES else number
            figures.add_row(
                NAMES.get(name, name.replace("_", " ").replace("/", " of ")), shown(one.mean), _range(one, shown)
            )
    out.print(figures)
    if scenario_file.price:
        price = effective_price(results)
        each = "buys no productive one" if price is None else f"is {money(price)} per productive one"
        out.print(f"\n{money(scenario_file.price)} per paid GPU-hour {each}.", markup=False)
    _rests_on(results)


def _rests_on(results: Results) -> None:
    out, scenario = console(), results.setting.parsed().scenario
    out.print(
        f"\n{len(results.outcomes)} replicas of {scenario.cluster.gpus:,} GPUs for {scenario.cluster.days:g} days,"
        " device by device, with the real lifecycle; intervals are of the mean.",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    for sentence in results.setting.parsed().reported:
        out.print(f"Reported: {sentence}", markup=False, soft_wrap=True)
    for sentence in doubts(scenario):
        out.print(f"Note: {sentence}", markup=False, soft_wrap=True)
    for sentence in scenario.assumptions:
        out.print(f"Assumed: {sentence}", markup=False, soft_wrap=True)


def _range(one: Estimate, shown: Any) -> str:
    return f"{shown(one.low)} to {shown(one.high)}" if one.replicas > 1 else "one replica has none"


def show_comparison(first: Results, second: Results) -> None:
    out = console()
    out.print(verdict(first, second), style="bold", markup=False, soft_wrap=True)
    out.print()
    rows = table("figure", "first", "second", "second less first", "95 %", "p")
    for name in COMPARED:
        found = difference(first.values(name), second.values(name))
        shown = (lambda value: f"{value * 100:.4g} %") if name in SHARES else number
        means = (first.figure(name).mean, second.figure(name).mean)
        rows.add_row(
            NAMES.get(name, "productive share of paid time"), shown(means[0]), shown(means[1]),
            shown(found.by.mean), _range(found.by, shown), f"{found.p:.3f}",
        )  # fmt: skip
    out.print(rows)
    saved = difference(first.values("productive"), second.values("productive")).saved
    out.print(
        f"\nWithout the same random events it would take {saved:.3g} times as many replicas to know this as well."
    )
    _rests_on(second)


def show_sweep(swept: list[Results]) -> None:
    out = console()
    best, sentence = best_of(swept)
    out.print(sentence, style="bold", markup=False, soft_wrap=True)
    out.print()
    keys = [changes_text(((key, ""),)).rstrip("=") for key, _ in swept[0].setting.changes]
    rows = table(*keys, "productive", "95 %", "ETTR", "waiting", "idle", "")
    for one in swept:
        productive = one.figure("productive")
        rows.add_row(
            *(str(value) for _, value in one.setting.changes), percent(productive.mean),
            f"{share(productive.low)} to {share(productive.high)}" if productive.replicas > 1 else "",
            percent(one.figure("ettr").mean), percent(one.share("waiting").mean), percent(one.share("idle").mean),
            "best" if one is best else "",
        )  # fmt: skip
    out.print(rows)
    out.print(f"\n{len(swept[0].outcomes)} replicas each, all with the same random events.")


def show_aggregated(found: dict[str, Any]) -> None:
    typer.echo(found["headline"])
    typer.echo(f"This model is coarser than the one without --aggregated. Left out: {', '.join(found['left_out'])}.")
    for part, of_paid in found["ledger"].items():
        if of_paid["mean"]:
            typer.echo(f"  {part:<11}{percent(of_paid['mean'])}")
    expected = found["closed_form_ettr"]
    if expected is not None:
        gap = abs(found["ettr"]["mean"] / expected - 1)
        typer.echo(f"The closed form with the mean restart time gives {percent(expected)}: {100 * gap:.2f} % apart.")
