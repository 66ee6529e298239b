"""Probing between idle nodes: chooses pairs, evaluates sessions, and decides the next step. Pure.

The nodes of a slow session are suspects. A suspect is tested with known-good partners and fails only if it is slow
again. If a shared part (a trunk, a leaf) is slow, one incident is opened on it, and no node fails.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from holdfast.fleet.decisions.guards import planned
from holdfast.fleet.decisions.verdict_state import VerdictState
from holdfast.fleet.probe_sessions.runs import ProbeRun, ProbeRuns
from holdfast.fleet.probe_sessions.sessions import NewKey, ProbeSession, ProbeSessions, proof
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.order import Order
from holdfast.model.wire.probe import ProbePolicy, Proof, SweepRequest
from holdfast.model.wire.report import OrderOutcome, VerdictChange
from holdfast.node.probes.isolation import schedule
from holdfast.node.probes.isolation.blame import Blame, blame, fine_again
from holdfast.node.probes.isolation.coverage import Coverage, proven_pair
from holdfast.node.probes.isolation.isolation import SuspectPart

CHECK = "probe.fabric"
IDLE = (Stage.READY, Stage.SPARE)
PLAN_SECONDS = 2.0
RECHECKS = 48  # rechecks per period of a part with an incident
BACK_OFF_SECONDS = 600.0  # pause of a node that cannot take part: no torch, not allowed, or unreachable
MOST_TROUBLES = 1_000


class Leaves(Mapping[str, str]):
    """The leaf of every node, from its current place."""

    def __init__(self, nodes: Mapping[str, NodeState]) -> None:
        self._nodes = nodes

    def __getitem__(self, node: str) -> str:
        return self._nodes[node].place.get("leaf", "")

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


class Probing:
    """Probing of the fleet. Used only in the writer's thread."""

    def __init__(self, state: VerdictState, new_key: NewKey, proofs: Iterable[Proof] = ()) -> None:
        self._state = state
        self.leaves = Leaves(state.nodes)
        self.coverage = Coverage(self.leaves)
        self.sessions = ProbeSessions(new_key)
        self.runs = ProbeRuns(state.nodes, self.sessions.number, new_key)
        self.blame = Blame()
        self.troubles: dict[str, tuple[float, str]] = {}  # node that could not take part -> (time, reason)
        self._new: list[Proof] = []
        self._plan_at = 0.0
        self._learned = False  # a proof is new to `blame`
        self._blamed_after: dict[str, float] = {}  # node -> last repair that `blame` knows
        self._failing: set[str] = set()
        self._rechecked: dict[str, float] = {}
        for known in proofs:
            self._learn(known)

    def forget(self, node: str) -> None:
        """Drops a removed node. Results of parts that include it expire with its proofs."""
        for known in (self.troubles, self._blamed_after, self._rechecked):
            known.pop(node, None)
        self._failing.discard(node)

    @property
    def policy(self) -> ProbePolicy:
        return self._state.policy.probes

    # Called by the writer

    def tick(self, now: float) -> list[LifecycleStep]:
        self.runs.tick(lambda name: self._reports(name, now), self.policy.timeout_seconds, now)
        if not self.policy.enabled:
            self.sessions.leave([node for one in self.sessions.running() for node in one.nodes], now)
            return []
        self.leave_needed_nodes(now)
        for late in self.sessions.overdue(self.policy, now):
            self._note_trouble(late, now)
        if now < self._plan_at:
            return []
        self._plan_at = now + PLAN_SECONDS
        self.coverage.forget(now - self.policy.period_seconds)
        steps = self._evaluate_proofs(now)
        chosen = self.plan(now)
        self._rechecked.update({f"fabric/{part}": now for part in self._due_for_a_recheck(now)})
        for session in chosen:
            addresses = {name: self._state.nodes[name].place.get("address", "") for name in session.nodes}
            self.sessions.begin(session.nodes, session.why, addresses, now)
        return steps

    def leave_needed_nodes(self, now: float) -> None:
        needed = [node for one in self.sessions.running() for node in one.nodes if not self._idle(node, now)]
        self.sessions.leave(needed, now)

    def orders_for(self, node: NodeState, now: float) -> tuple[tuple[Order, ...], tuple[int, ...]]:
        """The orders that go to a node with this acknowledgement, and those it must stop."""
        if node.name in self.sessions and not self._idle(node.name, now):
            self.sessions.leave([node.name], now)
        orders = self.sessions.orders_for(node.name, self.policy, now)
        orders = orders or self.runs.orders_for(node.name, self.policy, now)
        return orders, self.sessions.cancelled(node.name) + self.runs.cancelled(node.name)

    def begin_run(self, names: Sequence[str], request: SweepRequest, reason: str, now: float) -> ProbeRun:
        """An operator's request ends the sessions of these nodes."""
        self.sessions.leave(names, now)
        return self.runs.begin(names, request, reason, now)

    def answered(self, node: str, outcome: OrderOutcome, now: float) -> None:
        if node in self.runs:
            self.runs.answered(node, outcome, now)
            return
        session = self.sessions.answered(node, outcome, now)
        if session is None:
            return
        if (proven := proof(session, now)) is None:
            self._note_trouble(session, now)
            return
        for end in session.nodes:
            self.troubles.pop(end, None)
        self._learn(proven)
        self._new.append(proven)

    def take_new(self) -> list[Proof]:
        """Proofs to store."""
        new, self._new = self._new, []
        return new

    def plan(self, now: float) -> list[schedule.PlannedSession]:
        idle = {name: self.leaves[name] for name in self._state.nodes if self._idle(name, now)}
        able = {name: leaf for name, leaf in idle.items() if not self._backs_off(name, now)}
        situation = schedule.ProbeSituation(
            idle=able,
            in_probe=[name for name in idle if name in self.sessions or name in self.runs],
            spent=self.sessions.spent(now),
            repaired=self._repaired(),
            doubts=(*self.blame.doubts, *self._due_for_a_recheck(now)),
            trusted=self.blame.trusted,
        )
        return schedule.plan(situation, self.coverage, self.policy, now)

    # Evaluation of the proofs

    def _learn(self, proven: Proof) -> None:
        self.coverage.add(proven)
        self._learned = True

    def _evaluate_proofs(self, now: float) -> list[LifecycleStep]:
        repaired = self._repaired()
        if self._learned or self._blamed_after != repaired:
            self._learned, self._blamed_after = False, repaired
            self.blame = blame(self.coverage, self.leaves, repaired)
        nodes = {one.part.partition("/")[2]: one for one in self.blame.confirmed if one.part.startswith("node/")}
        failing = {name: one for name, one in nodes.items() if self._in_service(name)}
        self._pass(self._failing - failing.keys(), now)
        steps = [step for name in failing.keys() - self._failing for step in self._fail(name, failing[name], now)]
        self._failing = set(failing)
        for suspect in self.blame.confirmed:
            if not suspect.part.startswith("node/"):
                self._raise(suspect, now)
        self._close_what_is_fine(now)
        return steps

    def _in_service(self, name: str) -> bool:
        node = self._state.nodes.get(name)
        return node is not None and node.stage in IDLE

    def _fail(self, name: str, suspect: SuspectPart, now: float) -> list[LifecycleStep]:
        """Fails a node, like a failing check: the same guards apply before a quarantine."""
        notes = {proven_pair(one): one.note for one in self.coverage}  # the note names the slowest of several rails
        seen = tuple(f"slow: {one} with {other}: {notes.get((one, other), '')}" for one, other in suspect.evidence[:8])
        change = VerdictChange(at=now, check=CHECK, before="", after="fail", reason=summary(suspect), evidence=seen)
        self._state.current.take(name, change)
        return self._state.failed(name, change, now)

    def _pass(self, names: Iterable[str], now: float) -> None:
        """Ends the verdict of a node that is no longer suspect, or is out of service: it returns without this
        verdict."""
        for name in names:
            change = VerdictChange(at=now, check=CHECK, before="fail", after="pass", reason="not proven slow since")
            self._state.current.take(name, change)
            self._state.guards.recovered(name, CHECK)

    def _raise(self, suspect: SuspectPart, now: float) -> None:
        nodes = {node for met in suspect.evidence for node in met}
        reason = f"{summary(suspect)}; no node behind it is blamed, the switch counters show which link it is"
        self._state.incidents.raise_(f"fabric/{suspect.part}", CHECK, reason, now, nodes)

    def _close_what_is_fine(self, now: float) -> None:
        for subject in self._open_parts():
            part = subject.partition("/")[2]
            baseline = self.blame.baseline
            if baseline is not None and fine_again(part, self.coverage, self.leaves, baseline):
                self._state.incidents.close(subject, now, "its last sessions were as fast as others")

    def _open_parts(self) -> list[str]:
        return [subject for subject in self._state.incidents.open if subject.startswith("fabric/")]

    def _due_for_a_recheck(self, now: float) -> list[str]:
        """Parts with an open incident are probed again from time to time, to see when they are repaired."""
        pause = self.policy.period_seconds / RECHECKS
        return [s.partition("/")[2] for s in self._open_parts() if now - self._rechecked.get(s, -inf) >= pause]

    # Which nodes may take part

    def _idle(self, name: str, now: float) -> bool:
        node = self._state.nodes.get(name)
        if node is None or node.stage not in IDLE or node.jobs or node.held:
            return False
        return self._reports(name, now) and planned(node, now, self._state.policy) is None

    def _reports(self, name: str, now: float) -> bool:
        return now - self._state.last_report_at.get(name, -inf) <= self._state.policy.silent_seconds

    def _backs_off(self, name: str, now: float) -> bool:
        at, _ = self.troubles.get(name, (-inf, ""))
        return now - at < BACK_OFF_SECONDS

    def _repaired(self) -> dict[str, float]:
        return {name: node.offences[-1].at for name, node in self._state.nodes.items() if node.offences}

    def _note_trouble(self, session: ProbeSession, now: float) -> None:
        """Notes the node that caused a failed session: the one that reported a reason, or the one that did not
        answer."""
        reported = {
            answer.about if answer.about in session.nodes else node: answer.reason
            for node, answer in session.answers.items()
            if not answer.ok
        }
        silent = {node: "no answer in time" for node in session.sent_at if node not in session.answers}
        for node, why in (reported or silent).items():
            self.troubles.pop(node, None)
            self.troubles[node] = (now, why)
        while len(self.troubles) > MOST_TROUBLES:
            del self.troubles[next(iter(self.troubles))]


def summary(suspect: SuspectPart) -> str:
    return (
        f"{suspect.part} is slow: {suspect.slow} of {suspect.measured} sessions over it, "
        f"{100 * suspect.loss:.0f} % below the others"
    )
