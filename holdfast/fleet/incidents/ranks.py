"""Step times of training ranks as signals for the seams, and where each rank runs."""

from collections.abc import Iterable, Iterator

from holdfast.model import subject
from holdfast.model.topology import Edge
from holdfast.model.wire.progress import RankWindow

MOST_RANKS = 200_000
Signal = tuple[str, str, float]  # subject, name, value


class SeamRanks:
    """Where ranks run, as their agents last reported. `version` changes with it."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[str, str]] = {}  # rank -> its job and the GPU or node it runs on
        self.version = 0

    def hear(self, node: str, windows: Iterable[RankWindow]) -> Iterator[Signal]:
        for window in windows:
            job = subject.job(window.job)
            rank = f"{job}/rank/{window.rank}"
            if window.ended:
                self.version += self._places.pop(rank, None) is not None
                continue
            place = subject.node(node) if window.gpu is None else subject.gpu(node, window.gpu)
            if self._places.get(rank) != (job, place) and len(self._places) < MOST_RANKS:
                self._places[rank] = (job, place)
                self.version += 1
            yield from _signals(job, rank, window)

    def edges(self) -> list[Edge]:
        found = [Edge("runs_on", place, rank) for rank, (_, place) in self._places.items()]
        nodes = {(place.partition("/gpu/")[0], job) for job, place in self._places.values()}
        return [*found, *(Edge("runs_on", node, job) for node, job in sorted(nodes))]


def _signals(job: str, rank: str, window: RankWindow) -> Iterator[Signal]:
    """Of one step. Times of a job's ranks are the same but for who waits, so any of them may tell its step."""
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
