"""A fleet that is told things, and a clock that moves when it is asked to."""

from collections.abc import Callable, Sequence
from itertools import count

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.lifecycle import Stage, Verb
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.probe import Proof
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange

POLICY = Policy(dry_run=False, shared_first_seconds=0.0)  # tests of the wait set their own


def _keys() -> Callable[[], str]:
    numbers = count()
    return lambda: f"key-{next(numbers)}"


class SimulatedFleet:
    """A fleet and a clock; every step is kept."""

    def __init__(
        self,
        count: int = 16,
        policy: Policy = POLICY,
        per_leaf: int = 8,
        place: Callable[[int], dict[str, str]] | None = None,
        pool: str = "default",
    ) -> None:
        self.fleet = Fleet(policy, new_key=_keys())
        self.stored: dict[str, Incident] = {}  # as a store would keep them, by their ids
        self.now = 0.0
        self.quiet: set[str] = set()
        self.steps: list[LifecycleStep] = []
        self._sequence = 0
        for index in range(count):
            name = f"n{index}"
            where = place(index) if place else {"leaf": f"l{index // per_leaf}"}
            self.steps += self.fleet.enrol(name, pool, where, self.now)
            self.test(name)

    def says(
        self,
        node: str,
        check: str,
        after: str,
        at: float | None = None,
        outcome: OrderOutcome | None = None,
        session: str = "s",
    ) -> None:
        self._sequence += 1
        when = self.now if at is None else at
        changes = (
            (VerdictChange(at=when, check=check, before="pass", after=after, reason=f"{check} {after}"),)
            if check
            else ()
        )
        outcomes = (outcome,) if outcome else ()
        report = Report(node=node, session=session, seq=self._sequence, at=when, changes=changes, outcomes=outcomes)
        self.steps += self.fleet.take(report, self.now)

    def test(self, node: str, health: str = "pass", cause: str = "") -> None:
        self.now += 1
        began = self.now - 0.5
        outcome = OrderOutcome(
            order=1, verb="retest", ok=True, health=health, cause=cause, reason="", began=began, suite=POLICY.suite
        )
        self.says(node, "", "", outcome=outcome)

    def reset(self, node: str, verb: str = "reset_gpu", ok: bool = True) -> None:
        outcome = OrderOutcome(order=2, verb=verb, ok=ok, health="", cause="", reason="", began=self.now, suite="")
        self.says(node, "", "", outcome=outcome)

    def passes(self, seconds: float = 1.0) -> None:
        """Time, in which every agent beats that is not quiet."""
        self.now += seconds
        self.fleet.last_report_at.update({name: self.now for name in self.fleet.nodes if name not in self.quiet})
        self.steps += self.fleet.tick(self.now)

    def restarts(self, proofs: Sequence[Proof] = ()) -> None:
        """Another fleet from what the store holds: nodes, standing verdicts and open incidents."""
        self._store()
        old = self.fleet
        state = {name: old.verdicts(name) for name in old.nodes}
        self.fleet = Fleet(
            old.policy, old.nodes.values(), state, incidents=self.stored.values(), proofs=proofs, new_key=_keys()
        )
        self.fleet.last_report_at.update(old.last_report_at)

    def incidents(self, state: IncidentState = IncidentState.OPEN) -> dict[str, Incident]:
        self._store()
        return {one.subject: one for one in self.stored.values() if one.state is state}

    def _store(self) -> None:
        self.stored.update({one.id: one for one in self.fleet.incidents.take_changed()})

    def stage(self, node: str) -> Stage:
        return self.fleet.nodes[node].stage

    def stages(self) -> set[Stage]:
        return {node.stage for node in self.fleet.nodes.values()}

    def out(self) -> list[str]:
        return [name for name, node in self.fleet.nodes.items() if node.out]

    def verbs(self, node: str) -> list[Verb]:
        return [action.verb for step in self.steps for action in step.actions if action.node == node]
