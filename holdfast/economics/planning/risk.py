"""The probability that a run has a failure."""

from dataclasses import dataclass
from math import inf

from holdfast.catalog.economics import public_rates
from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.gamma import poisson_quantile
from holdfast.economics.costs.survival import DAYS_PER_YEAR, YEAR_SECONDS, Weibull
from holdfast.economics.planning.answer import Figure, PlanAnswer, sensitivities
from holdfast.economics.planning.chart import ChartLine, PlanChart, spaced
from holdfast.economics.planning.formatting import count, percent, time
from holdfast.economics.planning.inputs import MOST_DAYS, PlanInputs
from holdfast.economics.planning.rate import Rate, rate

SHAPES = (0.1, 10.0)
RARE = 0.01  # expected failures


@dataclass(frozen=True, slots=True)
class Risk:
    gpus: float
    days: float
    rate: float
    shape: float = 1.0
    age_days: float = 0.0

    @property
    def lifetimes(self) -> Weibull:
        return Weibull.with_first_year(self.shape, self.rate)

    @property
    def probability(self) -> float:
        return self.lifetimes.chance_of_failure(self.gpus, self.days, self.age_days)

    @property
    def failures(self) -> float:
        return self.lifetimes.expected_failures(self.gpus, self.days, self.age_days)


def answer(
    inputs: PlanInputs,
    gpus: str | None,
    days: str | None,
    rate_text: str | None,
    events: str | None,
    gpu_years: str | None,
    shape: str | None,
    age_days: str | None,
) -> PlanAnswer:
    machines = inputs.machines("gpus", gpus)
    length = _days(inputs, days)
    chosen = rate(inputs, rate_text, events, gpu_years)
    risk = Risk(
        machines,
        length,
        chosen.per_gpu_year,
        _shape(inputs, shape),
        inputs.number("age-days", age_days, "days", "0", "parts as old as the run", MOST_DAYS),
    )
    low, high = (poisson_quantile(chance, risk.failures) for chance in (0.025, 0.975))
    figures = [
        Figure("probability", risk.probability, "chance of at least one failure", _chance(risk.probability)),
        Figure("expected_failures", risk.failures, "failures to expect", f"{risk.failures:.3g}"),
        Figure("failures_95_percent", [low, high], "95 % of such runs see", f"{low} to {high}"),
        *_times(risk),
        *_uncertainty(risk, chosen),
        *_elsewhere(risk),
    ]
    notes = [f"{chosen.name}: {chosen.caveat}"] if chosen.caveat else []
    if chosen.posterior is None:
        notes.append("a rate without counts has no interval; give --events and --gpu-years of your own to get one")
    if risk.shape == 1 and risk.age_days:
        notes.append("with a constant rate the age of the parts makes no difference: --shape says how they age")
    return PlanAnswer(
        plan="risk",
        headline=_headline(risk),
        figures=figures,
        inputs=inputs.given,
        sensitivities=sensitivities(risk, lambda r: r.probability, {"gpus": "gpus", "days": "days", "rate": "rate"}),
        sensitivity_of="the chance of a failure",
        show=_chance,
        notes=notes,
        chart=lambda: _chart(risk, chosen),
    )


def _times(risk: Risk) -> list[Figure]:
    """Times between failures over the run.

    For ageing new parts also the time to the first failure, which is not 1/N.
    """
    between = risk.days * 86_400 / risk.failures if risk.failures else inf
    found = [Figure("mean_seconds_between_failures", between, "mean time between failures", time(between))]
    if risk.shape != 1 and not risk.age_days:
        first = risk.lifetimes.mean_first_failure_years(risk.gpus) * YEAR_SECONDS
        found.append(Figure("mean_seconds_to_first_failure", first, "mean time to the first failure", time(first)))
    return found


def _shape(inputs: PlanInputs, text: str | None) -> float:
    value = inputs.number("shape", text, "Weibull shape", "1", "a constant rate; below 1: new parts")
    if not SHAPES[0] <= value <= SHAPES[1]:
        raise BadNumber(f"--shape: expected {SHAPES[0]:g} to {SHAPES[1]:g}, found {value:g}")
    return value


def _days(inputs: PlanInputs, text: str | None) -> float:
    value = inputs.number("days", text, "days")
    if not 0 < value <= MOST_DAYS:
        raise BadNumber(f"--days: expected above 0 and at most {MOST_DAYS:g}, found {value:g}")
    return value


def _uncertainty(risk: Risk, chosen: Rate) -> list[Figure]:
    if chosen.posterior is None:
        return []
    low, high = chosen.posterior.interval()
    ends = [_at(risk, risk.gpus, end) for end in (low, high)]
    exposure = risk.failures / risk.rate  # GPU-years of a constant rate with as many failures
    whole = chosen.posterior.chance_of_failure(exposure, DAYS_PER_YEAR) if exposure else 0.0
    return [
        Figure("rate_95_percent", [low, high], "the rate is with 95 %", f"{low:.3g} to {high:.3g} per GPU-year"),
        Figure("probability_95_percent", ends, "the chance then is", f"{_chance(ends[0])} to {_chance(ends[1])}"),
        Figure("probability_over_the_rate", whole),
    ]


def _elsewhere(risk: Risk) -> list[Figure]:
    """The same run at all public rates, to show the effect of the rate."""
    inputs = PlanInputs()
    chances = {name: _at(risk, risk.gpus, rate(inputs, name).per_gpu_year) for name in public_rates()}
    shown = ", ".join(f"{name} {_chance(chance)}" for name, chance in chances.items())
    return [Figure("probability_at_public_rates", chances, "at public rates", shown)]


def _chart(risk: Risk, chosen: Rate) -> PlanChart:
    rare = risk.gpus * RARE / risk.failures if risk.failures else risk.gpus
    low = min(risk.gpus / 64, rare)  # from a size at which a failure is rare
    sizes = spaced(max(1.0, low), risk.gpus * 64)
    lines = [ChartLine(f"rate {chosen.name}", tuple((n, _at(risk, n, risk.rate)) for n in sizes))]
    if chosen.posterior is not None:
        for name, end in zip(("its 2.5 % end", "its 97.5 % end"), chosen.posterior.interval(), strict=True):
            lines.append(ChartLine(name, tuple((n, _at(risk, n, end)) for n in sizes)))
    title = f"Chance of at least one failure in {risk.days:g} days"
    return PlanChart(title, "GPUs", "chance", tuple(lines), log_x=True, mark=(risk.gpus, risk.probability))


def _headline(risk: Risk) -> str:
    who = "1 GPU" if risk.gpus == 1 else f"{count(risk.gpus)} GPUs"
    days = "1 day" if risk.days == 1 else f"{risk.days:g} days"
    meet = "meets" if risk.gpus == 1 else "meet"
    return f"{who} for {days} {meet} at least one failure with a chance of {_chance(risk.probability)}."


def _chance(value: float) -> str:
    """The probability as text; a rounded 1 is shown as less than certain."""
    return percent(min(value, 1 - 1e-12))


def _at(risk: Risk, gpus: float, per_gpu_year: float) -> float:
    return Risk(gpus, risk.days, per_gpu_year, risk.shape, risk.age_days).probability
