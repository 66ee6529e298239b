"""Quorum for storage: the step that every rank has ready. Pure.

Each rank says which step it holds ready, and keeps that one until the answer comes; the keeper that counts gives all
of them the same. So what is chosen is there to be written, and what is left out is left out by all.
"""

from dataclasses import dataclass

NONE = -1


@dataclass(frozen=True, slots=True)
class QuorumAnswer:
    chosen: int = NONE  # the newest step that goes to storage
    settled: int = NONE  # no step up to this one is open any more: what was not chosen is left out
    why: str = ""  # the newest that was left out is


class QuorumShare:
    """One rank's side: it holds one step at a time, from its word until that step is left out or written."""

    def __init__(self) -> None:
        self.newest = NONE  # the newest step that could have gone to storage
        self.holds = NONE
        self.chosen = False

    @property
    def open(self) -> bool:
        return self.holds != NONE and not self.chosen

    def offer(self, step: int) -> bool:
        """A step that could go to storage: whether it is held from now on."""
        self.newest = step
        if self.holds == NONE:
            self.holds = step
        return self.holds == step

    def apply_note(self, answer: QuorumAnswer) -> bool:
        """Whether the step held is now to be written."""
        if not self.open:
            return False
        self.chosen = self.holds == answer.chosen
        if not self.chosen and self.holds <= answer.settled:
            self.let_go()
        return self.chosen

    def let_go(self) -> None:
        """What was held is written, or lost."""
        self.holds, self.chosen = NONE, False


class Ballot:
    """The side of the counting keeper. After its death, ranks send it everything again."""

    def __init__(self, world: int) -> None:
        self._world = world
        self._words: dict[int, tuple[int, int]] = {}  # of each rank: the newest step it spoke of, the one it holds
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
