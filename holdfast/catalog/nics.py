"""RDMA adapters: model, fastest port, and the width of their counters."""

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

EFA = "EFA"  # Amazon's adapter; its driver prints no hca_type
_ALL_32_BITS, _ALL_64_BITS = float(2**32 - 1), float(2**64 - 1)


class Adapter(NamedTuple):
    model: str
    rate_bytes_per_second: float  # of the adapter's fastest port


@lru_cache(maxsize=1)
def _facts() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("nics.toml").read_text("utf-8"))


def adapter(hca_type: str) -> Adapter | None:
    known = _facts()["adapter"].get(hca_type)
    return Adapter(known["model"], known["gigabits"] * 1e9 / 8) if known else None


def is_saturated(signal: str, value: float) -> bool:
    """Whether a counter has its largest value, so that it no longer shows new errors."""
    limit = _facts()["saturates_at"].get(signal)
    return value in (limit, _ALL_32_BITS, _ALL_64_BITS)
