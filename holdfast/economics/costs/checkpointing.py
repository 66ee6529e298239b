"""The best checkpoint interval, and the useful work of a run with it.

d is the time a write stops the run, M the mean time between the job's failures, R the time of a restart, tau the
computing time between writes (Young's is often reported as the whole period). Failures are independent with a constant
rate and may strike writes and restarts too.
"""

from dataclasses import dataclass
from math import exp, expm1, sqrt

from holdfast.economics.costs.feasible import NoProgress, not_negative, positive
from holdfast.model.ledger import Ledger

MOST_WRITES = 5.0  # longest write, in times between failures: with it, one checkpoint in 150 is finished
MOST_EXPONENT = 500.0  # larger exponents give a wait longer than the age of the universe
NEWTON_STEPS = 4  # from Daly's interval, three steps reach full precision for every possible write
TRUSTED_LOSS = 0.25  # below this loss, the closed form and an event-driven model agree to 1.4 %


def young(write: float, between: float) -> float:
    """Young 1974: sqrt(2 d M). For d much smaller than M."""
    return sqrt(2 * positive("write time", write) * positive("time between failures", between))


def daly(write: float, between: float) -> float:
    """Daly 2006, first order: sqrt(2 d M) - d. For d well below M/2."""
    return young(write, between) - write


def daly_higher_order(write: float, between: float) -> float:
    """Daly 2006, eq. 37: within 0.1 % of the optimum for d/M from 2e-4 to 3e-2."""
    if write >= 2 * between:
        return between
    root = young(write, between)
    half = write / (2 * between)
    return root * (1 + sqrt(half) / 3 + half / 9) - write


def best_interval(write: float, between: float) -> float:
    """The true optimum of the exact expected time: x = tau/M solves (x-1) e^(x+d/M) + 1 = 0. R does not matter."""
    refuse_hopeless(write, between)
    ratio = write / between
    x = max(1e-12, min(1.0, daly_higher_order(write, between) / between))
    for _ in range(NEWTON_STEPS):
        x -= ((x - 1) + exp(-x - ratio)) / (1 - exp(-x - ratio))
    return x * between


def refuse_hopeless(write: float, between: float, restart: float = 0.0) -> None:
    positive("write time", write)
    positive("time between failures", between)
    not_negative("restart time", restart)
    if write > MOST_WRITES * between:
        raise NoProgress(
            f"no progress is possible: writing a checkpoint takes {write:g} s and the job fails every {between:.4g} s"
            f" on average, so fewer than one checkpoint in {exp(MOST_WRITES):.0f} is ever finished"
        )
    if restart / between > MOST_EXPONENT:
        raise NoProgress(
            f"no progress is possible: a restart takes {restart:g} s and the job fails every {between:.4g} s on average"
        )


def expected_ledger(interval: float, write: float, between: float, restart: float) -> Ledger:
    """The average ledger of one interval. Exact, not first order.

    With L = tau + d and F = e^(L/M) - 1 failures for each interval that succeeds: total M F e^(R/M).
    """
    refuse_hopeless(write, between, restart)
    length = positive("interval", interval) + write
    if length / between > MOST_EXPONENT:
        raise NoProgress(
            f"no progress is possible: {length:g} s from one checkpoint to the next, and the job fails every"
            f" {between:.4g} s on average"
        )
    failures = expm1(length / between)
    return Ledger(
        productive=interval,
        checkpoint=write,
        rework=max(0.0, between * failures - length),
        restart=between * failures * expm1(restart / between),
    )


def ettr(interval: float, write: float, between: float, restart: float) -> float:
    """Productive share of the wall clock, exact: tau / (M e^(R/M) (e^((tau+d)/M) - 1))."""
    return expected_ledger(interval, write, between, restart).share("productive")


def best_ettr(write: float, between: float, restart: float) -> float:
    return ettr(best_interval(write, between), write, between, restart)


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """Meta's formula for small losses, and whether it is valid here."""

    ettr: float
    lost: float  # share of time discarded or restarting
    valid: bool


def closed_form(interval: float, write: float, between: float, restart: float) -> ClosedForm:
    """(1 - (R + dt/2)/M) / (1 + w/dt), arXiv 2410.21680. It ignores failures during a restart and is clamped at 0."""
    lost = (restart + interval / 2) / between
    value = max(0.0, 1 - lost) / (1 + write / interval)
    return ClosedForm(value, lost, lost < TRUSTED_LOSS)


def write_seconds_for(target: float, between: float, restart: float) -> float:
    """The longest write that lets a run reach the target at its best interval."""
    ceiling = exp(-restart / between)
    if target >= ceiling:
        raise NoProgress(
            f"no storage is fast enough for {100 * target:.1f} %: restarts of {restart:g} s with a failure every"
            f" {between:.4g} s leave at most {100 * ceiling:.1f} %"
        )
    low, high = 0.0, between
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if best_ettr(middle, between, restart) >= target else (low, middle)
    return low
