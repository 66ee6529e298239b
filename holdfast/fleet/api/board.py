"""Board: the current state of the fleet. The controller writes it after each commit; the API only reads it.

Only the event loop uses it, and nothing here waits.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from holdfast.fleet.api.views.common import FleetView, NodeView, PoolView, TransitionView
from holdfast.fleet.decisions.breaker import breaker, spares_short
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.health import Health
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.runtime import clock
from holdfast.runtime.components import Components
from holdfast.runtime.durations import Durations

MOST_WAITING = 1_000  # queued events of a slow watcher before its stream is closed

COMMIT_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
TEST_BOUNDS = (10.0, 30.0, 60.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0)
Message = tuple[str, bytes]  # name of the event, its JSON


class Watcher:
    """One open stream. A watcher that is too slow is closed; it reconnects and reads the whole state."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Message | None] = asyncio.Queue(MOST_WAITING)

    def publish(self, message: Message) -> bool:
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            return False
        return True


class Board:
    def __init__(self, policy: Policy, *, demo: bool = False, time_factor: float = 1.0) -> None:
        self.policy = policy
        self.demo = demo
        self.time_factor = time_factor
        self.clock_began = clock.now()
        self.read = False  # the store was read; before that, the nodes are unknown
        self.leading, self.leader = False, ""
        self.led = asyncio.Event()  # set while a leader is known, here or elsewhere
        self.views: dict[str, NodeView] = {}
        self.watchers: set[Watcher] = set()
        self.ending = False  # the controller ends: new streams are refused
        self.streams: Counter[str] = Counter()  # caller -> number of open streams
        self.components = Components()
        self.counts: Counter[str] = Counter()  # counters of the controller itself, for /metrics
        self.steps: Counter[tuple[str, ...]] = Counter()  # stage changes: (from, to)
        self.commits = Durations(COMMIT_BOUNDS)
        self.tests = Durations(TEST_BOUNDS)
        self.outcomes: Counter[tuple[str, ...]] = Counter()  # ended actions: (verb, outcome)
        self._lives: dict[str, NodeState] = {}
        self._healths: dict[str, str] = {}
        self._fleet_sent = b""

    # Written by the controller

    def lead(self, leading: bool, leader: str) -> None:
        """`leader`: the address of another controller that leads; '' if none is known."""
        self.leading, self.leader = leading, leader
        if leading or leader:
            self.led.set()
        else:
            self.led.clear()

    def replace_all(
        self, lives: Iterable[NodeState], healths: Mapping[str, str], reported: Mapping[str, float]
    ) -> None:
        self.read = True
        lives = list(lives)
        for name in self.views.keys() - {life.name for life in lives}:
            del self.views[name], self._lives[name]
        for life in lives:
            self.put(life, healths.get(life.name, "unknown"))
        for name, at in reported.items():
            self.reported(name, at)

    def reported(self, node: str, at: float) -> None:
        view = self.views.get(node)
        if view is not None and view.last_report_at != at:
            self.views[node] = replace(view, last_report_at=at)

    def put(self, life: NodeState, health: str) -> None:
        known = self.views.get(life.name)
        if known is not None and known.health == health and self._lives.get(life.name) is life:
            return  # a standby passes all nodes each time; most are unchanged
        view = _view(life, health, known.last_report_at if known else None)
        self._lives[life.name] = life
        self.views[life.name] = view
        if known != view:
            self.publish("node", view)

    def forget(self, name: str) -> None:
        self.views.pop(name, None)
        self._lives.pop(name, None)
        self.publish("forgotten", {"name": name})

    def tested(self, seconds: float) -> None:
        """Counts the result of a full test."""
        self.tests.add(seconds)

    def moved(self, step: TransitionView) -> None:
        self.steps[step.before, step.after] += 1
        self.publish("transition", step)

    def publish(self, kind: str, what: object) -> None:
        if not self.watchers:
            return
        message = (kind, msgspec.json.encode(what))
        for watcher in [one for one in self.watchers if not one.publish(message)]:
            self.drop(watcher)

    def publish_fleet(self) -> None:
        """Publishes the fleet's counts if they changed. Called about every second."""
        if not self.watchers:
            return
        reported = msgspec.json.encode(self.fleet())
        if reported != self._fleet_sent:
            self._fleet_sent = reported
            self.publish("fleet", msgspec.Raw(reported))

    # Read by the API

    def life(self, name: str) -> NodeState | None:
        return self._lives.get(name)

    def node(self, name: str) -> NodeView | None:
        return self.views.get(name)

    def nodes(
        self, pool: str = "", stage: Stage | None = None, health: Health | None = None, after: str = ""
    ) -> list[NodeView]:
        return [
            view
            for _, view in sorted(self.views.items())
            if (not pool or view.pool == pool) and (not stage or view.stage == stage)
            if (not health or view.health == health) and view.name > after
        ]

    def fleet(self) -> FleetView:
        views = self.views.values()
        return FleetView(
            nodes=len(views),
            stages=dict(sorted(Counter(view.stage for view in views).items())),
            healths=dict(sorted(Counter(view.health for view in views).items())),
            pools=tuple(self._pool(pool) for pool in sorted({view.pool for view in views})),
            dry_run=self.policy.dry_run,
            demo=self.demo,
            time_factor=self.time_factor,
            clock_began=self.clock_began,
        )

    def _pool(self, pool: str) -> PoolView:
        members = [life for life in self._lives.values() if life.pool == pool]
        guard = breaker(members, pool, self.policy)
        return PoolView(
            pool=pool,
            nodes=len(members),
            out=guard.out,
            testing=sum(life.stage is Stage.TESTING and not life.out for life in members),
            cap=guard.cap,
            breaker_open=guard.open,
            reason=guard.reason,
            spares_short=spares_short(members, pool, self.policy),
        )

    # Streams

    def watch(self) -> Watcher:
        watcher = Watcher()
        self.watchers.add(watcher)
        if self.ending:
            self.drop(watcher)
        return watcher

    def let_go(self) -> None:
        """Ends all streams because the controller ends. A client that reconnects meanwhile gets no stream."""
        self.ending = True
        for watcher in list(self.watchers):
            self.drop(watcher)

    def drop(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        while not watcher.queue.empty():
            watcher.queue.get_nowait()
        watcher.queue.put_nowait(None)


def _view(life: NodeState, health: str, last_report_at: float | None) -> NodeView:
    return NodeView(
        name=life.name,
        pool=life.pool,
        stage=life.stage,
        since=life.since,
        reason=life.reason,
        cause=life.cause,
        health=Health(health),
        repair_step=life.repair_step,
        tested_at=life.tested_at,
        last_report_at=last_report_at,
        degraded_by=life.degraded_by,
        held=life.held,
        place=life.place,
        jobs=tuple(sorted(life.jobs)),
        twin=life.twin,
    )
