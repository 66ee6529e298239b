"""Combined watchdog reports of all ranks: since when they waited, for what, and which rank is missing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mode

from holdfast.catalog import causes
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.model.evidence import Evidence

_MOST_RANKS = 200_000
_FAR_BEHIND = 2  # collectives; ranks that overlap communication differ by one


@dataclass(frozen=True, slots=True)
class Waiting:
    reported: tuple[Evidence, ...]
    since: float  # when the wait began: fire time minus duration; 0.0 where no time is reported
    fired: float
    ranks: tuple[int, ...]

    def says(self) -> str:
        who = f"of rank{'s' * (len(self.ranks) > 1)} {_some(self.ranks)}" if self.ranks else "of the job"
        return f"watchdog timeout {who}"


def find(evidence: Sequence[Evidence]) -> Waiting | None:
    reported = tuple(one for one in evidence if one.role == "watchdog")
    if not reported:
        return None
    starts = [one.at - one.number_or_zero("ran_ms") / 1000.0 for one in reported if one.at]
    fired = [one.at for one in reported if one.at]
    ranks = tuple(sorted({one.rank for one in reported if one.rank is not None}))
    return Waiting(reported, min(starts, default=0.0), min(fired, default=0.0), ranks)


def suspects(waiting: Waiting, evidence: Sequence[Evidence]) -> list[Candidate]:
    """Ranks that differ from the others in what they wait for, or do not wait at all."""
    absent = _absent(waiting, evidence)
    found = [_mismatch(waiting), _behind(waiting), absent, _alive(absent, evidence) if absent else None]
    if not any(found):
        found.append(_everybody(waiting, evidence))
    return [one for one in found if one]


def left_early(evidence: Sequence[Evidence]) -> list[Candidate]:
    """Without a watchdog report: all but a few ranks lost a peer, so those few were elsewhere or had finished."""
    lost = tuple(one for one in evidence if one.role == "effect" and one.rank is not None)
    ranks = tuple(sorted({one.rank for one in lost if one.rank is not None}))
    absent = _absent(Waiting(lost, 0.0, 0.0, ranks), evidence) if len(ranks) > 1 else None
    if absent is None:
        return []
    absent.base, absent.note = 0.45, "every other rank lost its peer"
    return [absent]


def _mismatch(waiting: Waiting) -> Candidate | None:
    """Same sequence number but another operation or size. The minority is suspected, not the rank that was read
    first."""
    by_sequence: dict[int | None, dict[int, tuple[str, str]]] = {}  # the oldest watchdogs report no sequence number
    for one in waiting.reported:
        if one.rank is not None and one.word("op"):
            by_sequence.setdefault(one.number("seq"), {})[one.rank] = (one.word("op"), one.word("numel_in"))
    for seq, calls in by_sequence.items():
        counts = Counter(calls.values())
        if len(counts) < 2:
            continue
        usual = mode(calls.values())
        odd = tuple(sorted(rank for rank, call in calls.items() if call != usual))
        evidence = [one for one in waiting.reported if one.number("seq") == seq and one.word("op")]
        candidate = Candidate(
            causes.find("job.collective_mismatch"), ranks=odd, evidence=_odd_first(evidence, odd), base=0.65
        )
        where = f"at collective {seq}: " if seq is not None else ""
        candidate.note = where + ", ".join(f"{op} of {size or '?'}" for op, size in counts)
        return candidate
    return None


def _behind(waiting: Waiting) -> Candidate | None:
    """The rank that has enqueued the fewest collectives, if the others are far ahead."""
    last = _positions(waiting, "enqueued")
    stuck_in = _positions(waiting, "seq")
    if stuck_in.keys() - last.keys():  # a collective that a rank waits in is not comparable with its last enqueued one
        last = stuck_in
    if len(last) < 2:
        return None
    stuck = max(last.values())
    odd = tuple(sorted(rank for rank, number in last.items() if stuck - number >= _FAR_BEHIND))
    if not odd or len(odd) > len(last) / 2:
        return _ahead(waiting, last)
    evidence = [one for one in waiting.reported if one.rank in odd]
    candidate = Candidate(causes.find("job.rank_missing"), ranks=odd, evidence=evidence, base=0.7)
    candidate.note = f"{stuck - min(last[rank] for rank in odd)} collectives behind"
    return candidate


def _positions(waiting: Waiting, name: str) -> dict[int, int]:
    last: dict[int, int] = {}
    for one in waiting.reported:
        number = one.number(name)
        if one.rank is not None and number is not None:
            last[one.rank] = max(number, last.get(one.rank, -1))
    return last


def _ahead(waiting: Waiting, last: dict[int, int]) -> Candidate | None:
    """Ranks that passed the collective in which most wait: they called something else."""
    usual = mode(last.values())
    odd = tuple(sorted(rank for rank, number in last.items() if number - usual >= _FAR_BEHIND))
    if not odd or len(odd) >= len(last) / 2:
        return None
    evidence = [one for one in waiting.reported if one.rank in odd]
    note = f"they went on while the others waited in collective {usual}"
    return Candidate(causes.find("job.collective_mismatch"), ranks=odd, evidence=evidence, base=0.55, note=note)


def _absent(waiting: Waiting, evidence: Sequence[Evidence]) -> Candidate | None:
    """Ranks that are silent while all others report a wait or a lost peer."""
    worlds = [world for one in evidence if (world := one.number("world"))]
    ranks = {one.rank for one in evidence if one.rank is not None}
    size = max([*worlds, *(rank + 1 for rank in ranks)], default=0)
    if size > _MOST_RANKS:  # a log may contain any number, so it is checked before use
        return None
    known = set(range(size))
    waited = {*waiting.ranks, *(one.rank for one in evidence if one.role == "effect" and one.rank is not None)}
    missing = tuple(sorted(known - waited))
    if not waited or not missing or len(missing) > max(1, len(known) // 4):
        return None
    timeouts = [one for one in waiting.reported if one.event.code == "timeout"] or [*waiting.reported]
    base = 0.5 if worlds or len(waited) > 1 else 0.35  # a single report does not show how many ranks there are
    candidate = Candidate(causes.find("job.rank_missing"), ranks=missing, evidence=timeouts[:3], base=base)
    candidate.note = "every other rank wrote that it waits"
    return candidate


def _everybody(waiting: Waiting, evidence: Sequence[Evidence]) -> Candidate | None:
    """All ranks of several hosts wait at the same place and none is missing: the fabric between the hosts is
    suspected."""
    ranks = {one.rank for one in evidence if one.rank is not None}
    hosts = {one.host for one in evidence if one.host}
    places = {one.number("seq") for one in waiting.reported}
    if len(hosts) < 2 or len(ranks) < 2 or not ranks <= set(waiting.ranks) or len(places) > 2:
        return None
    note = "every rank waits and none is missing: the network between the hosts?"
    return Candidate(causes.find("fabric.unreachable"), evidence=[*waiting.reported[:3]], base=0.35, note=note)


def _alive(absent: Candidate, evidence: Sequence[Evidence]) -> Candidate | None:
    """A candidate if the missing rank was alive until the launcher ended it: busy or blocked, not dead."""
    ended = [one for one in evidence if one.rank in absent.ranks and one.role == "exit" and one.number("exit") == -15]
    if not ended:
        return None
    note = "alive until the launcher ended it"
    return Candidate(causes.find("job.rank_slow"), ranks=absent.ranks, evidence=ended, base=0.35, note=note)


def _odd_first(evidence: list[Evidence], odd: tuple[int, ...]) -> list[Evidence]:
    return sorted(evidence, key=lambda one: one.rank not in odd)


def _some(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:6]))
    return f"{shown} and {len(numbers) - 6} more" if len(numbers) > 6 else shown
