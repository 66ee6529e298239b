"""Health: the result of a check for one subject. Missing data is a value of its own and never passes."""

from collections.abc import Iterable
from enum import StrEnum


class Health(StrEnum):
    PASS = "pass"
    DEGRADED = "degraded"
    FAIL = "fail"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"


class FailureClass(StrEnum):
    """How a fault surfaces to the job: it dies, it slows down silently, or it computes wrong numbers."""

    CRASH = "crash"
    SLOWDOWN = "slowdown"
    CORRUPTION = "corruption"


_WORST_FIRST = (Health.FAIL, Health.UNKNOWN, Health.DEGRADED, Health.PASS, Health.NOT_APPLICABLE)


def worst(healths: Iterable[Health]) -> Health:
    """The worst of several. None at all is UNKNOWN, because nothing was checked."""
    seen = set(healths)
    return next((health for health in _WORST_FIRST if health in seen), Health.UNKNOWN)
