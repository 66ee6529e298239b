"""Plausible ranges of instruments. A value outside is a broken sensor or a wrong register."""

from holdfast.catalog import seam_signals


def known(name: str) -> bool:
    return name in seam_signals.signals()


def absurd(name: str, value: float, least: float | None = None, most: float | None = None) -> str:
    """Why a value cannot be real, '' where it can. A site may narrow the range that physics allows."""
    signal = seam_signals.signals().get(name)
    low = least if least is not None else signal.lowest if signal else float("-inf")
    high = most if most is not None else signal.highest if signal else float("inf")
    if value != value:
        return "the sensor says that it is not a number"
    if value in (float("inf"), float("-inf")):
        return "the number is larger than any sensor can mean"
    return "" if low <= value <= high else f"{value:.6g} cannot be: expected {low:g} to {high:g}"
