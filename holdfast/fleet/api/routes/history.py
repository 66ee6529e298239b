"""Routes of charts: any signal over time with its siblings, and the topology map."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.service import Service, ServiceDep
from holdfast.fleet.api.slow_calls import SlowCalls, TooManyCalls
from holdfast.fleet.api.views.series import (
    SeriesView,
    SignalWindow,
    SubjectsView,
    SubjectView,
    cut,
    made,
    prometheus_pattern,
    siblings_of,
)
from holdfast.fleet.facility.json_api import CannotRead
from holdfast.runtime import clock

QUERIES = SlowCalls("prometheus", 8)
LONGEST = 256
MOST_EDGES = 20_000
PLACES = ("room", "cdu", "loop", "feed", "rack", "spine", "switch", "leaf", "storage")
Name = Annotated[str, QueryParameter(max_length=LONGEST)]
Seconds = Annotated[
    float, QueryParameter(ge=1, le=366 * 86_400, description="How far back, on the controller's clock.")
]
Ago = Annotated[
    float, QueryParameter(ge=0, le=366 * 86_400, description="How long before now it ends, on the controller's clock.")
]
Points = Annotated[int, QueryParameter(ge=2, le=2_000)]
Most = Annotated[int, QueryParameter(ge=1, le=500)]


@get("/v1/series/subjects", opt={"right": "read"}, tags=["history"])
async def list_subjects(service: ServiceDep, find: Name = "", limit: Most = 50) -> SubjectsView:
    """Subjects whose name contains a text, with their signals."""
    watched = service.seams
    if watched is None:
        return SubjectsView(subjects=(), more=0)
    fitting = sorted((one for one in watched.window.subjects() if find in one), key=lambda one: (one.count("/"), one))
    shown = tuple(SubjectView(subject=one, signals=tuple(watched.window.signals(one))) for one in fitting[:limit])
    return SubjectsView(subjects=shown, more=max(0, len(fitting) - limit))


@get("/v1/series", opt={"right": "read"}, tags=["history"])
async def show_series(
    service: ServiceDep,
    subject: Name,
    signal: Name = "",
    seconds: Seconds = 3600.0,
    points: Points = 300,
    ago: Ago = 0.0,
) -> SeriesView:
    """One signal of a subject with its siblings: from Prometheus if configured, else from the window."""
    watched, until = service.seams, clock.now() - ago
    signals = watched.window.signals(subject) if watched is not None else []
    chosen = signal or (signals[0] if signals else "")
    trouble = ""
    if service.prometheus is not None and chosen:
        try:
            about = prometheus_pattern(subject)
            times, found = await QUERIES.run(
                partial(service.prometheus.read, chosen, about, until - seconds, until, points)
            )
            if subject in found:
                return made(subject, chosen, times, found, signals=signals or [chosen], source="prometheus", note="")
            trouble = "Prometheus has no data of it; "
        except (CannotRead, TooManyCalls) as error:
            trouble = f"Prometheus did not answer ({error}); "
    if watched is None or not chosen:
        raise Problem(404, f"{trouble}{subject[:80]!r} has no signals: GET /v1/series/subjects lists subjects")
    return _from_window(watched, subject, chosen, signals, (until - seconds, until), points, trouble)


def _from_window(
    watched: SignalWindow,
    subject: str,
    signal: str,
    signals: list[str],
    span: tuple[float, float],
    points: int,
    trouble: str,
) -> SeriesView:
    wanted = [subject, *siblings_of(subject, watched.window.subjects(signal))]
    lived, found = watched.window.series(signal, wanted)
    if subject not in found:
        raise Problem(404, f"{signal[:80]!r} is not measured of {subject[:80]!r}: {', '.join(signals) or 'nothing is'}")
    times, shown = cut([watched.clock(at) for at in lived], found, span, points)
    note = f"{trouble}from the controller's memory, which holds {len(lived)} values of each signal"
    return made(subject, signal, times, shown, signals=signals, source="window", note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeView:
    kind: str
    """cools, powers or connects."""
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyView:
    known: bool
    """Whether the configuration names a topology file."""
    edges: tuple[EdgeView, ...]
    """Between parts of the building and the network; what nodes report of their place is in GET /v1/nodes."""


@get("/v1/topology", opt={"right": "read"}, tags=["fleet"])
async def show_topology(service: ServiceDep) -> TopologyView:
    """The topology without nodes: cooling, power and network edges."""
    return TopologyView(known=service.seams is not None, edges=_edges(service))


def _edges(service: Service) -> tuple[EdgeView, ...]:
    if service.seams is None:
        return ()
    chosen = (
        EdgeView(kind=edge.kind, source=edge.source, target=edge.target)
        for edge in service.seams.topology.edges
        if edge.source.partition("/")[0] in PLACES and edge.target.partition("/")[0] in PLACES
    )
    return tuple(one for one, _ in zip(chosen, range(MOST_EDGES), strict=False))


ROUTES = [list_subjects, show_series, show_topology]
