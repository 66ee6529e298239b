"""Finds the rank behind a collective mismatch whose message names none, by comparing the stacks of the ranks."""

from collections.abc import Iterable, Sequence
from statistics import mode

from holdfast.diagnosis.rules import exits
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.model.evidence import Evidence

_ABORT = 6
_ALIKE = 2  # least number of ranks at one place to compare a third with


def name_the_rank(found: Sequence[Candidate], evidence: Sequence[Evidence]) -> None:
    for one in found:
        if one.name == "job.collective_mismatch" and not one.ranks:
            _name(one, evidence)


def _name(one: Candidate, evidence: Sequence[Evidence]) -> None:
    places = _places(evidence)
    usual = mode(places.values()) if places else ""
    count = [*places.values()].count(usual)
    if count < _ALIKE or 2 * count == len(places):
        one.note = _groups(one, places) or one.note
        return
    alike = _list(rank for rank, place in places.items() if place == usual)
    odd = [rank for rank, place in places.items() if place != usual]
    if len(odd) == 1:
        one.ranks, one.note = (odd[0],), f"at {places[odd[0]]}, while ranks {alike} are at {usual}"
        return
    aborted = _aborted(evidence) - places.keys()
    if not odd and len(aborted) == 1:  # gloo ends the process that gets more than its buffer holds
        one.ranks = (*aborted,)
        one.note = f"{_sizes(one)}, while ranks {alike} are at {usual}"


def _groups(one: Candidate, places: dict[int, str]) -> str:
    """The groups of ranks and their places, if no majority shows which is wrong."""
    groups: dict[str, list[int]] = {}
    for rank, place in sorted(places.items()):
        groups.setdefault(place, []).append(rank)
    said = [f"rank{'s' * (len(ranks) > 1)} {_list(ranks)} at {place}" for place, ranks in groups.items()]
    if not said:
        return ""
    doubt = (
        "the log does not tell which of them is wrong" if len(said) > 1 else "where the others were is not in the log"
    )
    return "; ".join([_sizes(one), *said, doubt])


def _places(evidence: Sequence[Evidence]) -> dict[int, str]:
    """The last frame of each rank's first traceback, and the place of the rank that aborted."""
    places: dict[int, str] = {}
    for item in evidence:
        if item.event.kind == "exception" and item.rank is not None and item.word("where"):
            places.setdefault(item.rank, item.word("where"))
    aborted = _aborted(evidence)
    stacks = {item.word("where") for item in evidence if item.event.code == "python" and item.word("where")}
    if len(aborted) == 1 and len(stacks) == 1:
        places.setdefault(aborted.pop(), stacks.pop())
    return places


def _aborted(evidence: Sequence[Evidence]) -> set[int]:
    ends = [item for item in evidence if item.role == "exit" and exits.signal_of(item) == _ABORT]
    return {item.rank for item in ends if item.rank is not None}


def _sizes(one: Candidate) -> str:
    shown = next((item for item in one.evidence if item.word("got")), None)
    return f"it expected {shown.word('expected')} bytes and got {shown.word('got')}" if shown else "it aborted"


def _list(ranks: Iterable[int]) -> str:
    return ", ".join(str(rank) for rank in sorted(ranks))
