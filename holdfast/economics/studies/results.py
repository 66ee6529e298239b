"""Results of replicas: headline, document, comparison and chart."""

from collections.abc import Callable
from typing import Any

from holdfast.economics.planning.chart import ChartLine, PlanChart
from holdfast.economics.planning.formatting import percent
from holdfast.economics.simulation.estimate import Estimate, difference, estimate
from holdfast.economics.studies.replicas import Results
from holdfast.economics.studies.sense import doubts
from holdfast.model.refusal import Refusal

COMPARED = ("productive", "ettr", "interruptions", "nodes_out_mean", "repairs", "quarantines", "held_by_breaker")


def headline(results: Results) -> str:
    scenario, ettr, times = results.setting.parsed().scenario, results.figure("ettr"), results.figure("interruptions")
    return (
        f"{scenario.title}: {percent(ettr.mean)} of the jobs' time is productive{between(ettr, share)},"
        f" with {times.mean:,.4g} interruptions{between(times, number)} in {scenario.cluster.days:g} days."
    )


def number(value: float) -> str:
    return f"{value:,.4g}"


def share(value: float) -> str:
    """A share with its interval, clipped to 0 and 1."""
    return percent(min(1.0, max(0.0, value)))


def between(one: Estimate, show: Any) -> str:
    return f" (95 %: {show(one.low)} to {show(one.high)})" if one.replicas > 1 else ""


def document(results: Results) -> dict[str, Any]:
    parsed = results.setting.parsed()
    paid = parsed.scenario.cluster.gpus * parsed.scenario.cluster.seconds / 3600
    found: dict[str, Any] = {
        "simulation": parsed.scenario.title,
        "headline": headline(results),
        "model": "per device, with the real lifecycle",
        "replicas": len(results.outcomes),
        "paid_gpu_hours": paid,
        "ledger": {part: results.share(part).document() for part in results.outcomes[0].ledger.parts()},
        **{name: results.figure(name).document() for name in results.figures if name != "productive"},
        "events": sum(outcome.events for outcome in results.outcomes),
        "reported": list(parsed.reported),
        "notes": doubts(parsed.scenario),
        "assumptions": list(parsed.scenario.assumptions),
        "changes": dict(results.setting.changes),
    }
    if parsed.price:
        found["price_per_productive_gpu_hour"] = effective_price(results)
    return found


def effective_price(results: Results) -> float | None:
    """Price per productive hour; None without productive time."""
    productive = results.share("productive").mean
    return results.setting.parsed().price / productive if productive else None


def chart(results: Results) -> PlanChart:
    """The mean and its interval over the number of replicas."""
    values = results.values("ettr")
    known = [estimate(values[:number]) for number in range(2, len(values) + 1)]
    if not known:
        raise Refusal("--plot: expected 2 replicas or more")
    names: dict[str, Callable[[Estimate], float]] = {
        "mean": lambda one: one.mean,
        "95 % low": lambda one: one.low,
        "95 % high": lambda one: one.high,
    }
    return PlanChart(
        title=f"{results.setting.parsed().scenario.title}: mean and interval over the number of replicas",
        across="replicas",
        up="productive share of the jobs' time",
        lines=tuple(
            ChartLine(name, tuple((float(one.replicas), min(1.0, max(0.0, of(one)))) for one in known))
            for name, of in names.items()
        ),
    )


def verdict(first: Results, second: Results) -> str:
    """Whether the second setting is better, with the significance."""
    found = difference(first.values("productive"), second.values("productive"))
    name, pairs = second.setting.parsed().scenario.title, len(first.outcomes)
    if found.by.mean == 0 and found.p == 1:
        return f"{name} makes no difference at all to the productive share in {pairs} pairs of replicas."
    how, sign = ("more", 1) if found.by.mean > 0 else ("less", -1)
    low, high = sorted((sign * found.by.low * 100, sign * found.by.high * 100))
    by = f"{abs(found.by.mean) * 100:.3g} points (95 %: {low:.3g} to {high:.3g})"
    chance = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    rng = f"{pairs} pairs of replicas with the same random events"
    if not found.significant:
        return f"No difference can be shown: {name} has {by} {how} productive time, {chance}, {rng}."
    return f"{name} has {by} {how} productive time: significant, {chance}, {rng}."


def comparison(first: Results, second: Results) -> dict[str, Any]:
    return {
        "verdict": verdict(first, second),
        "first": document(first),
        "second": document(second),
        "differences": {name: _difference(first, second, name) for name in COMPARED},
    }


def _difference(first: Results, second: Results, name: str) -> dict[str, Any]:
    found = difference(first.values(name), second.values(name))
    return {**found.by.document(), "p": found.p, "significant": found.significant, "replicas_saved_factor": found.saved}
