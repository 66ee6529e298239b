"""Feasibility: refuses inputs without meaning and plans without progress."""

from math import isfinite


class BadNumber(ValueError):
    """A number is out of range; the message names it and the expected range."""


class NoProgress(ValueError):
    """The run never makes progress; the message says why."""


def positive(name: str, value: float) -> float:
    if not isfinite(value) or value <= 0:
        raise BadNumber(f"{name}: expected a number above 0, found {value:g}")
    return value


def not_negative(name: str, value: float) -> float:
    if not isfinite(value) or value < 0:
        raise BadNumber(f"{name}: expected 0 or more, found {value:g}")
    return value


def share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise BadNumber(f"{name}: expected a share from 0 to 1, found {value:g}")
    return value
