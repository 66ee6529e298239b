"""The whole machine under any sequence: agents that are late, doubled and silent, jobs, people, restarts, reloads.

What must hold: nothing is ready untested; the breaker's cap; our manners; one parent per failure; spares by need.
"""

import pytest

pytest.importorskip("sqlalchemy")

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from holdfast.fleet.decisions.breaker import breaker, spares_wanted, tally
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import OnDegraded, OnUnknownTest, Policy
from holdfast.fleet.incidents.register import is_parent
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import OUT_OF_SERVICE, EventKind, NodeState, Stage, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange

COUNT = 14
NAMES = [f"n{i}" for i in range(COUNT)]
CHECKS = ("gpu.xid", "fabric.port_down")
PEOPLE = (EventKind.QUARANTINE, EventKind.RELEASE, EventKind.RETEST, EventKind.REMOVE)
POLICIES = (
    Policy(dry_run=False, shared_nodes=3, breaker_share=0.3, spares=2),
    Policy(dry_run=False, shared_nodes=3, shared_wait_seconds=0.0, breaker_share=0.3, breaker_nodes=2, suite="2"),
    Policy(shadow_checks=frozenset({"gpu.xid"}), spares=1, suite_seconds=30.0, inconclusive_tests=1),
    Policy(shared_nodes=99, service_degraded=OnDegraded.FAIL, bootstrap_degraded=OnDegraded.FAIL, breaker_share=0.2),
    Policy(bootstrap_unknown=OnUnknownTest.OPERATOR, degraded_repeats=1, pools={"b": Policy(breaker_share=0.5)}),
    Policy(maintenance=(Maintenance(name="m", pool="b", start=0.0, end=5_000.0),), breaker_share=0.3),
)
node_names = st.sampled_from(NAMES)
some_nodes = st.lists(node_names, min_size=1, max_size=8, unique=True)


class AnyFleet(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0
        self.fleet = Fleet(POLICIES[0])
        self.stored: dict[str, Incident] = {}
        self.lives: dict[str, NodeState] = {}
        self.cordoned: set[str] = set()  # by an action of ours, as a scheduler would know it
        self.workload: dict[str, float] = {}
        self.sent: list[Report] = []
        self.keys: set[str] = set()

    @initialize()
    def begins(self) -> None:
        for number, name in enumerate(NAMES):
            place = {"leaf": f"l{number // 4}", "loop": f"c{number // 8}", "feed": f"f{number // 8}"}
            self.took(self.fleet.enrol(name, "ab"[number % 3 == 0], place, self.now))
            self.test(name, "pass")

    # What can happen

    @rule(
        nodes=some_nodes, check=st.sampled_from(CHECKS), after=st.sampled_from(["fail", "pass", "degraded", "unknown"])
    )
    def verdicts(self, nodes: list[str], check: str, after: str) -> None:
        for name in nodes:
            self.report(name, changes=(VerdictChange(at=self.now, check=check, before="", after=after, reason=after),))

    @rule(name=node_names, late=st.floats(1, 5_000), after=st.sampled_from(["fail", "pass"]))
    def late_verdict(self, name: str, late: float, after: str) -> None:
        change = VerdictChange(at=self.now - late, check="gpu.xid", before="", after=after, reason="late")
        self.report(name, changes=(change,))

    @rule(number=st.integers(0, 1_000))
    def sent_twice(self, number: int) -> None:
        if self.sent:
            self.took(self.fleet.take(self.sent[number % len(self.sent)], self.now), again=True)

    @rule(
        nodes=some_nodes,
        health=st.sampled_from(["pass", "pass", "fail", "unknown", "degraded", "nonsense"]),
        took=st.floats(0.1, 50),
        suite=st.sampled_from(["1", "2"]),
    )
    def tests(self, nodes: list[str], health: str, took: float, suite: str) -> None:
        for name in nodes:
            self.test(name, health, took, suite)

    def test(self, name: str, health: str, took: float = 0.1, suite: str = "1") -> None:
        outcome = OrderOutcome(order=1, verb="retest", ok=True, health=health, cause="gpu.xid", suite=suite)
        self.now += 0.5
        self.report(name, outcomes=(_begun(outcome, self.now - took),))

    @rule(nodes=some_nodes, verb=st.sampled_from(["reset_gpu", "reboot"]), ok=st.booleans())
    def reset(self, nodes: list[str], verb: str, ok: bool) -> None:
        for name in nodes:
            self.took(self.fleet.acted(name, Verb(verb), ok, "said so", self.now))

    @rule(held=st.dictionaries(node_names, st.sets(st.sampled_from(["j1", "j2"])), max_size=5))
    def scheduler_says(self, held: dict[str, set[str]]) -> None:
        before = {name: self.fleet.nodes[name].jobs for name in held}
        statuses = [
            NodeStatus(node=n, accepts_work=True, cordoned=False, down=False, busy=bool(jobs), jobs=frozenset(jobs))
            for n, jobs in held.items()
        ]
        self.took(self.fleet.observe(statuses, self.now))
        self.workload.update({name: self.now for name, jobs in held.items() if before[name] != jobs})

    @rule(nodes=some_nodes, after=st.floats(0, 20), took=st.floats(0.1, 50), suite=st.sampled_from(["1", "2"]))
    def a_job_and_a_test(self, nodes: list[str], after: float, took: float, suite: str) -> None:
        """The test may have begun while the job still ran."""
        self.scheduler_says({name: {"j3"} for name in nodes})
        self.now += 10
        self.scheduler_says({name: set() for name in nodes})
        self.now += after
        self.took(self.fleet.tick(self.now))
        self.tests(nodes, "pass", took, suite)

    @rule(name=node_names, request=st.sampled_from(PEOPLE))
    def person(self, name: str, request: EventKind) -> None:
        self.took(self.fleet.operator(name, request, "because", "ann", self.now), person=True)

    @rule(seconds=st.sampled_from([0.0, 1.0, 1.0, 30.0, 130.0, 700.0, -60.0]), times=st.integers(1, 3))
    def time_passes(self, seconds: float, times: int) -> None:
        """Clocks may step back."""
        for _ in range(times):
            self.now += seconds
            self.took(self.fleet.tick(self.now))
        if seconds >= 0:
            self.settled()

    @rule(policy=st.sampled_from(POLICIES))
    def reload(self, policy: Policy) -> None:
        self.fleet.policy = policy

    @rule()
    def restart(self) -> None:
        """From what the store holds, which is what the steps said."""
        old = self.fleet
        self.keep_incidents()
        state = {name: old.verdicts(name) for name in NAMES}
        self.fleet = Fleet(old.policy, self.lives.values(), state, incidents=self.stored.values())
        self.fleet.last_report_at.update(old.last_report_at)
        assert self.fleet.nodes == old.nodes

    # How it is taken

    def report(self, name: str, **expected: object) -> None:
        report = Report(node=name, session="s", seq=len(self.sent), at=self.now, **expected)  # type: ignore[arg-type]
        self.sent.append(report)
        self.took(self.fleet.take(report, self.now))

    def took(self, steps: list[LifecycleStep], *, person: bool = False, again: bool = False) -> None:
        for step in steps:
            self.breaker_held(step, person)
            too_many = self.spares_too_many(step.node.pool)
            self.lives[step.node.name] = step.node
            if step.transition.event.kind is EventKind.PROMOTED:
                assert too_many > 0
            if step.transition.after is Stage.SPARE is not step.transition.before:
                assert self.spares_too_many(step.node.pool) <= 0
            for action in step.actions:
                self.manners(step, action.verb)
            assert step.transition.reason
        self.keep_incidents()

    def keep_incidents(self) -> None:
        self.stored.update({one.id: one for one in self.fleet.incidents.take_changed()})

    def breaker_held(self, step: LifecycleStep, person: bool) -> None:
        """Whoever leaves by our doing finds room; people may do what they like."""
        before = self.lives.get(step.node.name)
        if person or before is None or before.out or not step.node.out:
            return
        assert not breaker(self.lives.values(), before.pool, self.fleet.policy).open, step

    def spares_too_many(self, pool: str) -> int:
        counted = tally(self.lives.values(), pool)
        return len(counted.spares) - spares_wanted(counted, pool, self.fleet.policy)

    def manners(self, step: LifecycleStep, verb: Verb) -> None:
        name = step.node.name
        if verb in (Verb.CORDON, Verb.DRAIN):
            self.cordoned.add(name)
        if verb is Verb.UNCORDON:
            assert name in self.cordoned, "we lift no cordon but ours"
            assert step.node.stage is Stage.READY
            assert step.node.freshly_tested
            assert step.node.takes_work
            self.cordoned.discard(name)

    def settled(self) -> None:
        """After a tick no more spares are held back than are wanted."""
        assert all(self.spares_too_many(pool) <= 0 for pool in "ab")

    # What must hold

    @invariant()
    def nothing_is_ready_that_is_not_freshly_tested(self) -> None:
        for node in self.fleet.nodes.values():
            if node.stage in (Stage.READY, Stage.SPARE) and node.tested_at is not None:
                assert node.freshly_tested, node
                assert node.tested_at > self.workload.get(node.name, 0.0)

    @invariant()
    def what_takes_no_work_is_closed_in_the_scheduler(self) -> None:
        for node in self.fleet.nodes.values():
            assert node.takes_work or node.stage is Stage.CLEANING or node.name in self.cordoned, node

    @invariant()
    def a_failure_has_one_parent(self) -> None:
        seen: set[str] = set()
        for subject in self.fleet.incidents.open:
            if is_parent(subject):
                members = self.fleet.incidents.members(subject)
                assert members
                assert not members & seen
                seen |= members

    @invariant()
    def what_is_stored_is_what_is(self) -> None:
        assert all(self.lives[name] == node for name, node in self.fleet.nodes.items())

    @invariant()
    def no_node_waits_unseen_for_ever(self) -> None:
        """Whoever is held says by what."""
        for node in self.fleet.nodes.values():
            if node.held and not (node.cause == "operator" and node.stage in OUT_OF_SERVICE):
                assert node.held.rstrip("?").partition("/")[2] in node.reason, node

    @invariant()
    def whoever_is_removed_leaves_when_empty(self) -> None:
        for node in self.fleet.nodes.values():
            assert not node.leaving or node.stage in (Stage.DRAINING, Stage.REMOVED), node
            assert not node.leaving or node.stage is Stage.REMOVED or node.jobs, node


def _begun(outcome: OrderOutcome, began: float) -> OrderOutcome:
    return OrderOutcome(
        order=outcome.order,
        verb=outcome.verb,
        ok=outcome.ok,
        health=outcome.health,
        cause=outcome.cause,
        suite=outcome.suite,
        began=began,
    )


def test_small_counts() -> None:
    run_state_machine_as_test(AnyFleet, settings=settings(stateful_step_count=25))


@pytest.mark.soak
def test_full_counts() -> None:
    run_state_machine_as_test(AnyFleet, settings=settings(max_examples=5_000, stateful_step_count=60))
