"""Finds ranks whose stack differs from the others. Pure."""

from collections import Counter
from collections.abc import Sequence

from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event
from holdfast.supervisor.evidence.stack_capture import StackCapture

_NAMED = 8
_OWN_LIBRARY = ("torch", "python3", "<frozen")


def evidence(captures: Sequence[StackCapture], at: float) -> list[Evidence]:
    """Evidence about ranks that differ from the majority; empty if there is no majority or no difference."""
    found = [_stopped(one, at) for one in captures if one.state == "T"]
    found += [_blocked(one, at) for one in captures if one.state == "D"]
    alive = [one for one in captures if one.state not in ("T", "D", "X")]
    usual = _majority(alive, len(captures))
    if usual is not None:
        odd = [one for one in alive if _place(one) != _place(usual) and one.frames]
        alike = [one for one in alive if _place(one) == _place(usual)]
        found += [_elsewhere(one, usual, alike, at) for one in odd]
    return found


def _majority(captures: Sequence[StackCapture], of: int) -> StackCapture | None:
    counts = Counter(_place(one) for one in captures if one.frames)
    if not counts:
        return None
    place, count = counts.most_common(1)[0]
    return next(one for one in captures if _place(one) == place) if 2 * count > of or count == of - 1 else None


def _place(capture: StackCapture) -> str:
    """The place in the program: the innermost frame outside libraries, and the call in it."""
    own = [frame for frame in capture.frames if not _is_library(frame)]
    return f"{capture.frames[0].partition(' ')[0]} {own[0] if own else ''}" if capture.frames else ""


def _is_library(frame: str) -> bool:
    return any(f"({word}" in frame for word in _OWN_LIBRARY)


def _elsewhere(one: StackCapture, usual: StackCapture, alike: Sequence[StackCapture], at: float) -> Evidence:
    both_wait = one.in_collective and usual.in_collective
    cause = "job.collective_mismatch" if both_wait else "job.rank_slow"
    says = f"rank {one.rank} is in {_reported(one)} while {_ranks(alike)} {'are' if len(alike) > 1 else 'is'} in "
    return _evidence(one, cause, says + _reported(usual), at)


def _stopped(one: StackCapture, at: float) -> Evidence:
    return _evidence(one, "job.rank_slow", f"rank {one.rank} is stopped by a signal or a debugger", at)


def _blocked(one: StackCapture, at: float) -> Evidence:
    where = _reported(one) if one.frames else "the kernel"
    return _evidence(one, "storage.stall", f"rank {one.rank} cannot be interrupted in {where}: input or output", at)


def _evidence(one: StackCapture, cause: str, says: str, at: float) -> Evidence:
    event = Event(kind="stack", code="outlier", at=at, text=says, severity="warning", detail={"says": says})
    return Evidence(event=event, file="stacks", host=one.host, rank=one.rank, role="strong", cause=cause)


def _reported(one: StackCapture) -> str:
    own = next((frame for frame in one.frames if not _is_library(frame)), "")
    inner = one.frames[0]
    return inner if own in ("", inner) else f"{inner.partition(' ')[0]}, called from {own}"


def _ranks(captures: Sequence[StackCapture]) -> str:
    names = sorted(one.rank for one in captures)
    shown = ", ".join(map(str, names[:_NAMED])) + (" and others" if len(names) > _NAMED else "")
    return f"rank{'s' * (len(names) > 1)} {shown}"
