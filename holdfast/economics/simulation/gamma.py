"""A number of the Gamma distribution from uniform ones: Marsaglia and Tsang's way, for shapes of 1/2 and more."""

from math import log, pow, sqrt
from statistics import NormalDist

from holdfast.economics.simulation.spread import Draws

_NORMAL = NormalDist()


def gamma_draw(shape: float, draws: Draws) -> float:
    """With a mean of `shape`."""
    if shape < 1:
        return gamma_draw(shape + 1, draws) * pow(max(1e-300, draws.random()), 1 / shape)
    d = shape - 1 / 3
    c = 1 / sqrt(9 * d)
    while True:
        x = _NORMAL.inv_cdf(min(1 - 1e-12, max(1e-12, draws.random())))
        v = (1 + c * x) ** 3
        if v > 0 and log(max(1e-300, draws.random())) < x * x / 2 + d - d * v + d * log(v):
            return d * v
