"""Settings that all facility devices share."""

from holdfast.catalog import seam_signals

LARGEST_PORT = 65_535


def host_and_port(address: str) -> tuple[str, int]:
    """Host and port; an IPv6 address is in brackets. Raises ValueError if the text is not HOST:PORT."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) <= LARGEST_PORT:
        raise ValueError(f"address: expected HOST:PORT, found {address!r}")
    return host.strip("[]"), int(port)


def number(value: object) -> float | None:
    """A device's value as a float; None if it is not a number. An integer of 401 digits becomes infinite, and
    `seam_signals.implausible` refuses it with a reason."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def refuse_unknown(signal: str) -> None:
    if not seam_signals.known(signal):
        raise ValueError(f"signal: {signal!r} is not one of the signals in docs/facility.md")


def refuse_zero(scale: float) -> None:
    if scale == 0:
        raise ValueError("scale: expected another number than 0")
