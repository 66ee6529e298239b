"""Fits a hazard to an event log: a constant rate, or a Weibull law if the lifetimes fit it clearly better."""

from math import log
from pathlib import Path

from holdfast.economics.costs.lifetimes import Lifetime, fit_weibull
from holdfast.economics.costs.survival import Weibull
from holdfast.economics.simulation.event_log import BadLog, WatchedEvents, read
from holdfast.economics.studies.tasks import Changes
from holdfast.model.refusal import Refusal

DIFFERS = 6.635  # threshold of the likelihood ratio test at 1 %


def watched(flag: str, path: str) -> WatchedEvents:
    """Summary of a log; refused if it has no failure or no observation time."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as lines:
            found = read(lines)
    except OSError as error:
        raise Refusal(f"{flag}: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refusal(f"{flag}: {path}: expected a CSV file, found bytes that are not text") from None
    except BadLog as error:
        raise Refusal(f"{flag}: {path}: {error}") from None
    if found.unit_years <= 0 or not found.events:
        raise Refusal(f"{flag}: {path}: {found.events} failures in {found.unit_years:.3g} unit-years give no rate")
    return found


def changes(path: str) -> tuple[Changes, str]:
    """Changes for the first hazard of the scenario, and a sentence about the log."""
    log = watched("--calibrate", path)
    found = hazard(log)
    rate = log.events / log.unit_years
    counted = f"{path}: {log.events:,} failures of {log.units:,} units in {log.unit_years:,.0f} unit-years"
    ageing = dict(found).get("hazard[0].shape")
    age = "; the parts are new unless hazard[0].age_years is set; the law is exact, so no replica draws it"
    law = f"ageing, Weibull shape {ageing:.2f}{age}" if ageing else f"{rate:.4g} per unit-year, counted as constant"
    again = f"; {log.repeats:,} rows that repeat an event not counted" if log.repeats else ""
    return found, f"{counted}: {law}{again}"


def hazard(log: WatchedEvents) -> Changes:
    fitted = _ageing(log)
    if fitted is None:
        return (("hazard[0].events", log.events), ("hazard[0].unit_years", log.unit_years))
    return (("hazard[0].rate", fitted.scale_years**-fitted.shape), ("hazard[0].shape", round(fitted.shape, 4)))


def _ageing(log_read: WatchedEvents) -> Weibull | None:
    """A Weibull law, if it explains the lifetimes clearly better than a constant rate."""
    lives = [Lifetime(years, died) for years, died in log_read.lifetimes if years > 0]
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
