"""The failure rate of a plan: a public one by name, a number, or your own counts."""

from dataclasses import dataclass
from math import isfinite

from holdfast.catalog.economics import PublicRate, public_rates
from holdfast.config.quantities import scaled
from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.survival import DAYS_PER_YEAR, Posterior, rate_from_probability
from holdfast.economics.planning.inputs import PlanInputs

MOST_PER_YEAR = 365.0  # one failure per GPU and day
CHANCE, COUNT = "%", "/y"
THE_SAME = 0.05  # below it, a yearly probability and a count per year differ by less than 3 %


@dataclass(frozen=True, slots=True)
class Rate:
    """Failures per GPU-year, with their uncertainty and definition."""

    per_gpu_year: float
    posterior: Posterior | None
    name: str
    caveat: str


def rate(inputs: PlanInputs, text: str | None, events: str | None = None, gpu_years: str | None = None) -> Rate:
    """A public rate by name, a number, or own counts. A number below 1 is the probability to fail within a year."""
    counted = events is not None or gpu_years is not None
    if text is None and not counted:
        text, counted = inputs.known.get("rate", (None, ""))[0], "events" in inputs.known
    if counted:
        if text is not None:
            raise BadNumber("own counts: expected --events and --gpu-years, or --rate, not both")
        return _own(inputs, events, gpu_years)
    offered = ", ".join(public_rates())
    if text is None:
        raise BadNumber(
            f"--rate is missing: expected failures per GPU-year as a number, or a public rate ({offered});"
            " they differ thirtyfold, so there is no default"
        )
    if known := public_rates().get(text):
        return _public(inputs, known)
    value = scaled({"": 1.0, CHANCE: 0.01, COUNT: 1.0})(text)
    if value is None or not isfinite(value):
        raise BadNumber(
            f"--rate: expected failures per GPU-year such as 0.2/y, a yearly chance such as 1%, or one of {offered},"
            f" found {text!r}"
        )
    return _number(inputs, value, text)


def _own(inputs: PlanInputs, events: str | None, gpu_years: str | None) -> Rate:
    seen = inputs.number("events", events, "failures")
    years = inputs.number("gpu-years", gpu_years, "GPU-years")
    if seen != int(seen) or years <= 0:
        raise BadNumber("own counts: expected a whole number of --events and --gpu-years above 0")
    posterior = Posterior(int(seen), years)
    if posterior.mean > MOST_PER_YEAR:
        raise BadNumber(
            f"own counts: {seen:g} failures in {years:.3g} GPU-years say nothing yet; wait, or name a --rate"
        )
    return Rate(posterior.mean, posterior, "your own counts", "")


def _public(inputs: PlanInputs, known: PublicRate) -> Rate:
    posterior = None
    value = rate_from_probability(known.per_gpu_year) if known.probability else known.per_gpu_year
    if known.events is not None and known.gpu_days is not None:
        posterior = Posterior(known.events, known.gpu_days / DAYS_PER_YEAR)
        value = known.events * DAYS_PER_YEAR / known.gpu_days
    inputs.note("rate", value, "failures per GPU-year", known.name, f"{known.source}; counts {known.counts}")
    return Rate(value, posterior, known.name, known.caveat)


def _number(inputs: PlanInputs, value: float, text: str) -> Rate:
    if value <= 0:
        raise BadNumber(f"--rate: expected a number above 0, found {text}")
    chance = text.endswith(CHANCE) or (value < 1 and not text.endswith(COUNT))
    meant = rate_from_probability(value) if chance else _sane(value)
    how = "given, as the chance to fail within a year" if chance else "given, as failures per GPU-year"
    inputs.note("rate", meant, "failures per GPU-year", f"{meant:.4g}", f"{how}: {text}")
    doubt = chance and value >= THE_SAME and not text.endswith(CHANCE)
    return Rate(meant, None, text, _either(value, meant) if doubt else "")


def _either(value: float, meant: float) -> str:
    return (
        f"read as the chance that a GPU fails within a year, which is {meant:.3g} failures per GPU-year;"
        f" {value:g}/y is a count, {value * 100:g}% is the chance"
    )


def _sane(value: float) -> float:
    if value > MOST_PER_YEAR:
        raise BadNumber(
            f"--rate: {value:g} per GPU-year is {value / DAYS_PER_YEAR:.4g} failures per GPU and day;"
            f" expected at most {MOST_PER_YEAR:g} per GPU-year, one a day"
        )
    return value
