"""What a simulation came to, for people and as a document."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.cli.shared.table import console, table
from holdfast.economics.planning.words import money, percent
from holdfast.economics.simulation.estimate import Difference, Estimate, difference, estimate
from holdfast.economics.studies.replicas import Results
from holdfast.economics.studies.sense import doubts
from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    from holdfast.economics.planning.chart import Chart

WORDS = {
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
    "preemptions": "jobs that made room",
}
SHARES = ("productive", "ettr")


def headline(results: Results) -> str:
    scenario, ettr, times = results.setting.told().scenario, results.figure("ettr"), results.figure("interruptions")
    return (
        f"{scenario.title}: {percent(ettr.mean)} of the jobs' time is productive{between(ettr, share)},"
        f" with {times.mean:,.4g} interruptions{between(times, number)} in {scenario.cluster.days:g} days."
    )


def number(value: float) -> str:
    return f"{value:,.4g}"


def share(value: float) -> str:
    """An interval by Student may reach beyond what a share can be."""
    return percent(min(1.0, max(0.0, value)))


def between(one: Estimate, show: Any) -> str:
    return f" (95 %: {show(one.low)} to {show(one.high)})" if one.replicas > 1 else ""


def document(results: Results) -> dict[str, Any]:
    told = results.setting.told()
    paid = told.scenario.cluster.gpus * told.scenario.cluster.seconds / 3600
    found: dict[str, Any] = {
        "simulation": told.scenario.title,
        "headline": headline(results),
        "model": "per device, with the real lifecycle",
        "replicas": len(results.outcomes),
        "paid_gpu_hours": paid,
        "ledger": {part: results.share(part).document() for part in results.outcomes[0].ledger.parts()},
        **{name: results.figure(name).document() for name in results.figures if name != "productive"},
        "events": sum(outcome.events for outcome in results.outcomes),
        "reported": list(told.reported),
        "notes": doubts(told.scenario),
        "assumptions": list(told.scenario.assumptions),
        "changes": dict(results.setting.changes),
    }
    if told.price:
        found["price_per_productive_gpu_hour"] = _effective(results)
    return found


def _effective(results: Results) -> float | None:
    """None where nothing was productive."""
    productive = results.share("productive").mean
    return results.setting.told().price / productive if productive else None


def show(results: Results) -> None:
    out, told = console(), results.setting.told()
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
                WORDS.get(name, name.replace("_", " ").replace("/", " of ")), shown(one.mean), _range(one, shown)
            )
    out.print(figures)
    if told.price:
        price = _effective(results)
        each = "buys no productive one" if price is None else f"is {money(price)} per productive one"
        out.print(f"\n{money(told.price)} per paid GPU-hour {each}.", markup=False)
    _rests_on(results)


def _rests_on(results: Results) -> None:
    out, scenario = console(), results.setting.told().scenario
    out.print(
        f"\n{len(results.outcomes)} replicas of {scenario.cluster.gpus:,} GPUs for {scenario.cluster.days:g} days,"
        " device by device, with the real lifecycle; intervals are of the mean.",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    for sentence in results.setting.told().reported:
        out.print(f"Reported: {sentence}", markup=False, soft_wrap=True)
    for sentence in doubts(scenario):
        out.print(f"Note: {sentence}", markup=False, soft_wrap=True)
    for sentence in scenario.assumptions:
        out.print(f"Assumed: {sentence}", markup=False, soft_wrap=True)


def _range(one: Estimate, shown: Any) -> str:
    return f"{shown(one.low)} to {shown(one.high)}" if one.replicas > 1 else "one replica has none"


def chart(results: Results) -> "Chart":
    """How the mean settles as replicas are added, between its limits."""
    from holdfast.economics.planning.chart import Chart, Line

    values = results.values("ettr")
    known = [estimate(values[:number]) for number in range(2, len(values) + 1)]
    if not known:
        raise Refusal("--plot: expected 2 replicas or more")
    names: dict[str, Callable[[Estimate], float]] = {
        "mean": lambda one: one.mean,
        "95 % low": lambda one: one.low,
        "95 % high": lambda one: one.high,
    }
    return Chart(
        title=f"{results.setting.told().scenario.title}: what is known after so many replicas",
        across="replicas",
        up="productive share of the jobs' time",
        lines=tuple(
            Line(name, tuple((float(one.replicas), min(1.0, max(0.0, of(one)))) for one in known))
            for name, of in names.items()
        ),
    )


COMPARED = ("productive", "ettr", "interruptions", "nodes_out_mean", "repairs", "quarantines", "held_by_breaker")


def verdict(first: Results, second: Results) -> str:
    """Whether the second is better, and how sure that is."""
    found = difference(first.values("productive"), second.values("productive"))
    name, pairs = second.setting.told().scenario.title, len(first.outcomes)
    if found.by.mean == 0 and found.p == 1:
        return f"{name} makes no difference at all to the productive share in {pairs} pairs of replicas."
    how, sign = ("more", 1) if found.by.mean > 0 else ("less", -1)
    low, high = sorted((sign * found.by.low * 100, sign * found.by.high * 100))
    by = f"{abs(found.by.mean) * 100:.3g} points (95 %: {low:.3g} to {high:.3g})"
    chance = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    luck = f"{pairs} pairs of replicas with the same luck"
    if not found.significant:
        return f"No difference can be told: {name} has {by} {how} productive time, {chance}, {luck}."
    return f"{name} has {by} {how} productive time: significant, {chance}, {luck}."


def comparison(first: Results, second: Results) -> dict[str, Any]:
    return {
        "verdict": verdict(first, second),
        "first": document(first),
        "second": document(second),
        "differences": {name: _difference(first, second, name) for name in COMPARED},
    }


def _difference(first: Results, second: Results, name: str) -> dict[str, Any]:
    found: Difference = difference(first.values(name), second.values(name))
    return {**found.by.document(), "p": found.p, "significant": found.significant, "replicas_saved_factor": found.saved}


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
            WORDS.get(name, "productive share of what is paid"), shown(means[0]), shown(means[1]),
            shown(found.by.mean), _range(found.by, shown), f"{found.p:.3f}",
        )  # fmt: skip
    out.print(rows)
    saved = difference(first.values("productive"), second.values("productive")).saved
    out.print(f"\nWithout the same luck it would take {saved:.3g} times as many replicas to know this as well.")
    _rests_on(second)
