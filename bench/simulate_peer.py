"""The same model as ours for one job with one hazard, written with SimPy as its manual shows: a process for the job,
one for the hazard, one for every node being mended, crews as a resource. The luck and the lifecycle are the same."""

from collections.abc import Generator
from dataclasses import dataclass
from math import log1p
from typing import Any

import simpy

from holdfast.economics.studies.rules import RealRules
from holdfast.fleet.decisions.lifecycle import machine
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.economics.simulation.failures import LOTS, Failure
from holdfast.economics.simulation.fleet import SimulatedFleet
from holdfast.economics.simulation.rules import FleetGuard, EventKey, Rules
from holdfast.economics.simulation.scenario import YEAR, Scenario
from holdfast.economics.simulation.spread import Streams

_H = EventKind
Steps = Generator[simpy.Event, Any, None]


@dataclass(slots=True)
class RuleAnswer:
    """What a node stands at, and the step that led there."""

    life: NodeState
    policy: Policy
    verbs: tuple[Verb, ...] = ()
    recount: bool = True

    @property
    def stage(self) -> Stage:
        return self.life.stage

    @property
    def after(self) -> "RuleAnswer":
        return self

    @property
    def may_repair(self) -> bool:
        return machine.may_repair(self.life, self.policy)


@dataclass(slots=True)
class Way:
    state: RuleAnswer


class AskingRules:
    """The lifecycle asked anew at every step, as the controller asks it; not from memory, as ours is."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._events: dict[EventKey, NodeEvent] = {}

    def begin(self, stage: Stage) -> Way:
        life = NodeState(name="", stage=stage, tested_at=-1.0, tested_suite=self._policy.suite)
        return Way(RuleAnswer(life, self._policy))

    def step(self, way: Way, event_key: EventKey, now: float) -> RuleAnswer:
        event = self._events.get(event_key)
        if event is None:
            kind, cause, job, spare = event_key
            event = self._events[event_key] = NodeEvent(kind=kind, cause=cause, job=job, spare=spare)
        life, actions, _ = machine.step(way.state.life, event, now, self._policy)
        way.state = RuleAnswer(life, self._policy, tuple([action.verb for action in actions]))
        return way.state

    def guard(self) -> FleetGuard:
        return RealRules(self._policy).guard()


class Now:
    """What the fleet asks of a clock."""

    def __init__(self, env: simpy.Environment, end: float) -> None:
        self._env, self.end = env, end

    @property
    def now(self) -> float:
        return float(self._env.now)


class Peer:
    def __init__(self, scenario: Scenario, rules: Rules, streams: Streams) -> None:
        self.env = simpy.Environment()
        self.scenario, self.job_plan = scenario, scenario.jobs[0]
        self.end = scenario.cluster.seconds
        self.fleet = SimulatedFleet(scenario.cluster, Now(self.env, self.end), rules)  # type: ignore[arg-type]
        self.crews = simpy.Resource(self.env, scenario.repair.crews)
        self.rng = streams(f"hazard/{scenario.hazards[0].name}")
        self.nodes: set[int] = set()
        self.leaving: dict[int, Failure] = {}
        self.broken: set[int] = set()
        self.stopped = False
        self.returned = self.env.event()
        self.parts = dict.fromkeys(("productive", "checkpoint", "rework", "restart", "waiting"), 0.0)
        self.saves = self.interruptions = self.job_changes = 0
        self.job = self.env.process(self._job())
        self.env.process(self._hazard())

    def run(self) -> None:
        self.env.run(until=self.end)
        self.fleet.close()

    @property
    def events(self) -> int:
        return self.fleet.changes + self.job_changes + 2 * self.saves

    def _hazard(self) -> Steps:
        hazard, cluster, random = self.scenario.hazards[0], self.scenario.cluster, self.rng.random
        rate = cluster.gpus * hazard.rate / YEAR
        while True:
            gap, unit = -log1p(-random()) / rate, int(random() * cluster.gpus)
            yield self.env.timeout(gap)
            failure = Failure(hazard, unit, cluster.behind(hazard.on, unit), [random() for _ in range(LOTS)])
            for node in self.fleet.in_service(failure.nodes):
                if node not in self.nodes:
                    self.env.process(self._mend(node, failure, ""))
                elif not (node in self.leaving and self.stopped):
                    self.job.interrupt(failure)
                    self.leaving[node] = failure
                    failure.draw(), failure.draw()  # for seeing and understanding it, which take fixed times here

    def _job(self) -> Steps:
        restart, rng = self.job_plan.restart, None
        starting = restart.reschedule.mean + restart.load.mean + restart.warm_up.mean
        while True:
            try:
                if rng is not None:
                    self.stopped = True
                    yield from self._spend("restart", restart.detect.mean + restart.diagnose.mean)
                    self.stopped = False
                    self._leave()
                while self.fleet.free(True) < self.job_plan.nodes - len(self.nodes):
                    yield from self._wait()
                self.nodes.update(self.fleet.take(self.job_plan.nodes - len(self.nodes), self.job_plan.name))
                self.job_changes += 2
                yield from self._spend("restart", starting)
                self.job_changes += 1
                yield from self._compute()
            except simpy.Interrupt as stop:
                rng = stop.cause
                self.interruptions += 1
                self.job_changes += not self.stopped

    def _spend(self, part: str, seconds: float) -> Steps:
        since = self.env.now
        try:
            yield self.env.timeout(seconds)
        finally:
            self.parts[part] += (self.env.now - since) * len(self.nodes)

    def _wait(self) -> Steps:
        since = self.env.now
        try:
            yield self.returned
        finally:
            self.parts["waiting"] += (self.env.now - since) * len(self.nodes)

    def _compute(self) -> Steps:
        """Cycle by cycle; what is not saved when the job is interrupted is to be done again."""
        plan = self.job_plan.checkpoints
        number = len(self.nodes)
        while True:
            since = self.env.now
            try:
                yield self.env.timeout(plan.interval)
                yield self.env.timeout(plan.write)
            except simpy.Interrupt:
                self.parts["rework"] += (self.env.now - since) * number
                raise
            self.parts["productive"] += plan.interval * number
            self.parts["checkpoint"] += plan.write * number
            self.saves += 1

    def _leave(self) -> None:
        for node, failure in sorted(self.leaving.items(), key=lambda item: item[0]):
            self.nodes.discard(node)
            self.env.process(self._mend(node, failure, self.job_plan.name))
        self.leaving.clear()

    def _mend(self, node: int, failure: Failure, job: str) -> Steps:
        fleet, repair = self.fleet, self.scenario.repair
        if failure.draw() < failure.hazard.swap:
            self.broken.add(node)
        fleet.happen(node, _H.FAILED, failure.hazard.name)
        if job:
            fleet.happen(node, _H.JOB_ENDED, job=job)
        fleet.happen(node, _H.EMPTIED)
        while True:
            verbs = fleet.happen(node, _H.NEXT_REPAIR) if fleet.histories[node].state.may_repair else ()
            if Verb.RESET_GPU in verbs or Verb.REBOOT in verbs:
                yield self.env.timeout((repair.reset if Verb.RESET_GPU in verbs else repair.reboot).mean)
                fleet.happen(node, _H.RESET_DONE)
            else:
                fleet.happen(node, _H.REMOVE)
                with self.crews.request() as crew:
                    yield crew
                    yield self.env.timeout(repair.time.mean)
                self.broken.discard(node)
                fleet.happen(node, _H.RELEASE)
            yield self.env.timeout(repair.test.mean)
            if node not in self.broken:
                break
            fleet.happen(node, _H.TEST_FAILED, failure.hazard.name)
        fleet.happen(node, _H.TEST_PASSED, spare=fleet.guard.spares_wanted() > fleet.stages[Stage.SPARE])
        self.returned.succeed()
        self.returned = self.env.event()
