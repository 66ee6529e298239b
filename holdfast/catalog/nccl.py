"""How long an NCCL connection survives a port that is down, by version and settings."""

import math
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class TransportTimeout:
    seconds: float  # math.inf if the job waits forever
    because: str  # the origin of the value, for operators
    assumed: bool  # neither the job's settings nor its version were readable


@lru_cache(maxsize=1)
def facts() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("nccl.toml").read_text("utf-8"))


def watchdog_seconds() -> float:
    return float(facts()["watchdog_seconds"])


def failover_setting() -> str:
    return str(facts()["failover_setting"])


def can_fail_over(version: str) -> bool:
    return bool(version) and _parts(version) >= _parts(facts()["failover_from"])


def has_ras(version: str) -> bool:
    return bool(version) and _parts(version) >= _parts(facts()["ras_from"])


def transport_timeout(
    version: str = "", timeout: float | None = None, retries: float | None = None
) -> TransportTimeout:
    """The timeout from the job's settings, or its version's default, or the shortest default (marked as assumed)."""
    known = facts()
    low, high = known["timeout_range"]
    fewest, most = known["retries_range"]
    own = timeout is not None and low <= timeout <= high
    count = retries if retries is not None and fewest <= retries <= most else known["retries"]
    exponent = timeout if own and timeout is not None else default_exponent(version)
    seconds = known["base_seconds"] * 2**exponent * max(count, 1) if exponent else math.inf
    if own:
        return TransportTimeout(seconds, f"NCCL_IB_TIMEOUT={exponent:g}", False)
    if version:
        return TransportTimeout(seconds, f"default of NCCL {version}", False)
    return TransportTimeout(seconds, "assumed: its NCCL version and settings are not readable", True)


def default_exponent(version: str) -> int:
    """The default of NCCL_IB_TIMEOUT in a version."""
    if not version:
        return int(facts()["assumed_timeout"])
    rows = facts()["defaults"]
    fitting = [row for row in rows if _parts(row["from"])[:2] <= _parts(version)[:2]]
    return int((fitting or rows)[-1 if fitting else 0]["timeout"])


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))
