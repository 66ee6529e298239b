"""Prometheus metrics of the controller: fleet, nodes out of service, jobs, open incidents, itself."""

import asyncio
from collections import Counter
from collections.abc import Iterable

from litestar import Response, get
from prometheus_client.core import Metric

from holdfast.fleet.api.board import Board
from holdfast.fleet.api.metrics import incidents as incident_metrics
from holdfast.fleet.api.metrics import jobs as job_metrics
from holdfast.fleet.api.metrics.families import Labelled, as_text, counter, gauge, histogram
from holdfast.fleet.api.service import Service, ServiceDep
from holdfast.fleet.api.views.common import NodeView, PoolView
from holdfast.model.incident import IncidentState
from holdfast.model.lifecycle import OUT_OF_SERVICE

SCHEDULERS = ("slurm", "kubernetes")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@get("/metrics", opt={"right": "read"}, tags=["live"], media_type="text/plain; version=0.0.4")
async def metrics(service: ServiceDep) -> Response[str]:
    """The metrics as Prometheus text."""
    incidents = await asyncio.to_thread(service.store.incidents, IncidentState.OPEN, None)
    jobs = await job_metrics.running(service)
    actions = await asyncio.to_thread(service.store.open_actions)
    reported = (
        *_fleet(service.board),
        *incident_metrics.incidents(incidents),
        *job_metrics.jobs(jobs),
        *_controller(service),
        gauge("holdfast_actions_open", "Actions that are not ended, by state.", ("verb", "state"), actions),
    )
    return Response(as_text(reported), media_type=CONTENT_TYPE)


def _fleet(board: Board) -> Iterable[Metric]:
    views = board.views.values()
    yield gauge("holdfast_nodes", "Nodes by pool, stage and health.", ("pool", "stage", "health"), _counted(views))
    yield gauge(
        "holdfast_node_out_since_seconds",
        "When a node that is out of service came to its stage, in seconds since the epoch.",
        ("node", "pool", "stage", "cause"),
        {(one.name, one.pool, one.stage, one.cause): one.since for one in views if one.stage in OUT_OF_SERVICE},
    )
    yield from _pools(board.fleet().pools)
    yield counter(
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
        yield gauge(f"holdfast_pool_{name}", words, ("pool",), {(one.pool,): getattr(one, name) for one in pools})


def _controller(service: Service) -> Iterable[Metric]:
    board = service.board
    for name, text, value in (
        ("leading", "1 where this controller leads.", board.leading),
        ("dry_run", "1 while actions are only recorded.", board.policy.dry_run),
        ("waiting", "Requests that wait for the writer.", service.waiting),
        ("streams", "Live streams that are open.", len(board.watchers)),
    ):
        yield gauge(f"holdfast_controller_{name}", text, (), {(): value})
    components = board.components.all
    yield gauge(
        "holdfast_controller_component_failing",
        "1 while this component of the controller fails.",
        ("component",),
        {(one.name,): one.failing for one in components},
    )
    yield counter(
        "holdfast_controller_component_failures",
        "Failures of this component since this controller started.",
        ("component",),
        {(one.name,): one.total for one in components},
    )
    answered = ((name, board.components.worked_at(name)) for name in SCHEDULERS)
    seen: dict[tuple[str, ...], float] = {(name,): at for name, at in answered if at is not None}
    text = "When the scheduler last answered, in seconds since the epoch."
    yield gauge("holdfast_scheduler_answered_seconds", text, ("scheduler",), seen)
    yield histogram("holdfast_controller_commit_seconds", "Duration of deciding and committing a batch.", board.commits)
    yield histogram("holdfast_test_seconds", "How long full tests took, from their start to the answer.", board.tests)
    yield counter("holdfast_actions", "Actions that ended.", ("verb", "outcome"), board.outcomes)
    yield counter("holdfast_reports", "Reports taken from agents.", (), {(): board.counts["reports"]})
    text = "Events and subjects in reports that named another node or a part of none; they are dropped."
    yield counter("holdfast_report_subjects_dropped", text, (), {(): board.counts["foreign_subjects"]})
    yield counter("holdfast_requests_refused", "Requests that were refused.", (), {(): board.counts["refused"]})


ROUTES = [metrics]
