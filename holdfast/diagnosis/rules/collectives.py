"""State of a job's ranks in their collectives: missing, in another one, stuck, or only waiting.

A rank waits for the members of its group that have not enqueued the same operation. The hang began at the rank that
others wait for and that waits for nobody; a rank that also waits itself is a victim.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from holdfast.formats.pytorch.flight_recorder import Dump, Operation, ProcessGroup

# Operations in which the members may pass different sizes.
UNEVEN_INPUTS = ("all_to_all", "alltoall", "scatter", "gather", "all_gather_v", "send", "recv", "coalesced")
NAMED_WAITERS = 8
WORLD = "default_pg"  # the group of all ranks, as PyTorch describes it


class CollectivePlace(StrEnum):
    NO_DUMP = "no_dump"
    NOT_JOINED = "not_joined"
    MISMATCH = "mismatch"
    BEHIND = "behind"  # its peers finished an operation that it has not
    INSIDE = "inside"  # all ranks joined and none finished


@dataclass(frozen=True, slots=True)
class CollectiveState:
    """One result from the dumps. Lists are sorted by strength."""

    place: CollectivePlace
    ranks: tuple[int, ...]
    group: str
    operation: str
    sequence: int
    waiting: tuple[int, ...]
    confidence: float
    reason: str
    since: float = 0.0  # when the first waiter enqueued it, epoch seconds
    frame: str = ""


def collective_states(dumps: Sequence[Dump]) -> list[CollectiveState]:
    """Results from all dumps of one job; none if no rank waits."""
    field = _Field(dumps)
    found = [*field.mismatches(), *field.roots()]
    if not found:
        found = [*field.behind(), *field.inside()][:1]
    return sorted(found, key=lambda one: (one.place is not CollectivePlace.NO_DUMP, -one.confidence))


class _Field:
    def __init__(self, dumps: Sequence[Dump]) -> None:
        self.dumps = {dump.rank: dump for dump in dumps}
        self.groups: dict[str, ProcessGroup] = {}
        for dump in dumps:
            self.groups.update(dump.groups)
        named = {rank for dump in dumps for rank in dump.members}
        self.silent = frozenset(named - set(self.dumps))
        self.pending = {rank: [o for o in dump.operations if o.pending] for rank, dump in self.dumps.items()}
        self.waits = self._waits()

    def _members(self, group: str) -> tuple[int, ...]:
        known = self.groups.get(group)
        if known is not None and known.ranks:
            return known.ranks
        present = {rank for rank, dump in self.dumps.items() if group in dump.enqueued}
        everybody = known is not None and known.description == WORLD
        return tuple(sorted(present | self.silent if everybody else present))

    def _waits(self) -> dict[int, dict[int, Operation]]:
        """rank -> the rank it waits for -> the first operation it waits in."""
        waits: dict[int, dict[int, Operation]] = defaultdict(dict)
        for rank, operations in self.pending.items():
            for operation in operations:
                for other in self._absent(rank, operation):
                    waits[rank].setdefault(other, operation)
        return waits

    def _absent(self, rank: int, operation: Operation) -> Iterable[int]:
        if operation.point_to_point:
            return self._absent_partner(rank, operation)
        return [other for other in self._members(operation.group) if other != rank and self._lacks(other, operation)]

    def _lacks(self, rank: int, operation: Operation) -> bool:
        dump = self.dumps.get(rank)
        if dump is None:
            return rank in self.silent
        enqueued = dump.enqueued.get(operation.group)
        return enqueued is not None and enqueued < operation.sequence

    def _absent_partner(self, rank: int, operation: Operation) -> Iterable[int]:
        """The n-th pending receive of a pair needs an n-th pending or finished send, and the other way round."""
        partner = operation.target if operation.source == rank else operation.source
        if partner < 0 or partner == rank:
            return ()
        if partner not in self.dumps:
            return (partner,) if partner in self.silent else ()
        own = [one for one in self.pending[rank] if _same_pair(one, operation) and one.kind == operation.kind]
        theirs = [
            one for one in self.dumps[partner].operations if _same_pair(one, operation) and one.kind != operation.kind
        ]
        return (partner,) if own.index(operation) >= len(theirs) else ()

    def roots(self) -> list[CollectiveState]:
        waited_for = {other for others in self.waits.values() for other in others}
        found = [self._root(rank) for rank in sorted(waited_for) if not self.waits.get(rank)]
        return _merged([one for one in found if one is not None])

    def _root(self, rank: int) -> CollectiveState | None:
        waiters = [(other, waiting[rank]) for other, waiting in self.waits.items() if rank in waiting]
        first = min((operation for _, operation in waiters), key=lambda operation: operation.created)
        waiting = tuple(sorted(other for other, _ in waiters))
        silent = rank in self.silent
        place = CollectivePlace.NO_DUMP if silent else CollectivePlace.NOT_JOINED
        return self._state(place, (rank,), first, waiting, confidence=self._trust_in_silence() if silent else 0.95)

    def _trust_in_silence(self) -> float:
        """Confidence that a rank without a dump died. The more dumps are missing, the more likely they were not
        collected."""
        return 0.9 * len(self.dumps) / (len(self.dumps) + len(self.silent))

    def behind(self) -> list[CollectiveState]:
        """A rank with a pending operation that its peers finished: its own GPU or process is stuck."""
        found: list[CollectiveState] = []
        for rank, operations in self.pending.items():
            for operation in operations:
                if operation.point_to_point:
                    continue
                peers = [other for other in self._members(operation.group) if other != rank and other in self.dumps]
                done = [o for o in peers if self.dumps[o].completed.get(operation.group, -1) >= operation.sequence]
                if done and len(done) * 2 > len(peers):
                    found.append(self._state(CollectivePlace.BEHIND, (rank,), operation, tuple(done), confidence=0.8))
                    break
        return _merged(found)

    def inside(self) -> list[CollectiveState]:
        """The first operation that all ranks joined and none finished. It names no rank."""
        pending = [operation for operations in self.pending.values() for operation in operations]
        if not pending:
            return []
        first = min(pending, key=lambda operation: operation.created)
        stuck = tuple(sorted(r for r, ops in self.pending.items() if any(o.group == first.group for o in ops)))
        return [self._state(CollectivePlace.INSIDE, (), first, stuck, confidence=0.3)]

    def mismatches(self) -> list[CollectiveState]:
        """Mismatches by majority. PyTorch's own analyser trusts one reference rank, which may be the wrong one."""
        table: dict[tuple[str, int], dict[int, Operation]] = defaultdict(dict)
        for rank, operations in self.pending.items():
            for operation in operations:
                if not operation.point_to_point:
                    table[operation.group, operation.sequence][rank] = operation
        found = []
        done: set[str] = set()
        for (group, _), entries in sorted(table.items()):
            if group in done:
                continue
            odd = self._odd_ones(entries)
            if odd is not None:
                done.add(group)
                found.append(odd)
        return found

    def _odd_ones(self, entries: Mapping[int, Operation]) -> CollectiveState | None:
        votes = Counter(_shape(operation) for operation in entries.values())
        if len(votes) < 2:
            return None
        (common, most), (_, second) = votes.most_common(2)
        majority = next(operation for operation in entries.values() if _shape(operation) == common)
        if most == second:
            ranks, confidence = tuple(sorted(entries)), 0.6
        else:
            ranks = tuple(sorted(rank for rank, operation in entries.items() if _shape(operation) != common))
            confidence = 0.95
        other = next(operation for operation in entries.values() if _shape(operation) != common)
        waiting = tuple(sorted(set(entries) - set(ranks)))
        return self._state(CollectivePlace.MISMATCH, ranks, majority, waiting, confidence, other)

    def _state(
        self,
        place: CollectivePlace,
        ranks: tuple[int, ...],
        operation: Operation,
        waiting: tuple[int, ...],
        confidence: float,
        other: Operation | None = None,
    ) -> CollectiveState:
        group = self.groups.get(operation.group)
        label = group.label if group is not None else operation.group
        return CollectiveState(
            place=place,
            ranks=ranks,
            group=label,
            operation=operation.kind,
            sequence=operation.sequence,
            waiting=waiting,
            confidence=confidence,
            reason=_words(place, ranks, operation, label, waiting, other),
            since=operation.created,
            frame=operation.frame,
        )


def _same_pair(one: Operation, other: Operation) -> bool:
    return one.point_to_point and (one.group, one.source, one.target) == (other.group, other.source, other.target)


def _shape(operation: Operation) -> tuple[object, ...]:
    uneven = any(word in operation.kind for word in UNEVEN_INPUTS)
    sizes = () if uneven and "all_gather" not in operation.kind else (operation.inputs, operation.outputs)
    return (operation.kind, sizes, operation.dtypes)


def _merged(found: Sequence[CollectiveState]) -> list[CollectiveState]:
    """Ranks that are missing from the same operation are one finding."""
    together: dict[tuple[object, ...], list[CollectiveState]] = defaultdict(list)
    for one in found:
        together[one.place, one.confidence].append(one)
    merged = []
    for group in together.values():
        first = min(group, key=lambda one: one.since)
        ranks = tuple(sorted({rank for one in group for rank in one.ranks}))
        waiting = tuple(sorted({rank for one in group for rank in one.waiting}))
        subject = _ranks(ranks)
        reason = first.reason.replace(_ranks(first.ranks), subject, 1)
        merged.append(
            CollectiveState(
                first.place, ranks, first.group, first.operation, first.sequence, waiting, first.confidence, reason,
                first.since, first.frame,
            )
        )  # fmt: skip
    return merged


def _words(
    place: CollectivePlace,
    ranks: tuple[int, ...],
    operation: Operation,
    label: str,
    waiting: tuple[int, ...],
    other: Operation | None,
) -> str:
    what = f"{operation.kind} {operation.sequence} of {label}"
    if place is CollectivePlace.NO_DUMP:
        return f"{_ranks(ranks)} left no dump, and {_ranks(waiting)} wait in {what}"
    if place is CollectivePlace.NOT_JOINED:
        return f"{_ranks(ranks)} did not join {what}, in which {_ranks(waiting)} wait"
    if place is CollectivePlace.BEHIND:
        return f"{_ranks(ranks)} did not finish {what}, which {_ranks(waiting)} finished"
    if other is not None:  # of a mismatch
        return (
            f"{_ranks(ranks)} differ from the majority at {what}: {_describe(other)} instead of {_describe(operation)}"
        )
    return f"all ranks with a dump here joined {what} and none left it"


def _describe(operation: Operation) -> str:
    return (
        f"{operation.kind} of {list(map(list, operation.inputs))} {'/'.join(dict.fromkeys(operation.dtypes))}".strip()
    )


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = ", ".join(str(rank) for rank in ranks[:NAMED_WAITERS])
    return f"ranks {shown}" + (f" and {len(ranks) - NAMED_WAITERS} more" if len(ranks) > NAMED_WAITERS else "")
