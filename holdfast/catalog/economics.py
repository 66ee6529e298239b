"""Public failure rates and prices, each with its source and its caveats."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicRate:
    name: str
    counts: str
    hardware: str
    source: str
    caveat: str
    per_gpu_year: float = 0.0
    probability: bool = False  # the number is a probability within a year, not a count per year
    events: int | None = None
    gpu_days: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    name: str
    per_hour: float
    date: str
    low: float
    high: float
    source: str


@cache
def _table(file: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(file).read_text(encoding="utf-8"))


@cache
def public_rates() -> dict[str, PublicRate]:
    return {name: PublicRate(name=name, **facts) for name, facts in _table("rates.toml").items()}


@cache
def gpu_prices() -> dict[str, Price]:
    return {name: Price(name=name, **facts) for name, facts in _table("prices.toml")["gpu"].items()}


def wage() -> tuple[float, str]:
    """Dollars per working hour, and their source."""
    facts = _table("prices.toml")["labour"]
    return float(facts["per_hour"]), str(facts["source"])
