"""API types of a node's parts: GPU trends, port outages, past tests."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.model.health import Health
from holdfast.model.lifecycle import Verb
from holdfast.model.records import HistoryLine, Outcome, StoredAction
from holdfast.model.wire import digest

PORTS = "fabric.port_down"
SHOWN = digest.SIGNALS[:4] + digest.SIGNALS[5:]  # all signals but the bits of the clock event reasons
TESTED = (Outcome.DONE, Outcome.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuView:
    gpu: int
    signals: Mapping[str, tuple[float | None, ...]]
    """At the times of the parts; None where it was not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageView:
    """An outage of a port that the port check reported."""

    port: str
    began: float
    ended: float | None
    """None: it is not judged well yet."""
    worst: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestView:
    at: float
    state: str
    result: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsView:
    times: tuple[float, ...]
    gpus: tuple[GpuView, ...]
    outages: tuple[OutageView, ...]
    """Newest first."""
    tests: tuple[TestView, ...]
    note: str
    """What was left out, and why; '' where all is reported."""


def gpus_of(reported: Sequence[tuple[float, bytes]]) -> tuple[GpuView, ...]:
    minutes = [digest.unpack(one) for _, one in reported]
    seen = sorted({gpu for minute in minutes for gpu, _ in minute})
    return tuple(GpuView(gpu=gpu, signals=_series(minutes, gpu)) for gpu in seen)


def _series(minutes: Sequence[Mapping[tuple[int, str], float]], gpu: int) -> dict[str, tuple[float | None, ...]]:
    found = {name: tuple(_known(minute.get((gpu, name))) for minute in minutes) for name in SHOWN}
    return {name: values for name, values in found.items() if any(value is not None for value in values)}


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def outages_of(lines: Iterable[HistoryLine]) -> tuple[OutageView, ...]:
    """Outages from history lines, which are newest first."""
    ongoing: dict[str, OutageView] = {}
    over: list[OutageView] = []
    for line in sorted(lines, key=lambda one: one.at):
        if line.kind != "verdict" or line.detail.get("check") != PORTS:
            continue
        after = str(line.detail.get("after", ""))
        bad = set(line.detail.get("subjects", ())) if after in (Health.DEGRADED.value, Health.FAIL.value) else set()
        for port in ongoing.keys() - bad:
            over.append(_ended(ongoing.pop(port), line.at))
        for port in bad:
            began = ongoing[port].began if port in ongoing else line.at
            ongoing[port] = OutageView(port=port, began=began, ended=None, worst=after, reason=line.reason)
    return tuple(sorted([*over, *ongoing.values()], key=lambda one: -one.began))


def _ended(outage: OutageView, at: float) -> OutageView:
    return OutageView(port=outage.port, began=outage.began, ended=at, worst=outage.worst, reason=outage.reason)


def tests_of(actions: Iterable[StoredAction]) -> tuple[TestView, ...]:
    return tuple(
        TestView(at=one.action.at, state=one.state.value, result=one.detail, cause=one.action.cause)
        for one in actions
        if one.action.verb is Verb.RETEST and one.state in TESTED
    )
