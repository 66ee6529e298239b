"""Repeat offenders of a living fleet: who has failed so much more than its peers that the ladder starts higher."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.repeat_offender import DEFAULT, Group, JobDeath, Neighbours, burden, score
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import NodeState

MOST_DEATHS = 32  # remembered of a node
RECKON_SECONDS = 600.0  # what a whole fleet carries changes slowly
TIMES_THE_USUAL = 4.0  # on real lifetimes the worst 1 % died four times as often as the rest (docs/repeat-offenders.md)


class RepeatOffenders:
    def __init__(self, nodes: Mapping[str, NodeState]) -> None:
        self._nodes = nodes
        self._deaths: dict[str, deque[JobDeath]] = defaultdict(lambda: deque(maxlen=MOST_DEATHS))
        self._known: set[str] = set()
        self._groups: dict[str, Group] = {}
        self._reckoned_at = float("-inf")

    def note(self, jobs: Iterable[Job]) -> None:
        """Jobs that ended by failure count for every node they ran on, once."""
        for job in jobs:
            key = f"{job.source}/{job.id}"
            if not _tells_of_nodes(job) or job.end is None or job.step or key in self._known:
                continue
            self._known.add(key)
            for name in job.nodes:
                self._deaths[name].append(JobDeath(at=job.end, nodes=len(job.nodes)))

    def why(self, node: NodeState, now: float, policy: Policy) -> str:
        """Why this node counts as a repeat offender; '' if it does not."""
        if policy.lemon_score <= 0:
            return ""
        if now - self._reckoned_at >= RECKON_SECONDS:
            self._reckon(now)
        fleet = self._groups[""]
        shared = tuple(g for g in (self._groups.get(parent) for parent in _parents(node)) if g is not None)
        found = score(
            node.offences, tuple(self._deaths.get(node.name, ())), Neighbours(fleet=fleet, shared=shared), now
        )
        usual = (1 + DEFAULT.shared) * fleet.burden / max(1, fleet.nodes)
        if found.score < max(policy.lemon_score, TIMES_THE_USUAL * usual):
            return ""
        return f"a repeat offender, score {found.score:.1f} where {usual:.1f} is usual: {'; '.join(found.reasons[:2])}"

    def _reckon(self, now: float) -> None:
        members: dict[str, list[NodeState]] = defaultdict(list)
        for node in self._nodes.values():
            for parent in ("", *_parents(node)):
                members[parent].append(node)
        self._groups = {
            name: Group(name=name, nodes=len(nodes), burden=burden([n.offences for n in nodes], now))
            for name, nodes in members.items()
        }
        self._groups.setdefault("", Group(name="", nodes=0, burden=0.0))
        self._reckoned_at = now


def _tells_of_nodes(job: Job) -> bool:
    """A job that fails on one node is its user's own crash as likely as not."""
    return job.state is JobState.NODE_FAILED or (job.state is JobState.FAILED and len(job.nodes) > 1)


def _parents(node: NodeState) -> Iterable[str]:
    return (f"{kind}/{name}" for kind, name in node.place.items())
