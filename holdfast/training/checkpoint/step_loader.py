"""Loads one step into a state: on all ranks or on none, also if another number of ranks saved it."""

from collections.abc import Callable
from typing import Any

from holdfast.training.checkpoint.agreement import Circle
from holdfast.training.checkpoint.candidates import StepCandidate
from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.message import EncodingError
from holdfast.training.checkpoint.reshard import Resharding, describe, per_rank
from holdfast.training.checkpoint.restore import (
    MISFITS,
    CheckpointError,
    LoadRefused,
    State,
    check,
    decoded,
    in_one_line,
    prepared,
    put,
)
from holdfast.training.checkpoint.shard_reader import ShardReader

RETRY = "retry"  # a shard could not be read: another step may still be loaded


class StepLoader:
    def __init__(self, circle: Circle, reader: ShardReader, report: Callable[[str, str], None]) -> None:
        self._circle, self._reader, self._report = circle, reader, report
        self.refused = ""  # why the newest step that did not fit was refused

    def load(self, candidate: StepCandidate, state: State) -> bool:
        """Loads the step into the state, if all ranks have the shards that they need."""
        if candidate.world != self._circle.world:
            return self._load_resharded(candidate, state)
        got = self._reader.read(candidate, self._circle.rank)
        if not self._circle.all(got is not None):
            return False
        assert got is not None
        if not self._all_can(candidate, lambda: put(prepared(got, state), state)):
            return False
        self.report_notes(got)
        return True

    def report_notes(self, got: shard.Shard) -> None:
        for note in got.notes:
            self._report(subject_of(note), f"reported when the step was saved: {note}")

    def _all_can(self, candidate: StepCandidate, action: Callable[[], None]) -> bool:
        """Whether the action succeeded on all ranks.

        A state with other parts ends the load on all ranks: the program changed, and older steps do not fit either.
        """
        problem, ends = "", False
        try:
            action()
        except (EncodingError, CheckpointError) as error:
            problem, ends = str(error), isinstance(error, LoadRefused)
        rows = [row for row in self._circle.share([problem, ends]) if row[0]]
        if not rows:
            return True
        cut = "" if candidate.world == self._circle.world else f" of {candidate.world} ranks for {self._circle.world}"
        reason = f"step {candidate.step}{cut}: {rows[0][0]}"
        if any(row[1] for row in rows):
            raise LoadRefused(next(row[0] for row in rows if row[1]))
        self.refused = self.refused or reason
        self._report("load", reason)
        return False

    def _load_resharded(self, candidate: StepCandidate, state: State) -> bool:
        shards = self._reader.read_all(candidate, range(self._circle.rank, candidate.world, self._circle.world))
        if not self._circle.all(shards is not None):
            return False
        assert shards is not None
        own = per_rank(state)
        described: list[Any] = []
        held = shards
        if not self._all_can(candidate, lambda: described.extend(_described(held, own))):
            return False
        by_rank = {saved: row for part in self._circle.share(described) for saved, row in part}
        rows = [by_rank[saved] for saved in sorted(by_rank)]
        problem, assembled = "", None
        try:
            assembled = self._assemble(candidate, rows, shards, own, state)
            problem = "" if assembled else RETRY
        except (EncodingError, CheckpointError) as error:
            problem = str(error)
        problems = [one for one in self._circle.share(problem) if one]
        if reason := next((one for one in problems if one != RETRY), ""):
            ranks = f"{candidate.world} ranks for {self._circle.world}"
            raise LoadRefused(f"step {candidate.step} of {ranks}: {reason}")
        if problems or assembled is None:
            return False
        plan, saved, shards = assembled
        if not self._all_can(candidate, lambda: _put_resharded(plan, saved, own, state)):
            return False
        self._finish(candidate, plan, shards)
        return True

    def _assemble(
        self,
        candidate: StepCandidate,
        rows: list[Any],
        shards: dict[int, shard.Shard],
        own: set[str],
        state: State,
    ) -> tuple[Resharding, dict[str, Any], dict[int, shard.Shard]] | None:
        """The plan, the values for this rank and the shards that they come from; None if a shard cannot be read."""
        plan = Resharding(rows, self._circle.rank, self._circle.world, state)
        more = self._reader.read_all(candidate, sorted(plan.needed(list(shards)) - shards.keys()))
        if more is None:
            return None
        shards = {**shards, **more}
        saved = decoded(plan.assemble(shards), plan.like, state)
        there = {name: None for name in own if name in rows[plan.template]["names"]}
        check({**there, **saved}, state)
        return plan, saved, shards

    def _finish(self, candidate: StepCandidate, plan: Resharding, shards: dict[int, shard.Shard]) -> None:
        for note in plan.notes:
            self._report(f"load {note.partition(':')[0]}", note)
        for got in shards.values():
            self.report_notes(got)
        self._reader.drop_borrowed(candidate, shards)
        self._reader.source = f"{self._reader.source}, saved by {candidate.world} ranks"


def subject_of(note: str) -> str:
    """Subject of a note, under which it is reported: data and loss scale must not replace each other."""
    return "loss scale" if "GradScaler" in note else "data"


def _described(shards: dict[int, shard.Shard], own: set[str]) -> list[Any]:
    try:
        return [[saved, describe(got, own)] for saved, got in shards.items()]
    except MISFITS as error:
        raise EncodingError(f"not a state: {in_one_line(error)}") from error


def _put_resharded(plan: Resharding, saved: dict[str, Any], own: set[str], state: State) -> None:
    put({name: value for name, value in saved.items() if not plan.keeps_own(name)}, state)
    for name in own:
        try:
            state[name].load_resharded(plan.states(name), plan.rank, plan.world)
        except MISFITS as error:
            raise CheckpointError(f"{name}: {in_one_line(error)}") from error
