"""Probing the fabric between idle nodes: who meets, what it proved, and what follows. No I/O and no clock.

A slow meeting makes suspects; a suspect meets partners known to be good, and fails only if it is slow again. What
several nodes share (a trunk, a leaf) is one incident, and none of them is to blame.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from holdfast.fleet.api.views.common import Order
from holdfast.fleet.decisions.guards import planned
from holdfast.fleet.decisions.verdict_state import VerdictState
from holdfast.fleet.probe_sessions.runs import Run, Runs
from holdfast.fleet.probe_sessions.sessions import ProbeSession, ProbeSessions, proof
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.records import Step
from holdfast.model.wire.probe import ProbePolicy, Proof, SweepRequest
from holdfast.model.wire.report import OrderOutcome, VerdictChange
from holdfast.node.probes.isolation import schedule
from holdfast.node.probes.isolation.blame import Blame, blame, fine_again
from holdfast.node.probes.isolation.coverage import Coverage, proven_pair
from holdfast.node.probes.isolation.isolation import Suspect

CHECK = "probe.fabric"
IDLE = (Stage.READY, Stage.SPARE)
PLAN_SECONDS = 2.0
RECHECKS = 48  # within a period, of a part that has an incident
BACK_OFF_SECONDS = 600.0  # for a node that cannot take part: no torch, not allowed, cannot be reached
MOST_TROUBLES = 1_000


class Leaves(Mapping[str, str]):
    """The leaf of every node, as its place says now."""

    def __init__(self, nodes: Mapping[str, NodeState]) -> None:
        self._nodes = nodes

    def __getitem__(self, node: str) -> str:
        return self._nodes[node].place.get("leaf", "")

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


class Probing:
    """Belongs to the fleet, and lives in the writer's thread with it."""

    def __init__(self, judge: VerdictState, proofs: Iterable[Proof] = ()) -> None:
        self._judge = judge
        self.leaves = Leaves(judge.nodes)
        self.coverage = Coverage(self.leaves)
        self.sessions = ProbeSessions()
        self.runs = Runs(judge.nodes, self.sessions.number)
        self.blame = Blame()
        self.troubles: dict[str, tuple[float, str]] = {}  # node -> when it could not take part, and why
        self._new: list[Proof] = []
        self._plan_at = 0.0
        self._judged: tuple[int, dict[str, float]] = (0, {})  # how many proofs and which repairs the blame is from
        self._count = 0
        self._failing: set[str] = set()
        self._rechecked: dict[str, float] = {}
        for known in proofs:
            self._learn(known)

    @property
    def policy(self) -> ProbePolicy:
        return self._judge.policy.probes

    # Told by the writer

    def tick(self, now: float) -> list[Step]:
        self.runs.tick(lambda name: self._heard(name, now), self.policy.patience_seconds, now)
        if not self.policy.enabled:
            self.sessions.leave([node for one in self.sessions.running() for node in one.nodes], now)
            return []
        self.leave_the_wanted(now)
        for late in self.sessions.overdue(self.policy, now):
            self._note_trouble(late, now)
        if now < self._plan_at:
            return []
        self._plan_at = now + PLAN_SECONDS
        self.coverage.forget(now - self.policy.period_seconds)
        steps = self._judge_proofs(now)
        chosen = self.next_meetings(now)
        self._rechecked.update({f"fabric/{part}": now for part in self._due_for_a_recheck(now)})
        for meeting in chosen:
            addresses = {name: self._judge.nodes[name].place.get("address", "") for name in meeting.nodes}
            self.sessions.begin(meeting.nodes, meeting.why, addresses, now)
        return steps

    def leave_the_wanted(self, now: float) -> None:
        wanted = [node for one in self.sessions.running() for node in one.nodes if not self._idle(node, now)]
        self.sessions.leave(wanted, now)

    def handed_over(self, node: NodeState, now: float) -> tuple[tuple[Order, ...], tuple[int, ...]]:
        """What a node is asked with this acknowledgement, and what it should stop doing."""
        if node.name in self.sessions and not self._idle(node.name, now):
            self.sessions.leave([node.name], now)
        orders = self.sessions.handed_over(node.name, self.policy, now) or self.runs.handed_over(
            node.name, self.policy, now
        )
        return orders, self.sessions.cancelled(node.name) + self.runs.cancelled(node.name)

    def begin_run(self, names: Sequence[str], wish: SweepRequest, reason: str, now: float) -> Run:
        """Somebody asked for it: what these were at is left for it."""
        self.sessions.leave(names, now)
        return self.runs.begin(names, wish, reason, now)

    def answered(self, node: str, outcome: OrderOutcome, now: float) -> None:
        if node in self.runs:
            self.runs.answered(node, outcome, now)
            return
        meeting = self.sessions.answered(node, outcome, now)
        if meeting is None:
            return
        if (proven := proof(meeting, now)) is None:
            self._note_trouble(meeting, now)
            return
        for end in meeting.nodes:
            self.troubles.pop(end, None)
        self._learn(proven)
        self._new.append(proven)

    def take_new(self) -> list[Proof]:
        """What must be stored."""
        new, self._new = self._new, []
        return new

    def next_meetings(self, now: float) -> list[schedule.ProbeSession]:
        idle = {name: self.leaves[name] for name in self._judge.nodes if self._idle(name, now)}
        able = {name: leaf for name, leaf in idle.items() if not self._backs_off(name, now)}
        situation = schedule.Situation(
            idle=able,
            in_probe=[name for name in idle if name in self.sessions or name in self.runs],
            spent=self.sessions.spent(now),
            repaired=self._repaired(),
            doubts=(*self.blame.doubts, *self._due_for_a_recheck(now)),
            trusted=self.blame.trusted,
        )
        return schedule.plan(situation, self.coverage, self.policy, now)

    # Judging

    def _learn(self, proven: Proof) -> None:
        self.coverage.add(proven)
        self._count += 1

    def _judge_proofs(self, now: float) -> list[Step]:
        known = (self._count, self._repaired())
        if self._judged != known:
            self._judged = known
            self.blame = blame(self.coverage, self.leaves, known[1])
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
        node = self._judge.nodes.get(name)
        return node is not None and node.stage in IDLE

    def _fail(self, name: str, suspect: Suspect, now: float) -> list[Step]:
        """As a check of the node's own that fails: the same guards stand between it and a quarantine."""
        notes = {proven_pair(one): one.note for one in self.coverage}  # its slowest rail, where there are several
        seen = tuple(f"slow: {one} with {other}: {notes.get((one, other), '')}" for one, other in suspect.evidence[:8])
        change = VerdictChange(at=now, check=CHECK, before="", after="fail", reason=told(suspect), evidence=seen)
        self._judge.standing.take(name, change)
        return self._judge.failed(name, change, now)

    def _pass(self, names: Iterable[str], now: float) -> None:
        """No longer accused, or out of service: what is repaired and tested starts with nothing against it."""
        for name in names:
            change = VerdictChange(at=now, check=CHECK, before="fail", after="pass", reason="not proven slow since")
            self._judge.standing.take(name, change)
            self._judge.guards.recovered(name, CHECK)

    def _raise(self, suspect: Suspect, now: float) -> None:
        nodes = {node for met in suspect.evidence for node in met}
        words = f"{told(suspect)}; nobody behind it is blamed, the switch counters know the link"
        self._judge.incidents.raise_(f"fabric/{suspect.part}", CHECK, words, now, nodes)

    def _close_what_is_fine(self, now: float) -> None:
        for subject in self._open_parts():
            part = subject.partition("/")[2]
            baseline = self.blame.baseline
            if baseline is not None and fine_again(part, self.coverage, self.leaves, baseline):
                self._judge.incidents.close(subject, now, "its last sessions were as fast as others")

    def _open_parts(self) -> list[str]:
        return [subject for subject in self._judge.incidents.open if subject.startswith("fabric/")]

    def _due_for_a_recheck(self, now: float) -> list[str]:
        """Parts that have an incident, now and then: to see when they are mended."""
        pause = self.policy.period_seconds / RECHECKS
        return [s.partition("/")[2] for s in self._open_parts() if now - self._rechecked.get(s, 0.0) >= pause]

    # Who may take part

    def _idle(self, name: str, now: float) -> bool:
        node, judge = self._judge.nodes.get(name), self._judge
        if node is None or node.stage not in IDLE or node.jobs or node.held:
            return False
        return self._heard(name, now) and planned(node, now, judge.policy) is None

    def _heard(self, name: str, now: float) -> bool:
        return now - self._judge.heard.get(name, 0.0) <= self._judge.policy.silent_seconds

    def _backs_off(self, name: str, now: float) -> bool:
        at, _ = self.troubles.get(name, (float("-inf"), ""))
        return now - at < BACK_OFF_SECONDS

    def _repaired(self) -> dict[str, float]:
        return {name: node.offences[-1].at for name, node in self._judge.nodes.items() if node.offences}

    def _note_trouble(self, meeting: ProbeSession, now: float) -> None:
        """Who said that it could not; else who said nothing although it was asked. Its partner is not to blame."""
        said = {
            answer.about if answer.about in meeting.nodes else node: answer.reason
            for node, answer in meeting.answers.items()
            if not answer.ok
        }
        silent = {node: "no answer in time" for node in meeting.handed if node not in meeting.answers}
        for node, why in (said or silent).items():
            self.troubles.pop(node, None)
            self.troubles[node] = (now, why)
        while len(self.troubles) > MOST_TROUBLES:
            del self.troubles[next(iter(self.troubles))]


def told(suspect: Suspect) -> str:
    return (
        f"{suspect.part} is slow: {suspect.slow} of {suspect.measured} sessions over it, "
        f"{100 * suspect.loss:.0f} % below the others"
    )
