"""What Prometheus reads of the controller: the fleet, who is out of service, open incidents, the controller itself."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping

from litestar import Response, get
from prometheus_client import generate_latest
from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from holdfast.api.board import Board
from holdfast.api.desk import Asked, Desk
from holdfast.api.views import NodeView, PoolView
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.life import OUT_OF_SERVICE

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labelled = Mapping[tuple[str, ...], float]


@get("/metrics", opt={"right": "read"}, tags=["live"], media_type="text/plain; version=0.0.4")
async def metrics(desk: Asked) -> Response[str]:
    """For Prometheus."""
    incidents = await asyncio.to_thread(desk.store.incidents, IncidentState.OPEN, None)
    registry = CollectorRegistry()
    registry.register(_Families([*_fleet(desk.board), *_incidents(incidents), *_controller(desk)]))
    return Response(generate_latest(registry).decode(), media_type=CONTENT_TYPE)


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def _fleet(board: Board) -> Iterable[Metric]:
    views = board.views.values()
    yield _gauge("holdfast_nodes", "Nodes by pool, stage and health.", ("pool", "stage", "health"), _counted(views))
    yield _gauge(
        "holdfast_node_out_since_seconds",
        "When a node that is out of service came to its stage, in seconds since the epoch.",
        ("node", "pool", "stage", "cause"),
        {(one.name, one.pool, one.stage, one.cause): one.since for one in views if one.stage in OUT_OF_SERVICE},
    )
    yield from _pools(board.fleet().pools)
    yield _counter(
        "holdfast_transitions", "Steps of nodes since this controller began.", ("before", "after"), board.steps
    )


def _counted(views: Iterable[NodeView]) -> Labelled:
    return Counter((one.pool, one.stage.value, one.health.value) for one in views)


def _pools(pools: Iterable[PoolView]) -> Iterable[Metric]:
    for name, words in (
        ("nodes", "Nodes of the pool."),
        ("out", "Nodes of the pool that we hold out of service."),
        ("cap", "How many nodes of the pool we may hold out of service."),
        ("breaker_open", "1 while the breaker only observes."),
        ("spares_short", "Spares that the pool should hold and does not."),
    ):
        yield _gauge(f"holdfast_pool_{name}", words, ("pool",), {(one.pool,): getattr(one, name) for one in pools})


def _incidents(incidents: Iterable[Incident]) -> Iterable[Metric]:
    yield _gauge(
        "holdfast_incident_opened_seconds",
        "When an open incident was opened, in seconds since the epoch.",
        ("incident", "subject", "cause"),
        {(one.id, one.subject, one.cause): one.opened for one in incidents},
    )
    yield _gauge(
        "holdfast_incident_gpu_hours_per_hour",
        "What an open incident costs the runs that it reaches, as measured.",
        ("incident", "subject", "cause"),
        {
            (one.id, one.subject, one.cause): one.account.bill.gpu_hours_per_hour
            for one in incidents
            if one.account is not None
        },
    )


def _controller(desk: Desk) -> Iterable[Metric]:
    board = desk.board
    for name, words, value in (
        ("leading", "1 where this controller leads.", board.leading),
        ("dry_run", "1 while actions are only recorded.", board.policy.dry_run),
        ("waiting", "Requests that wait for the writer.", desk.waiting),
        ("streams", "Live streams that are open.", len(board.watchers)),
    ):
        yield _gauge(f"holdfast_controller_{name}", words, (), {(): value})
    yield _counter("holdfast_reports", "Reports taken from agents.", (), {(): board.counts["reports"]})
    yield _counter("holdfast_requests_refused", "Requests that were refused.", (), {(): board.counts["refused"]})


def _gauge(name: str, words: str, labels: tuple[str, ...], values: Labelled) -> Metric:
    family = GaugeMetricFamily(name, words, labels=labels)
    for found, value in values.items():
        family.add_metric(found, float(value))
    return family


def _counter(name: str, words: str, labels: tuple[str, ...], values: Labelled) -> Metric:
    family = CounterMetricFamily(name, words, labels=labels)
    for found, value in values.items():
        family.add_metric(found, float(value))
    return family


ROUTES = [metrics]
