"""Lifetime analysis beyond a rate: survival, ageing, cohort differences."""

from collections.abc import Sequence

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.lifetimes import Lifetime, LifetimeStep, compare, fit_weibull, kaplan_meier
from holdfast.economics.planning.answer import Figure
from holdfast.economics.planning.formatting import percent

YEARS = (0.5, 1, 2, 3, 5, 10)
CHANCE = 0.05  # significance level of a difference


def figures(lives: Sequence[Lifetime], against: Sequence[Lifetime]) -> list[Figure]:
    """Figures of the lifetimes; none if the file has no single lifetimes."""
    return [*_survival(lives), *_ageing(lives), *(_difference(lives, against) if against else ())]


def _survival(lives: Sequence[Lifetime]) -> list[Figure]:
    if not lives:
        return []
    steps, longest = kaplan_meier(lives), max(life.years for life in lives)
    found = {years: _at(steps, years) for years in YEARS if years <= longest}
    shown = ", ".join(
        f"{years:g} y {percent(one.survival)} +- {100 * (1.96 * one.error):.2f} %" for years, one in found.items()
    )
    shares = {f"{years:g}": step.survival for years, step in found.items()}
    return [Figure("surviving_by_years", shares, "surviving (Kaplan-Meier)", shown)] if found else []


def _at(steps: Sequence[LifetimeStep], years: float) -> LifetimeStep:
    return next((step for step in reversed(steps) if step.years <= years), LifetimeStep(0.0, 1.0, 0.0))


def _ageing(lives: Sequence[Lifetime]) -> list[Figure]:
    try:
        shape = fit_weibull(lives).shape
    except BadNumber:
        return []
    text = "below 1, parts fail early" if shape < 1 else "above 1, they wear or have a defect that came with the years"
    return [Figure("weibull_shape", shape, "Weibull shape of the lifetimes", f"{shape:.3g}: {text}")]


def _difference(lives: Sequence[Lifetime], against: Sequence[Lifetime]) -> list[Figure]:
    found = compare(lives, against)
    verdict = "they differ" if found.p < CHANCE else "no difference can be found"
    chance = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    shown = f"{found.ratio:.3g} (95 %: {found.low:.3g} to {found.high:.3g}); log-rank {chance}: {verdict}"
    document = {name: getattr(found, name) for name in ("ratio", "low", "high", "chi_square", "p")}
    return [Figure("failures_beside_the_other_cohort", document, "ratio of the failure rates", shown)]
