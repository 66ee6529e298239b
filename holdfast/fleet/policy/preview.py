"""Previews a policy: replays stored verdict changes through the same decisions, without effect.

The preview assumes that every reset succeeds, that a drained node is empty at once, and that a test gives the verdicts
of that moment. At the beginning all nodes are tested, with the policy's number of spares, and no agent is silent.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from holdfast.fleet.decisions.fleet import RESETS, Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.timers import HELD_RETEST_SECONDS
from holdfast.model.health import Health
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import EventKind, NodeState, Stage, Verb
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.probe import ProbePolicy
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange

AFTERWARDS_SECONDS = 3600.0
MOST_ROUNDS = 16  # rounds of consequences of one change; more than all repair steps


@dataclass(slots=True)
class Preview:
    changes: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    nodes: Counter[str] = field(default_factory=Counter)  # node -> times it left service
    held: Counter[str] = field(default_factory=Counter)  # guard -> nodes that it held
    promoted: int = 0  # promoted spares
    incidents: list[Incident] = field(default_factory=list)  # without incidents that a better explanation absorbed
    steps: list[LifecycleStep] = field(default_factory=list)


def preview(
    policy: Policy, nodes: Iterable[NodeState], changes: Sequence[tuple[str, VerdictChange]], since: float
) -> Preview:
    policy = replace(policy, probes=ProbePolicy())  # no probes in a replay
    fleet = Fleet(policy, _fresh(nodes, since, policy))
    found = Preview(changes=len(changes))
    now = since
    for number, (name, change) in enumerate(changes):
        for moment in _moments(fleet, now, change.at):
            _let_follow(fleet, [], moment, found)
        now = max(now, change.at)
        report = Report(node=name, session="preview", seq=number, at=now, changes=(change,))
        _let_follow(fleet, fleet.take(report, now), now, found)
    for moment in _moments(fleet, now, now + AFTERWARDS_SECONDS):
        _let_follow(fleet, [], moment, found)
    found.incidents = [one for one in fleet.incidents.take_changed() if one.id not in fleet.incidents.absorbed]
    return found


def _moments(fleet: Fleet, since: float, until: float) -> list[float]:
    """Times between two changes at which timers may decide."""
    policy = fleet.policy
    waits = (policy.shared_first_seconds, policy.shared_wait_seconds, policy.shared_seconds, HELD_RETEST_SECONDS)
    somebody_waits = any(node.held for node in fleet.nodes.values())
    moments = {since + wait for wait in waits if somebody_waits}
    moments.update(at for window in policy.maintenance for at in window.boundaries(since, until))
    return sorted(at for at in moments if since < at < until)


def _fresh(nodes: Iterable[NodeState], since: float, policy: Policy) -> list[NodeState]:
    spares: Counter[str] = Counter()
    made = []
    for node in sorted(nodes, key=lambda node: node.name):
        spare = spares[node.pool] < policy.of(node.pool).spares
        spares[node.pool] += spare
        made.append(_tested(node, since, policy, Stage.SPARE if spare else Stage.READY))
    return made


def _tested(node: NodeState, since: float, policy: Policy, stage: Stage) -> NodeState:
    return NodeState(
        name=node.name,
        pool=node.pool,
        place=node.place,
        stage=stage,
        since=since,
        tested_at=since,
        tested_suite=policy.of(node.pool).suite,
        reason="start",
    )


def _let_follow(fleet: Fleet, steps: list[LifecycleStep], now: float, found: Preview) -> None:
    for name in fleet.nodes:
        fleet.last_report_at[name] = now
    for _ in range(MOST_ROUNDS):
        steps += fleet.tick(now)
        if not steps:
            return
        _count(steps, found)
        steps = [
            answer
            for step in steps
            for action in step.actions
            for answer in _obey(fleet, action.node, action.verb, now)
        ]


def _count(steps: Sequence[LifecycleStep], found: Preview) -> None:
    found.steps += steps
    for step in steps:
        found.actions.update(action.verb.value for action in step.actions)
        if step.transition.after is Stage.DRAINING and step.transition.before is not Stage.DRAINING:
            found.nodes[step.node.name] += 1
        if step.transition.event.kind is EventKind.HELD:
            found.held[step.transition.event.holder] += 1
        found.promoted += step.transition.event.kind is EventKind.PROMOTED


def _obey(fleet: Fleet, node: str, verb: Verb, now: float) -> list[LifecycleStep]:
    if verb in RESETS:
        return fleet.acted(node, verb, True, "assumed to succeed", now)
    if verb is not Verb.RETEST:
        return []
    failing = next((one for one in fleet.verdicts(node) if one.after == Health.FAIL.value), None)
    health = Health.FAIL if failing else Health.PASS
    outcome = OrderOutcome(
        order=0,
        verb=Verb.RETEST.value,
        ok=True,
        health=health.value,
        cause=failing.check if failing else "",
        reason=failing.reason if failing else "assumed: no check fails",
        began=now,
    )
    return fleet.take(Report(node=node, session="preview", seq=0, at=now, outcomes=(outcome,)), now)
