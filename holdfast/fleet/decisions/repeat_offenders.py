"""Repeat offenders: nodes that failed so much more than their peers that their repair starts one step later.

The score is counted in offences: 1 is one fresh offence of the node's own. Older ones fade, an offence with a cause
the node had before counts more, and so do failed jobs on the node. Its groups (a rack, a height in the rack, a batch of
parts) add the offences to be expected there. docs/repeat-offenders.md has the reasons of the weights.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import NodeState, Offence

MOST_DEATHS = 32  # job deaths kept per node
RECKON_SECONDS = 600.0  # the fleet's mean changes slowly, so it is computed this often
TIMES_THE_USUAL = 4.0  # on real lifetimes the worst 1 % died four times as often as the rest (docs/repeat-offenders.md)
DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDeath:
    """A job that ended by failure while it ran on the node."""

    at: float
    nodes: int  # number of nodes of the job; with more nodes, a death says less about each


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of nodes that contains the evaluated node, and the sum of their weighted offences."""

    name: str  # 'rack/r4', 'level/top', 'batch/2013'
    nodes: int
    burden: float  # `burden` of all its nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    fleet: Group
    shared: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    half_life_seconds: float = 365 * DAY
    """Half-life of an offence."""
    episode_seconds: float = DAY
    """Offences within this time count as one, because the later ones often come from work on the node."""
    same_cause: float = 1.0
    """Added for an offence with a cause that the node had before."""
    job_death: float = 1.0
    """For a dead job on one node; on n nodes each bears its share. Not measured: no public data has it."""
    shared: float = 10.0
    """For one offence to be expected from what the node shares with others."""
    doubt_nodes: float = 300.0
    """So many nodes must a group have before its own rate counts as much as the fleet's."""


@dataclass(frozen=True, slots=True)
class OffenderScore:
    score: float
    reasons: tuple[str, ...]  # parts of the score, the largest first


DEFAULT = Weights()


def score(
    offences: Sequence[Offence],
    job_deaths: Sequence[JobDeath],
    neighbours: Neighbours,
    now: float,
    weights: Weights = DEFAULT,
) -> OffenderScore:
    """The score from events before `now`."""
    own = _episodes(offences, now, weights)
    again = [later for number, later in enumerate(own) if any(later.cause == o.cause for o in own[:number])]
    deaths = [death for death in job_deaths if death.at < now]
    shares = sum(_fade(now - death.at, weights) / max(1, death.nodes) for death in deaths)
    parts = [
        (sum(_fade(now - o.at, weights) for o in own), f"{len(own)} offences of its own"),
        (
            weights.same_cause * sum(_fade(now - o.at, weights) for o in again),
            f"{len(again)} with a cause it had before",
        ),
        (weights.job_death * shares, f"{len(deaths)} jobs died with it"),
        _shared(neighbours, weights),
    ]
    largest = sorted((part for part in parts if part[0] > 0), key=lambda part: -part[0])
    return OffenderScore(sum(value for value, _ in parts), tuple(f"{text} (+{value:.2f})" for value, text in largest))


def burden(offences: Iterable[Sequence[Offence]], now: float, weights: Weights = DEFAULT) -> float:
    """Sum of the offences of a group, each weighted by its age. `offences` has one sequence per node."""
    return sum(_fade(now - o.at, weights) for of_node in offences for o in _episodes(of_node, now, weights))


def _shared(neighbours: Neighbours, weights: Weights) -> tuple[float, str]:
    """Expected offences from the groups: the fleet's mean times each group's rate relative to the fleet.

    The rate of a small group is shrunk towards the fleet's.
    """
    fleet = neighbours.fleet
    if fleet.burden <= 0 or fleet.nodes <= 0:
        return 0.0, ""
    usual = fleet.burden / fleet.nodes
    doubt = weights.doubt_nodes
    times = {g.name: (g.burden / usual + doubt) / (g.nodes + doubt) for g in neighbours.shared}
    worst = max(times, key=times.__getitem__, default="")
    text = f"{worst} has {times[worst]:.1f} times the fleet's offences" if worst else "the fleet's usual rate"
    return weights.shared * usual * prod(times.values()), text


def _fade(age: float, weights: Weights) -> float:
    return float(0.5 ** (age / weights.half_life_seconds))


def _episodes(offences: Sequence[Offence], now: float, weights: Weights) -> list[Offence]:
    """The first offence of every run of offences that follow each other closely."""
    kept: list[Offence] = []
    last = float("-inf")
    for offence in sorted(offences, key=lambda o: o.at):
        if offence.at >= now:
            break
        if offence.at - last >= weights.episode_seconds:
            kept.append(offence)
        last = offence.at
    return kept


class RepeatOffenders:
    def __init__(self, nodes: Mapping[str, NodeState]) -> None:
        self._nodes = nodes
        self._deaths: dict[str, deque[JobDeath]] = defaultdict(lambda: deque(maxlen=MOST_DEATHS))
        self._known: set[str] = set()
        self._groups: dict[str, Group] = {}
        self._reckoned_at = float("-inf")

    def note(self, jobs: Iterable[Job]) -> None:
        """Counts failed jobs once for every node they ran on."""
        for job in jobs:
            key = f"{job.source}/{job.id}"
            if not _names_nodes(job) or job.end is None or job.step or key in self._known:
                continue
            self._known.add(key)
            for name in job.nodes:
                self._deaths[name].append(JobDeath(at=job.end, nodes=len(job.nodes)))

    def forget(self, node: str) -> None:
        self._deaths.pop(node, None)

    def why(self, node: NodeState, now: float, policy: Policy) -> str:
        """Why this node counts as a repeat offender; '' if it does not."""
        if policy.repeat_offender_score <= 0:
            return ""
        if now - self._reckoned_at >= RECKON_SECONDS:
            self._reckon(now)
        fleet = self._groups[""]
        shared = tuple(g for g in (self._groups.get(parent) for parent in _parents(node)) if g is not None)
        found = score(
            node.offences, tuple(self._deaths.get(node.name, ())), Neighbours(fleet=fleet, shared=shared), now
        )
        usual = (1 + DEFAULT.shared) * fleet.burden / max(1, fleet.nodes)
        if found.score < max(policy.repeat_offender_score, TIMES_THE_USUAL * usual):
            return ""
        return f"a repeat offender, score {found.score:.1f} where {usual:.1f} is usual: {'; '.join(found.reasons[:2])}"

    def _reckon(self, now: float) -> None:
        members: dict[str, list[NodeState]] = defaultdict(list, {"": list(self._nodes.values())})
        for node in self._nodes.values():
            for parent in _parents(node):
                members[parent].append(node)
        self._groups = {
            name: Group(name=name, nodes=len(nodes), burden=burden([n.offences for n in nodes], now))
            for name, nodes in members.items()
        }
        self._reckoned_at = now


def _names_nodes(job: Job) -> bool:
    """Whether a job's death says anything about its nodes: the crash of a job on one node is often the user's own."""
    return job.state is JobState.NODE_FAILED or (job.state is JobState.FAILED and len(job.nodes) > 1)


def _parents(node: NodeState) -> Iterable[str]:
    return (f"{kind}/{name}" for kind, name in node.place.items())
