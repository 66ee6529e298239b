"""Quorum for storage: chooses a step that every rank holds ready. Pure.

Each rank announces which step it holds ready, and keeps that one until the answer. The coordinating keeper gives all
ranks the same answer. So a chosen step can always be written, and a skipped step is skipped by all.
"""

from dataclasses import dataclass

NONE = -1


@dataclass(frozen=True, slots=True)
class QuorumAnswer:
    chosen: int = NONE  # the newest step that goes to storage
    settled: int = NONE  # all steps up to this one are decided: those that were not chosen are skipped
    why: str = ""  # why the newest skipped step was skipped


class QuorumShare:
    """One rank's side. It holds one step at a time, from the announcement until that step is skipped or written."""

    def __init__(self) -> None:
        self.newest = NONE  # the newest step that was a candidate for storage
        self.holds = NONE
        self.chosen = False

    @property
    def open(self) -> bool:
        return self.holds != NONE and not self.chosen

    def offer(self, step: int) -> bool:
        """Offers a step for storage; returns whether it is held from now on."""
        self.newest = step
        if self.holds == NONE:
            self.holds = step
        return self.holds == step

    def apply_note(self, answer: QuorumAnswer) -> bool:
        """Returns whether the held step must be written now."""
        if not self.open:
            return False
        self.chosen = self.holds == answer.chosen
        if not self.chosen and self.holds <= answer.settled:
            self.let_go()
        return self.chosen

    def let_go(self) -> None:
        """Releases the held step after it was written or lost."""
        self.holds, self.chosen = NONE, False


class Ballot:
    """The coordinating keeper's side. After its death, ranks send everything again."""

    def __init__(self, world: int) -> None:
        self._world = world
        self._words: dict[int, tuple[int, int]] = {}  # for each rank: the newest announced step, and the one it holds
        self.answer = QuorumAnswer()

    def vote(self, rank: int, newest: int, holds: int) -> QuorumAnswer:
        late = newest < self._words.get(rank, (NONE, NONE))[0]
        if 0 <= rank < self._world and NONE <= holds <= newest and not late:
            self._words[rank] = (newest, holds)
            for step in sorted({held for _, held in self._words.values() if held > self.answer.settled}):
                self._judge(step)
        return self.answer

    def _judge(self, step: int) -> None:
        passed = {rank: held for rank, (newest, held) in self._words.items() if newest >= step and held != step}
        if passed:
            rank, held = min(passed.items())
            instead = "is busy with an earlier step" if NONE < held < step else "does not have it"
            self.answer = QuorumAnswer(self.answer.chosen, step, f"rank {rank} {instead}")
        elif len(self._words) == self._world and all(held == step for _, held in self._words.values()):
            self.answer = QuorumAnswer(step, step, self.answer.why)
