"""A hazard from an event log: counts, and an age law where the lifetimes ask for one."""

import sys
from math import log
from pathlib import Path

from holdfast.cli.refusal import Refusal
from holdfast.cli.simulate_tasks import Changes
from holdfast.costs.lifetimes import Lifetime, fit_weibull
from holdfast.costs.survival import Weibull
from holdfast.simulation.event_log import BadLog, Watched, read

DIFFERS = 6.635  # twice the gain in log likelihood that chance exceeds one time in a hundred


def changes(path: str) -> Changes:
    """For the first hazard of the scenario. What was understood is said on stderr."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as lines:
            watched = read(lines)
    except OSError as error:
        raise Refusal(f"--calibrate: {path}: {error.strerror}") from None
    except (BadLog, UnicodeDecodeError) as error:
        raise Refusal(f"--calibrate: {path}: {error}") from None
    if watched.unit_years <= 0 or not watched.events:
        raise Refusal(
            f"--calibrate: {path}: {watched.events} failures in {watched.unit_years:.3g} unit-years say nothing"
        )
    found = hazard(watched)
    rate = watched.events / watched.unit_years
    words = f"{path}: {watched.events:,} failures of {watched.units:,} units in {watched.unit_years:,.0f} unit-years"
    ageing = dict(found).get("hazard[0].shape")
    law = f"ageing, Weibull shape {ageing:.2f}" if ageing else f"{rate:.4g} per unit-year, counted as constant"
    again = f"; {watched.repeats:,} repeats within a day not counted" if watched.repeats else ""
    sys.stderr.write(f"{words}: {law}{again}\n")
    return found


def hazard(watched: Watched) -> Changes:
    fitted = _ageing(watched)
    if fitted is None:
        return (("hazard[0].events", watched.events), ("hazard[0].unit_years", watched.unit_years))
    return (("hazard[0].rate", fitted.scale_years**-fitted.shape), ("hazard[0].shape", round(fitted.shape, 4)))


def _ageing(watched: Watched) -> Weibull | None:
    """A Weibull law, if it explains the lifetimes clearly better than a constant rate."""
    lives = [Lifetime(years, died) for years, died in watched.lifetimes if years > 0]
    if len({life.years for life in lives if life.failed}) < 3:
        return None
    fitted = fit_weibull(lives)
    deaths = sum(life.failed for life in lives)
    watched_years = sum(life.years for life in lives)
    constant = deaths * log(deaths / watched_years) - deaths
    shape, scale = fitted.shape, fitted.scale_years
    ageing = sum(log(shape / scale) + (shape - 1) * log(life.years / scale) for life in lives if life.failed) - sum(
        (life.years / scale) ** shape for life in lives
    )
    return fitted if 2 * (ageing - constant) > DIFFERS else None
