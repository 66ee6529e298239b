"""Decisions and a scheduler together, in any order: no job starts where it must not, nothing is reset that is in use.

The scheduler is a model with Slurm's habits: a drain lets running work finish, it forgets what it has not heard since
its start, it may be away or hang, an administrator resumes, downs and reboots nodes, and a job starts in every gap.
"""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from holdfast.fleet.controller.orders import fits
from holdfast.fleet.decisions.fleet import RESETS, SCHEDULING, Fleet
from holdfast.fleet.decisions.lifecycle.machine import needs_operator
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.slurm_reconciler import SlurmReconciler, ended_repairs
from holdfast.model.lifecycle import OUT_OF_SERVICE, Action, EventKind, Stage, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange
from tests.counts import draws

NAMES = tuple(f"n{number}" for number in range(6))
POLICY = Policy(dry_run=False, breaker_share=0.5, flush_seconds=0.0, degraded_repeats=2)
ROUNDS_TO_HEAL = 25  # minutes: longer than any timer
nodes = st.sampled_from(NAMES)


@dataclass
class Machine:
    """A node as the scheduler and the hardware have it."""

    drained: bool = False
    ours: bool = False
    down: bool = False
    known: bool = True
    jobs: set[str] = field(default_factory=set)
    tested: bool = False  # the mark on the node: used by a job, or taken by a failure
    fails: bool = False
    by_operator: bool = False  # quarantined by an operator, and not released
    reserved: set[str] = field(default_factory=set)  # our reservations: nothing new starts

    @property
    def open(self) -> bool:
        return self.known and not (self.drained or self.down or self.reserved)


class WithAScheduler(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0
        self.fleet = Fleet(POLICY, scheduled=True)
        self.keeper = SlurmReconciler()
        self.machines = {name: Machine() for name in NAMES}
        self.away = False
        self.todo: list[Action] = []
        self.repairing: dict[str, Action] = {}  # hardware is being touched
        self.count = 0

    @initialize()
    def begins(self) -> None:
        for number, name in enumerate(NAMES):
            self.take(self.fleet.enrol(name, "default", {"leaf": f"l{number // 3}"}, self.now))
        self.work(len(self.todo))
        for name in NAMES:
            self.test(name, "pass")
        self.work(len(self.todo))

    # ------------------------------------------------ the nodes and their agents

    @rule(name=nodes, check=st.sampled_from(["gpu.lost", "fabric.errors"]), after=st.sampled_from(["fail", "degraded"]))
    def turns_bad(self, name: str, check: str, after: str) -> None:
        self.machines[name].fails |= after == "fail"
        self.machines[name].tested &= after != "fail"  # the agent withdraws its mark before anybody hears of it
        self.verdict(name, check, after)

    @rule(name=nodes, check=st.sampled_from(["gpu.lost", "fabric.errors"]))
    def turns_well(self, name: str, check: str) -> None:
        self.machines[name].fails = False
        for one in ("gpu.lost", "fabric.errors"):
            self.verdict(name, one, "pass")

    @rule(name=nodes)
    def a_part_is_replaced(self, name: str) -> None:
        self.machines[name].fails = False
        self.take(self.fleet.part_replaced(name, "gpu", "gpu/1: B was replaced by C", self.now))

    def verdict(self, name: str, check: str, after: str) -> None:
        change = VerdictChange(at=self.now, check=check, before="", after=after, reason=after)
        self.report(name, changes=(change,))

    @rule(name=nodes, health=st.sampled_from(["pass", "pass", "fail"]))
    def is_tested(self, name: str, health: str) -> None:
        if self.fleet.nodes[name].stage is Stage.TESTING and not self.machines[name].jobs:
            self.test(name, "fail" if self.machines[name].fails else health)

    def test(self, name: str, health: str) -> None:
        self.now += 1.0
        self.machines[name].tested = health == "pass"
        outcome = OrderOutcome(order=1, verb="retest", ok=True, health=health, cause="gpu.lost", began=self.now - 0.5)
        self.report(name, outcomes=(outcome,))

    def report(self, name: str, **facts: object) -> None:
        self.count += 1
        report = Report(node=name, session="s", seq=self.count, at=self.now, **facts)  # type: ignore[arg-type]
        self.take(self.fleet.take(report, self.now))

    # ------------------------------------------------ the scheduler and its users

    @rule(name=nodes)
    def a_job_comes(self, name: str) -> None:
        """It starts wherever the scheduler lets it and the prolog does not refuse."""
        machine = self.machines[name]
        if not machine.open or self.away:
            return
        assert name not in self.repairing, "the scheduler has the node under repair to give"
        if not self.prolog(name):
            machine.drained, machine.ours = True, True  # the gate drains with our reason before it refuses
            return
        state = self.fleet.nodes[name]
        assert not machine.fails, state
        assert not state.held, state
        assert state.stage in (Stage.READY, Stage.ALLOCATED), state
        self.count += 1
        machine.jobs.add(f"j{self.count}")
        machine.tested = False

    @rule(name=nodes)
    def a_job_comes_with_a_slow_prolog(self, name: str) -> None:
        """The scheduler shows the job as running while its prolog has yet to ask: the controller sees it first."""
        machine = self.machines[name]
        if not machine.open or self.away:
            return
        assert name not in self.repairing, "the scheduler has the node under repair to give"
        closed = self.fleet.closed(name)
        self.count += 1
        job = f"j{self.count}"
        machine.jobs.add(job)
        self.looks()
        if self.prolog(name):
            assert not closed, (closed, self.fleet.nodes[name])
            machine.tested = False
        else:
            machine.jobs.discard(job)
            machine.drained, machine.ours = True, True

    def prolog(self, name: str) -> bool:
        """The real rules: the verdict on the node, the controller's answer, and the mark of the last test."""
        machine = self.machines[name]
        return not machine.fails and machine.tested and not self.fleet.closed(name)

    @rule(name=nodes)
    def a_job_ends(self, name: str) -> None:
        machine = self.machines[name]
        if machine.jobs:
            machine.jobs.pop()
            machine.tested = False
            if not self.away:
                machine.drained, machine.ours = True, machine.ours or not machine.drained  # the epilog

    @rule(name=nodes, what=st.sampled_from(["resume", "down", "reboot", "drain"]))
    def an_administrator(self, name: str, what: str) -> None:
        machine = self.machines[name]
        if self.away:
            return
        if what == "resume":
            machine.drained = machine.ours = machine.down = False
        elif what == "drain":
            machine.drained, machine.ours = True, False
        else:
            machine.down = what == "down"
            machine.jobs.clear()
            machine.tested &= what != "reboot"

    @rule()
    def scheduler_goes(self) -> None:
        self.away = True

    @rule()
    def scheduler_returns(self) -> None:
        """It has to hear of each node first."""
        if self.away:
            self.away = False
            for machine in self.machines.values():
                machine.known = False

    @rule(name=nodes)
    def registers(self, name: str) -> None:
        self.machines[name].known = True

    # ------------------------------------------------ the controller

    @rule()
    def looks(self) -> None:
        if self.away:
            return
        self.now += 1.0
        statuses = [self.status(name) for name in NAMES]
        settled = [one for one in statuses if self.fleet.nodes[one.node].since < self.now]
        self.take(self.fleet.observe(settled, self.now, self.now))
        self.todo += self.keeper.due(settled, self.fleet.nodes, self.now)
        reserved = {one: name for name, machine in self.machines.items() for one in machine.reserved}
        for one in ended_repairs(reserved, self.fleet.nodes, self.now, self.repairing):
            self.machines[reserved[one]].reserved.discard(one)

    def status(self, name: str) -> NodeStatus:
        machine = self.machines[name]
        return NodeStatus(
            node=name,
            accepts_work=machine.open,
            cordoned=machine.drained,
            down=machine.down,
            busy=bool(machine.jobs) and machine.known,
            known=machine.known,
            ours=machine.drained and machine.ours,
            jobs=frozenset(machine.jobs) if machine.known else frozenset(),
        )

    @rule(count=st.integers(1, 5))
    def works(self, count: int) -> None:
        self.work(count)

    def work(self, count: int) -> None:
        """The oldest actions. One that the scheduler does not take is tried again, for ever."""
        waiting: list[Action] = []
        for _ in range(min(count, len(self.todo))):
            action = self.todo.pop(0)
            if not fits(action.verb, self.fleet.nodes[action.node]):
                continue
            if action.verb in RESETS:
                if action.node in self.repairing:
                    continue  # what is done to one node is done in order
                if not self.fleet.may_reset(action.node, self.now) or not self.close_for_repair(action):
                    waiting.append(action)
                    continue
                self.repairing[action.node] = action
            elif action.verb in SCHEDULING:
                waiting += [] if self.schedule(action) else [action]
        self.todo = waiting + self.todo

    def close_for_repair(self, action: Action) -> bool:
        """As the back end does it: reserve, drain, look."""
        machine = self.machines[action.node]
        if self.away:
            return False
        machine.reserved.add(action.key)
        if not machine.drained:
            machine.drained, machine.ours = True, True
        return machine.known and not machine.jobs

    @rule(ok=st.booleans())
    def a_repair_step_ends(self, ok: bool) -> None:
        """Long after the look that allowed it: an administrator may have resumed the node meanwhile."""
        if not self.repairing:
            return
        name = next(iter(self.repairing))
        machine, action = self.machines[name], self.repairing.pop(name)
        assert machine.drained or machine.reserved, (action, machine)
        assert not machine.jobs, (action, machine)
        machine.tested = False
        self.take(self.fleet.acted(name, action.verb, ok, "done", self.now))

    def schedule(self, action: Action) -> bool:
        machine = self.machines[action.node]
        if self.away:
            return False
        if action.verb is Verb.UNCORDON:
            if machine.drained and machine.ours and not machine.down:
                machine.drained = machine.ours = False
        elif not machine.drained:
            machine.drained, machine.ours = True, True
        self.fleet.acted(action.node, action.verb, True, "done", self.now)
        return True

    @rule(seconds=st.sampled_from([1.0, 10.0, 35.0, 70.0, 700.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.fleet.last_report_at.update(dict.fromkeys(NAMES, self.now))
        self.take(self.fleet.tick(self.now))

    @rule(name=nodes, kind=st.sampled_from([EventKind.QUARANTINE, EventKind.RELEASE, EventKind.RETEST]))
    def an_operator(self, name: str, kind: EventKind) -> None:
        before = self.fleet.nodes[name]
        self.take(self.fleet.operator(name, kind, "because", "ann", self.now))
        machine = self.machines[name]
        machine.by_operator = kind is EventKind.QUARANTINE or (machine.by_operator and kind is not EventKind.RELEASE)
        if kind is EventKind.RETEST and before.stage is Stage.QUARANTINED and before.cause == "operator":
            assert self.fleet.nodes[name].stage is Stage.QUARANTINED, "a re-test releases no operator's quarantine"

    def take(self, steps: list[LifecycleStep]) -> None:
        self.todo += [action for step in steps for action in step.actions]

    @rule(name=nodes, waits=st.sampled_from([1.0, 35.0, 70.0]))
    def fails_while_the_scheduler_restarts(self, name: str, waits: float) -> None:
        """In the middle of a job. Afterwards the scheduler shows the node before it has heard of it."""
        self.a_job_comes(name)
        self.looks()
        self.scheduler_goes()
        self.turns_bad(name, "gpu.lost", "fail")
        self.time_passes(waits)
        self.works(5)
        self.scheduler_returns()
        for _ in range(3):
            self.looks()
            self.time_passes(1.0)
            self.works(5)

    @rule(name=nodes, looks=st.booleans())
    def is_resumed_by_hand_during_its_repair(self, name: str, looks: bool) -> None:
        """Out of service, empty, and a step begins, if nothing holds it. Then comes the administrator, and a job."""
        self.turns_bad(name, "gpu.lost", "fail")
        for _ in range(4):
            self.time_passes(35.0)
            self.looks()
            self.time_passes(1.0)
            self.work(len(self.todo))
        self.an_administrator(name, "resume")
        if looks:
            self.looks()
        self.a_job_comes_with_a_slow_prolog(name)
        self.a_repair_step_ends(ok=True)

    # ------------------------------------------------ how it must end

    def teardown(self) -> None:
        """Everything heals, every job ends, the scheduler answers and agents pass their tests: then every node works
        again, except those that wait for an operator and those that an administrator drained."""
        if not self.fleet.nodes:
            return
        self.away = False
        for name, machine in self.machines.items():
            machine.known, machine.down = True, False
            machine.jobs.clear()
            self.turns_well(name, "gpu.lost")
        for _ in range(ROUNDS_TO_HEAL):
            self.time_passes(60.0)
            self.looks()
            self.time_passes(1.0)
            self.work(len(self.todo))
            while self.repairing:
                self.a_repair_step_ends(ok=True)
            for name in NAMES:
                if self.fleet.nodes[name].stage is Stage.TESTING and self.fleet.nodes[name].asked_at is not None:
                    self.test(name, "pass")
        for name, machine in self.machines.items():
            state = self.fleet.nodes[name]
            assert state.takes_work or needs_operator(state, POLICY), (state, machine)
            assert not (state.takes_work and machine.drained and machine.ours), (state, machine)
            assert not machine.reserved, (state, machine)
            assert machine.drained or state.takes_work, (state, machine)
            assert not (state.takes_work and state.held), state

    # ------------------------------------------------ what must hold

    @invariant()
    def what_failed_takes_no_work(self) -> None:
        for name, machine in self.machines.items():
            state = self.fleet.nodes[name]
            assert not (machine.fails and state.takes_work), state

    @invariant()
    def nothing_leaves_draining_while_it_may_be_in_use(self) -> None:
        for name, machine in self.machines.items():
            if self.fleet.nodes[name].stage is Stage.RESETTING:
                assert not machine.jobs, name

    @invariant()
    def what_an_operator_took_out_stays_out(self) -> None:
        for name, machine in self.machines.items():
            state = self.fleet.nodes.get(name)
            if machine.by_operator and state is not None:
                assert state.stage in (Stage.DRAINING, Stage.QUARANTINED), state
                assert not state.takes_work, state

    @invariant()
    def what_is_out_of_service_was_not_tested_since(self) -> None:
        for state in self.fleet.nodes.values():
            assert state.stage not in OUT_OF_SERVICE or state.tested_at is None


def test_small_counts() -> None:
    run_state_machine_as_test(
        WithAScheduler, settings=settings(max_examples=draws(12, 60), stateful_step_count=40, deadline=None)
    )


@pytest.mark.soak
def test_full_counts() -> None:
    many = settings(max_examples=5_000, stateful_step_count=80, deadline=None)
    run_state_machine_as_test(WithAScheduler, settings=many)


def test_a_state_that_is_unknown_to_the_scheduler_is_never_empty() -> None:
    seen = NodeStatus(node="n1", accepts_work=False, cordoned=True, down=False, busy=False)
    assert seen.drained_and_empty
    for change in ({"known": False}, {"cordoned": False}, {"accepts_work": True}, {"busy": True}, {"jobs": {"7"}}):
        assert not replace(seen, **change).drained_and_empty  # type: ignore[arg-type]
