"""Prints drills: the score table, one drill in full, the confusion matrix."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.cli.shared.table import console, count, plain, table
from holdfast.config.quantities import lasting
from holdfast.lab.drills.batch import summary
from holdfast.lab.drills.confusion import wilson

if TYPE_CHECKING:
    from holdfast.lab.drills.drill import Drill

Outcome = dict[str, Any]


def listing(drills: "Sequence[Drill]") -> None:
    rows = table("drill", "what is wrong", "looks like", "")
    for drill in drills:
        kinds = ", ".join(fault.kind for fault in drill.faults) or "nothing"
        rows.add_row(drill.name, kinds, drill.pair, plain(drill.title))
    console().print(rows)


def summary_text(of: dict[str, Any]) -> str:
    """The summary in two sentences."""
    lines = []
    if of["faulty"]:
        share = of["top1"] / of["faulty"]
        lines.append(
            f"First cause right in {of['top1']} of {of['faulty']} ({100 * share:.1f} %; 95 %:"
            f" {100 * of['top1_low']:.1f} % to {100 * of['top1_high']:.1f} %), among the first three in {of['top3']};"
            f" median detection {lasting_or_never(of['median_detect_seconds'])} after the first visible symptom."
        )
    if of["calm"]:
        lines.append(
            f"False findings in {of['calm_with_false_findings']} of {of['calm']} calm ones"
            f" (at most {100 * of['calm_false_upper_bound']:.1f} % with 95 %)."
        )
    return " ".join(lines)


def wide_text(of: dict[str, Any]) -> str:
    def share(part: int, whole: int) -> str:
        return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "0 of 0"

    return (
        f"First cause right in {share(of['top1'], of['faulty'])} documented faults; silent in"
        f" {share(of['calm_silent'], of['calm'])} calm or planned hours; a slowdown without a documented cause named as"
        f" one in {share(of['undocumented_right'], of['undocumented'])}; confidently wrong (80 % or more) in"
        f" {share(of['confidently_wrong'], of['draws'])} draws; {of['false_findings']} false findings in all."
    )


def scores(outcomes: Sequence[Outcome]) -> None:
    rows = table("drill", "truth", "found first", "top 1", "top 3", "detected after", "before alert", "false", "cost")
    for one in outcomes:
        score = one["score"]
        rows.add_row(
            one["drill"], _named(one["truth"]), _named(one["findings"][:1]), _yes(score["top1"]), _yes(score["top3"]),
            lasting_or_never(score["detect_seconds"]) if one["truth"] else "",
            "" if score["before_alert"] is None else _yes(score["before_alert"]),
            str(score["false_findings"] or ""), f"{one['cost']['total']:,.0f} USD" if one["cost"]["total"] else "",
        )  # fmt: skip
    out = console()
    out.print(rows)
    out.print()
    out.print(summary_text(summary(outcomes)), markup=False, soft_wrap=True)


def one(outcome: Outcome) -> None:
    out = console()
    score = outcome["score"]
    out.print(f"[bold]{plain(outcome['title'])}[/] (seed {outcome['seed']})")
    for truth in outcome["truth"]:
        seen = truth["visible_seconds"]
        when = "never visible" if seen is None else f"visible from {minute(seen)}"
        out.print(f"  truth    {truth['kind']} at {truth['cause']}, from {minute(truth['start_seconds'])}, {when}")
    if not outcome["truth"]:
        out.print("  truth    nothing is wrong")
    for finding in outcome["findings"]:
        at, sure = minute(finding["at_seconds"]), f"{100 * finding['confidence']:.0f} %"
        out.print(f"  found    {finding['kind']} at {finding['cause']}, {at}, {sure} sure")
        for line in finding["path"][:3]:
            out.print(f"           {line}", markup=False, soft_wrap=True)
    if not outcome["findings"]:
        out.print("  found    nothing")
    alert = score["first_alert_seconds"]
    first = f"; the first alert of a component alone at {minute(alert)}" if alert is not None else ""
    detected = f", {lasting_or_never(score['detect_seconds'])} after it could be seen" if outcome["truth"] else ""
    verdict = "right" if score["top1"] else "wrong"
    out.print(f"  score    {verdict}{detected}, {count(score['false_findings'], 'false finding')}{first}")
    bill(outcome["cost"])


def bill(cost: dict[str, Any]) -> None:
    out = console()
    if not cost["layers"]:
        out.print("  cost     nothing")
        return
    out.print(f"  cost     {cost['total']:,.0f} USD, {cost['lost_gpu_hours']:g} GPU-hours lost")
    for layer in cost["layers"]:
        amount = "no value given" if layer["cost"] is None else f"{layer['cost']:,.0f} USD"
        out.print(f"           {layer['name']:18} {amount:>10}   {layer['inputs']}", markup=False, soft_wrap=True)


def confusion(rows: dict[str, dict[str, int]]) -> None:
    """One line per kind with the kinds it was mistaken for: a 30 x 30 matrix does not fit a terminal."""
    shown = table("truth", "drills", "right", "95 %", "taken for")
    for truth, taken in rows.items():
        of = sum(taken.values())
        right = taken.get(truth, 0)
        low, high = wilson(right, of)
        wrong = ", ".join(f"{name} {many}" for name, many in sorted(taken.items(), key=lambda one: -one[1])
                          if name != truth)  # fmt: skip
        shown.add_row(truth, str(of), f"{100 * (right / of):.0f} %", f"{100 * low:.0f} % to {100 * high:.0f} %", wrong)
    console().print(shown)


def reliability(bands: Sequence[Outcome]) -> None:
    """How often findings of a stated confidence were right."""
    rows = table("confidence", "findings", "mean", "were right", "95 %")
    for one in bands:
        rows.add_row(
            f"{one['from']:.2f} to {one['to']:.2f}", str(one["findings"]), f"{100 * one['mean_confidence']:.1f} %",
            f"{100 * (one['right'] / one['findings']):.1f} %",
            f"{100 * one['right_low']:.0f} % to {100 * one['right_high']:.0f} %",
        )  # fmt: skip
    console().print()
    console().print(rows)


def misses(outcomes: Sequence[Outcome]) -> None:
    """The drills that were judged wrong."""
    if not outcomes:
        return
    rows = table("missed", "truth", "found")
    for one in outcomes[:20]:
        rows.add_row(one["drill"], _named(one["truth"]), _named(one["findings"][:4]))
    console().print()
    console().print(rows)


def lasting_or_never(seconds: float | None) -> str:
    return "never" if seconds is None else lasting(seconds) if seconds >= 1 else "0 s"


def minute(seconds: float) -> str:
    return f"minute {seconds / 60:g}" if seconds % 60 == 0 else f"minute {seconds / 60:.1f}"


def _named(found: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{one['kind']} {one['cause']}" for one in found) or "nothing"


def _yes(right: bool) -> str:
    return "[green]yes[/]" if right else "[bold red]no[/]"
