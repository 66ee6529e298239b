"""Cost of one incident in five layers."""

from dataclasses import dataclass, fields, replace
from math import inf

from holdfast.catalog.economics import gpu_prices, wage
from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.incident import IncidentLoss, layers, total
from holdfast.economics.planning.answer import Figure, PlanAnswer, sensitivities
from holdfast.economics.planning.chart import ChartLine, PlanChart
from holdfast.economics.planning.formatting import count, money
from holdfast.economics.planning.inputs import MOST_DAYS, MOST_MACHINES, PlanInputs

MOST_PRICE = 1e6  # per hour of a GPU or a person
MOST_PEOPLE, MOST_VALUE = 1e6, 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class CostQuestion:
    """The options, as the user gave them."""

    gpus: str | None
    price: str | None
    detect: str | None
    diagnose: str | None
    restore: str | None
    rework: str | None
    slow: str | None
    slow_for: str | None
    blast: str | None
    repair: str | None
    alternative: str | None
    queued: str | None
    people: str | None
    hours: str | None
    wage: str | None
    day_value: str | None
    float_days: str | None
    critical: str | None


def answer(inputs: PlanInputs, wanted: CostQuestion) -> PlanAnswer:
    incident = _incident(inputs, wanted)
    five = layers(incident)
    whole = total(five)
    share_of_run = incident.lost_gpu_hours / (24 * incident.gpus)
    figures = [
        Figure("total", whole, "together", money(whole) + ("" if five[-1].cost is not None else " without the slip")),
        *(
            Figure(f"{layer.name.replace(' ', '_')}", layer.cost, layer.name, _layer(layer.cost, layer.inputs))
            for layer in five
        ),
        Figure("lost_gpu_hours", incident.lost_gpu_hours, "progress lost", f"{incident.lost_gpu_hours:,.0f} GPU-hours"),
        Figure("lost_cluster_days", share_of_run, "  as days of this job", f"{share_of_run:.3f} d"),
        Figure("formulas", {layer.name: layer.formula for layer in five}),
    ]
    notes = ["reserved capacity counts only the higher price of another use: the paid hours are in the first layer"]
    if five[-1].cost is None:
        notes.append("schedule slip needs --day-value: there is no published value of a day")
    notes += _half_given(wanted)
    movable = [f.name for f in fields(incident) if isinstance(getattr(incident, f.name), float)]
    present = {name: name.replace("_", " ") for name in movable if getattr(incident, name) > 0 and name not in _SHARES}
    return PlanAnswer(
        plan="cost",
        headline=f"This incident cost {money(whole)} and {incident.lost_gpu_hours:,.0f} GPU-hours of progress.",
        figures=figures,
        inputs=inputs.given,
        sensitivities=[s for s in sensitivities(incident, lambda i: total(layers(i)), present) if s.span > 0],
        sensitivity_of="the total",
        show=money,
        notes=notes,
        chart=lambda: _chart(incident),
    )


PAIRS = (("slow", "slow_for"), ("blast", "repair"), ("alternative", "queued"), ("people", "hours"))


def _half_given(wanted: CostQuestion) -> list[str]:
    """Names of values that are given without their factor."""
    alone = [
        (one, other)
        for pair in PAIRS
        for one, other in (pair, pair[::-1])
        if getattr(wanted, one) is not None and getattr(wanted, other) is None
    ]
    if wanted.day_value is None:
        alone += [(one, "day_value") for one in ("float_days", "critical") if getattr(wanted, one) is not None]
    return [f"--{one} changes nothing without --{other}".replace("_", "-") for one, other in alone]


def _chart(incident: IncidentLoss) -> PlanChart:
    """The total over the time to detection: the value of quick detection."""
    most = max(1.0, 4 * incident.detect_hours)
    points = []
    for step in range(41):
        hours = most * step / 40
        points.append((hours * 60, total(layers(replace(incident, detect_hours=hours)))))
    mark = (incident.detect_hours * 60, total(layers(incident)))
    line = ChartLine("total", tuple(points))
    return PlanChart("Cost by time to detection", "minutes until it was noticed", "dollars", (line,), False, mark)


_SHARES = ("slow_share", "queued_chance", "critical_chance")


def _layer(cost: float | None, inputs: str) -> str:
    return f"{'not in the total' if cost is None else money(cost)}   = {inputs}"


def _incident(inputs: PlanInputs, wanted: CostQuestion) -> IncidentLoss:
    def hours(name: str, text: str | None, default: str = "0s", why: str = "not given") -> float:
        return inputs.duration(name, text, default, why) / 3600

    paid, price_source = wage()
    value = (
        None
        if wanted.day_value is None
        else inputs.number("day-value", wanted.day_value, "dollars per day", most=MOST_VALUE)
    )
    return IncidentLoss(
        gpus=inputs.machines("gpus", wanted.gpus),
        price=price(inputs, wanted.price),
        detect_hours=hours("detect", wanted.detect, "10m", "PyTorch's watchdog"),
        diagnose_hours=hours("diagnose", wanted.diagnose),
        restore_hours=hours("restore", wanted.restore),
        rework_hours=hours("rework", wanted.rework, "30m", "half of an hourly interval"),
        slow_share=inputs.share("slow", wanted.slow, "0", "not given"),
        slow_hours=hours("slow-for", wanted.slow_for),
        blast_gpus=inputs.number("blast", wanted.blast, "GPUs", "0", "not given", MOST_MACHINES),
        repair_hours=hours("repair", wanted.repair),
        alternative_price=inputs.number(
            "alternative", wanted.alternative, "dollars per GPU-hour", "0", "not given", MOST_PRICE
        ),
        queued_chance=inputs.share("queued", wanted.queued, "0", "not given"),
        people=inputs.number("people", wanted.people, "people", "0", "not given", MOST_PEOPLE),
        people_hours=hours("hours", wanted.hours),
        wage=inputs.number("wage", wanted.wage, "dollars per hour", f"{paid:g}", price_source, MOST_PRICE),
        day_value=value,
        float_days=inputs.number("float-days", wanted.float_days, "days", "0", "no slack in the schedule", MOST_DAYS),
        critical_chance=inputs.share("critical", wanted.critical, "1", "the run is on the critical path"),
    )


def price(inputs: PlanInputs, text: str | None) -> float:
    """A number, or the catalog's price of a GPU by name."""
    known = gpu_prices().get(text or "")
    if known is not None:
        inputs.note(
            "price",
            known.per_hour,
            "dollars per GPU-hour",
            f"{known.name} {count(known.per_hour)}",
            f"{known.date}: {known.source}",
        )
        return known.per_hour
    wanted = (
        f"expected dollars per GPU-hour, above 0 and at most {MOST_PRICE:,.0f}, or one of {', '.join(gpu_prices())}"
    )
    if text is None:
        raise BadNumber(f"--price is missing: {wanted}")
    try:
        value = inputs.number("price", text, "dollars per GPU-hour")
    except BadNumber:
        value = inf
    if not 0 < value <= MOST_PRICE:
        raise BadNumber(f"--price: {wanted}; found {text!r}")
    return value
