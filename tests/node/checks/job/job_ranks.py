"""A job's ranks as a history: each look adds what every rank reported of its last seconds."""

from collections.abc import Callable, Mapping

from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal

LOOK_SECONDS = 10.0


class Ranks:
    def __init__(self, world: int, per_node: int = 8, groups: Mapping[int, str] | None = None) -> None:
        self.history = History("llama")
        self.world, self.now, self._looks = world, 1_000.0, 0
        facts = [Signal("job/llama", "job_world", float(world))]
        for rank in range(world):
            facts += [
                Signal(self.rank(rank), "job_rank_node", f"n{rank // per_node}"),
                Signal(self.rank(rank), "job_rank_gpu", float(rank % per_node)),
                Signal(self.rank(rank), "job_rank_group", (groups or {}).get(rank, "")),
                Signal(self.rank(rank), "job_rank_split", 1.0),
            ]
        self._facts = facts

    @staticmethod
    def rank(number: int) -> str:
        return f"job/llama/rank/{number}"

    def look(self, own: Callable[[int], float], looks: int = 3, **job: float) -> "Ranks":
        """`own` is the compute time of each rank; all of them step together, at the pace of the slowest."""
        for _ in range(looks):
            self.now += LOOK_SECONDS
            self._looks += 1
            times = [own(rank) * (1 + 1e-7 * self._looks) for rank in range(self.world)]
            signals = [Signal(self.rank(rank), "job_rank_own_seconds", one) for rank, one in enumerate(times)]
            signals.append(Signal("job/llama", "job_step_seconds", max(times) + 0.1))
            signals += [Signal("job/llama", name, value) for name, value in job.items()]
            self.history.add(Reading(source="progress", at=self.now, signals=[*self._facts, *signals]))
        return self

    def tell(self, subject: str, **signals: float | str) -> "Ranks":
        reported = [Signal(subject, name, value) for name, value in signals.items()]
        self.history.add(Reading(source="judge", at=self.now, signals=reported))
        return self

    def window(self):  # type: ignore[no-untyped-def]
        return self.history.window(self.now, 300.0)
