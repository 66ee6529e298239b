"""What another policy would have done: stored verdict changes, replayed through the same judgement, with no effect.

The world is assumed to obey: a reset succeeds, a drained node is empty at once, and a test finds what the checks of
that moment said. Nodes begin the span ready and tested, and no agent counts as silent.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.controller.fleet import RESETS, Fleet
from holdfast.lifecycle.policy import Policy
from holdfast.model.health import Health
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.life import NodeLife, Stage, Verb
from holdfast.model.report import OrderOutcome, Report, VerdictChange
from holdfast.store.words import Step

MOST_ROUNDS = 16  # of consequences to one change; a ladder is shorter


@dataclass(slots=True)
class Preview:
    changes: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    nodes: Counter[str] = field(default_factory=Counter)  # node -> times it left service
    incidents: list[Incident] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def preview(
    policy: Policy, nodes: Iterable[NodeLife], changes: Sequence[tuple[str, VerdictChange]], since: float
) -> Preview:
    fleet = Fleet(policy, [_fresh(node, since, policy) for node in nodes])
    found = Preview(changes=len(changes))
    for number, (name, change) in enumerate(changes, start=1):
        report = Report(node=name, session="preview", seq=number, at=change.at, changes=(change,))
        _let_follow(fleet, fleet.take(report, change.at), change.at, found)
    found.incidents = [one for one in fleet.incidents.take_changed() if one.state is IncidentState.OPEN]
    return found


def _fresh(node: NodeLife, since: float, policy: Policy) -> NodeLife:
    return NodeLife(
        name=node.name,
        pool=node.pool,
        place=node.place,
        stage=Stage.READY,
        since=since,
        tested_at=since,
        tested_suite=policy.of(node.pool).suite,
        reason="start",
    )


def _let_follow(fleet: Fleet, steps: list[Step], now: float, found: Preview) -> None:
    for name in fleet.nodes:
        fleet.heard[name] = now
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


def _count(steps: Sequence[Step], found: Preview) -> None:
    found.steps += steps
    for step in steps:
        found.actions.update(action.verb.value for action in step.actions)
        if step.transition.after is Stage.DRAINING and step.transition.before is not Stage.DRAINING:
            found.nodes[step.node.name] += 1


def _obey(fleet: Fleet, node: str, verb: Verb, now: float) -> list[Step]:
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
