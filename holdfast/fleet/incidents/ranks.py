"""Step times of training ranks as signals for the seams, with the location of each rank."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from math import inf

from holdfast.fleet.incidents.stops import StopWatch
from holdfast.model import subject
from holdfast.model.topology import Edge
from holdfast.model.wire.progress import RankWindow

MOST_RANKS = 200_000
MOST_RANKS_OF_USER = 100_000
# an agent accepts at most 512 processes; root on a compromised node can invent users and ranks
MOST_RANKS_OF_NODE = 1_024
HELD_SECONDS = 600.0  # a job's name belongs to its user until no report came for this time
Signal = tuple[str, str, float]  # subject, name, value


class SeamRanks:
    """The places of ranks from the last reports of their agents. `version` changes with the places."""

    def __init__(self, stops: StopWatch | None = None) -> None:
        self._stops = stops or StopWatch()
        self._places: dict[str, tuple[str, str]] = {}  # rank -> (its job, its GPU or node)
        self._owners: dict[str, tuple[str, float]] = {}  # job -> (its user, time of the last report)
        self._counts: Counter[str] = Counter()  # user -> number of ranks
        self._on_node: Counter[str] = Counter()
        self.version = 0

    def ingest(self, node: str, windows: Iterable[RankWindow], now: float = inf) -> Iterator[Signal]:
        """Takes reports.

        `now`: the controller's clock, because a node with a fast clock must not take over others' names.
        """
        for one in windows:
            window = one if one.at <= now else replace(one, at=now)
            job = subject.job(window.job)
            rank = f"{job}/rank/{window.rank}"
            if not self._is_owner(job, window):
                continue
            if window.ended:
                self._stops.take_window(job, node, window, now)
                self._forget(rank, window.owner)
                continue
            place = subject.node(node) if window.gpu is None else subject.gpu(node, window.gpu)
            if self._places.get(rank) != (job, place):
                if not self._has_room(window.owner, rank, node):
                    continue
                self._forget(rank, window.owner)
                self._counts[window.owner] += 1
                self._on_node[node] += 1
                self._places[rank] = (job, place)
                self.version += 1
            self._stops.take_window(job, node, window, now)
            yield from _signals(job, rank, window)

    def _is_owner(self, job: str, window: RankWindow) -> bool:
        """Whether the window is from the owner of the job's name; another user's job of that name is ignored."""
        owner, at = self._owners.get(job, (window.owner, window.at))
        if owner != window.owner and window.at - at < HELD_SECONDS:
            return False
        if owner != window.owner:  # the name is free again
            for rank in [one for one, (known, _) in self._places.items() if known == job]:
                self._forget(rank, owner)
        self._owners[job] = (window.owner, max(at, window.at) if owner == window.owner else window.at)
        if len(self._owners) > MOST_RANKS:
            self._owners = {one: held for one, held in self._owners.items() if window.at - held[1] < HELD_SECONDS}
        return True

    def _forget(self, rank: str, owner: str) -> None:
        if (known := self._places.pop(rank, None)) is not None:
            self._counts[owner] -= 1
            self._on_node[_node_of(known[1])] -= 1
            self.version += 1

    def _has_room(self, owner: str, rank: str, node: str) -> bool:
        moves = rank in self._places
        free = moves or (len(self._places) < MOST_RANKS and self._counts[owner] < MOST_RANKS_OF_USER)
        return free and self._on_node[node] < MOST_RANKS_OF_NODE

    def nodes_of(self, jobs: Collection[str]) -> dict[str, set[str]]:
        """The nodes on which ranks of these jobs live."""
        found: dict[str, set[str]] = {}
        for job, place in self._places.values() if jobs else ():
            if job in jobs:
                found.setdefault(job, set()).add(_node_of(place))
        return found

    def edges(self) -> list[Edge]:
        found = [Edge("runs_on", place, rank) for rank, (_, place) in self._places.items()]
        nodes = {(place.partition("/gpu/")[0], job) for job, place in self._places.values()}
        return [*found, *(Edge("runs_on", node, job) for node, job in sorted(nodes))]


def _node_of(place: str) -> str:
    return place.split("/")[1]


def _signals(job: str, rank: str, window: RankWindow) -> Iterator[Signal]:
    """Signals of one step. All ranks of a job have the same step time, so any of them may report it."""
    if not window.steps:
        return
    working = max(0.0, window.seconds - window.checkpoint_seconds)
    yield job, "job_step_seconds", working / window.steps
    yield rank, "rank_data_seconds", window.data_seconds / window.steps
    if window.split:
        yield rank, "rank_compute_seconds", window.own_seconds or window.compute_seconds / window.steps
        yield rank, "rank_wait_seconds", window.wait_seconds / window.steps
    if window.checkpoint_seconds:
        yield rank, "rank_checkpoint_seconds", window.checkpoint_seconds
        yield job, "job_checkpoint_seconds", window.checkpoint_seconds
