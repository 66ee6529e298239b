"""Hazards of a scenario file."""

from holdfast.catalog.economics import public_rates
from holdfast.economics.costs.survival import DAYS_PER_YEAR, rate_from_probability
from holdfast.economics.simulation.scenario import Effect, Hazard, SimulatedDomain
from holdfast.economics.simulation.spread import fixed
from holdfast.economics.studies.scenario_table import ScenarioTable as Table

MOST_RATE = 3_650.0  # ten failures of one unit every day
DEFAULT_SWAP = 0.3


def hazards(tables: list[Table]) -> tuple[Hazard, ...]:
    made: list[Hazard] = []
    for table in tables:
        found = _hazard(table)
        if any(found.name == other.name for other in made):
            raise table.wrong("name", f"another hazard is called {found.name!r} already")
        made.append(found)
    return tuple(made)


def _hazard(table: Table) -> Hazard:
    rate, events = _rate(table)
    effect = Effect(table.text("effect", "crash", [one.value for one in Effect]))
    on = SimulatedDomain(table.text("on", "gpu", [one.value for one in SimulatedDomain]))
    made = Hazard(
        name=table.name(),
        rate=rate,
        rate_events=events,
        on=on,
        effect=effect,
        shape=table.number("shape", 1.0, 0.05, 20.0),
        age_years=table.number("age_years", 0.0, 0.0, 100.0),
        repeat_offender_share=table.share("repeat_offender_share"),
        repeat_offender_times=table.number("repeat_offender_times", 1.0, 1.0, 1e6),
        batch_share=table.share("batch_share"),
        batch_times=table.number("batch_times", 1.0, 1.0, 1e6),
        swap=table.share("swap", DEFAULT_SWAP),
        takes_node=table.yes("takes_node", True),
        part=table.text("part", ""),
        speed=table.number("speed", 0.8, 0.01, 1.0),
        lasts=table.spread("lasts"),
        noticed=table.spread("noticed") or fixed(0.0),
    )
    table.done()
    worst = made.rate * made.repeat_offender_times * made.batch_times
    if worst > MOST_RATE:
        raise table.wrong(
            "repeat_offender_times" if made.repeat_offender_times > 1 else "batch_times",
            f"the worst units would fail {worst:.4g} times a year; expected at most {MOST_RATE:g}, ten times a day",
        )
    return made


def _rate(table: Table) -> tuple[float, float]:
    """A rate by name, as a number, or from own counts. Each replica draws from the uncertainty of counts."""
    if "events" in table or "unit_years" in table:
        events = table.number("events", None, 0, 1e9)
        return max(events, 0.5) / table.number("unit_years", None, 1e-9, 1e12), max(events, 0.5)
    value = table.raw("rate")
    if isinstance(value, str):
        known = public_rates().get(value)
        if known is None:
            raise table.wrong("rate", f"expected one of {', '.join(public_rates())} or a number, found {value!r}")
        if known.events is not None and known.gpu_days is not None:
            return known.events * DAYS_PER_YEAR / known.gpu_days, float(known.events)
        return (rate_from_probability(known.per_gpu_year) if known.probability else known.per_gpu_year), 0.0
    return table.number("rate", None, 0.0, MOST_RATE), 0.0
