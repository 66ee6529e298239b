"""Clock skew of agents: report times are corrected to the controller's clock."""

from dataclasses import replace
from math import isfinite

from holdfast.model.signal import Event
from holdfast.model.wire.report import Report

HEADER = b"holdfast-clock"  # the agent's clock when it sent the request; its reports may be older
TOLERATED_SECONDS = 30.0  # less may be delay of the network or of a busy controller
LARGEST_SECONDS = 100 * 365.25 * 86_400


class Clocks:
    """The offset of each agent's clock.

    It is kept until it clearly changes, because jitter must not change the order.
    """

    def __init__(self) -> None:
        self._behind: dict[str, float] = {}  # only nodes with a wrong clock

    def seconds_behind(self, node: str, reported: bytes, now: float) -> float:
        """Seconds to add to this agent's times; 0 if it does not send its clock."""
        kept = self._behind.get(node, 0.0)
        shown = _seconds(reported)
        if shown is None or abs(now - shown - kept) <= TOLERATED_SECONDS:
            return kept
        self._behind[node] = now - shown
        if abs(now - shown) <= TOLERATED_SECONDS:
            del self._behind[node]
        return self._behind.get(node, 0.0)


def _seconds(reported: bytes) -> float | None:
    try:
        shown = float(reported)
    except ValueError:
        return None
    return shown if isfinite(shown) and abs(shown) <= LARGEST_SECONDS else None


def on_our_clock(report: Report, seconds: float) -> Report:
    """The reports with times on our clock. Order outcomes keep their times, because the order's time is ours."""
    if not seconds:
        return report
    return replace(
        report,
        at=report.at + seconds,
        events=tuple(_moved(event, seconds) for event in report.events),
        changes=tuple(replace(change, at=change.at + seconds) for change in report.changes),
        progress=tuple(replace(one, at=one.at + seconds, began=one.began + seconds) for one in report.progress),
    )


def _moved(event: Event, seconds: float) -> Event:
    return replace(event, at=event.at + seconds) if event.at else event
