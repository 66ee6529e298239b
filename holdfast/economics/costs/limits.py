"""How large a run can grow before failures stop it.

m is the mean time between failures of one GPU, S the state to write. At the wall a write takes as long as the time
between failures, and goodput is zero. So sizes at 90 % and 50 % are reported too. The derivation is our own; it matches
the figures of Epoch AI (2024) for storage. Their network model for memory was not available.
"""

from dataclasses import dataclass
from math import exp, inf, log, pow

from holdfast.economics.costs.checkpointing import best_ettr
from holdfast.economics.costs.feasible import NoProgress, positive

GROWTH = 0.5  # state grows with the square root of the GPUs: compute ~ n and parameters ~ sqrt(compute)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledRun:
    """A run at its reference size, and how its state and bandwidth grow with its size."""

    gpu_seconds_between: float  # m
    state_bytes: float
    bytes_per_second: float  # bandwidth of storage, or of one GPU's link for a memory tier
    reference_gpus: float = 16_384.0
    growing: bool = False  # the model grows with the cluster
    network_exponent: float = 0.0  # bandwidth ~ n^exponent; 0 is storage of a fixed size, 1 a full bisection
    restart_seconds: float = 0.0

    def state(self, gpus: float) -> float:
        return self.state_bytes * (pow(gpus / self.reference_gpus, GROWTH) if self.growing else 1.0)

    def write_seconds(self, gpus: float) -> float:
        return self.state(gpus) / (self.bytes_per_second * pow(gpus, self.network_exponent))

    def between(self, gpus: float) -> float:
        return self.gpu_seconds_between / gpus

    def goodput(self, gpus: float) -> float:
        """Goodput at the best interval; 0 if no progress is possible."""
        try:
            return best_ettr(self.write_seconds(gpus), self.between(gpus), self.restart_seconds)
        except NoProgress:
            return 0.0


def wall(run: ScaledRun) -> float:
    """GPUs at which a write takes as long as the time between failures. No restart time: see `stalled_by_restarts`.

    S(n)/(b n^g) = m/n, so n^(1-g+growth) = m b n0^growth / S0. Infinite if there is no wall.
    """
    positive("state", run.state_bytes)
    positive("bandwidth", run.bytes_per_second)
    growth = GROWTH if run.growing else 0.0
    power = 1 + growth - run.network_exponent
    base = run.gpu_seconds_between * run.bytes_per_second / run.state_bytes
    if power <= 0:
        return inf
    return exp((log(base) + growth * log(run.reference_gpus)) / power)


def stalled_by_restarts(run: ScaledRun) -> float:
    """GPUs at which failures are as frequent as restarts are long. Faster storage does not move this wall."""
    return run.gpu_seconds_between / run.restart_seconds if run.restart_seconds else inf


def largest(run: ScaledRun, goodput: float) -> float:
    """The largest number of GPUs with at least this goodput; infinite if goodput never falls below it."""
    if not 0 < goodput < 1:
        raise NoProgress(f"goodput: expected a share between 0 and 1, found {goodput:g}")
    low, high = 0.0, log(1e30)
    if run.goodput(exp(high)) >= goodput:
        return inf
    if run.goodput(1.0) < goodput:
        raise NoProgress(f"no progress is possible at a goodput of {100 * goodput:.0f} %: even one GPU stays below it")
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if run.goodput(exp(middle)) >= goodput else (low, middle)
    return exp(low)
