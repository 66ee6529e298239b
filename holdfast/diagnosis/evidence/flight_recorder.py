"""Evidence from the Flight Recorder dumps of all ranks."""

from collections.abc import Iterable, Mapping

from holdfast.diagnosis.rules.collectives import CollectivePlace, CollectiveState
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event, Value

_SURE = 0.6
_CAUSES = {
    CollectivePlace.NO_DUMP: "job.rank_missing",
    CollectivePlace.NOT_JOINED: "job.rank_missing",
    CollectivePlace.BEHIND: "job.rank_missing",
    CollectivePlace.MISMATCH: "job.collective_mismatch",
}


def evidence(collective_states: Iterable[CollectiveState], files: Mapping[int, str]) -> list[Evidence]:
    """`files`: which file is whose dump."""
    return [_one(state, files) for state in collective_states]


def _one(state: CollectiveState, files: Mapping[int, str]) -> Evidence:
    cause = _CAUSES.get(state.place, "")  # everybody inside and no one out: they wait, and no rank is to blame
    role = ("strong" if state.confidence >= _SURE else "weak") if cause else "watchdog"
    ranks = ", ".join(map(str, state.ranks))
    detail: dict[str, Value] = {
        "ranks": ranks, "group": state.group, "op": state.operation, "seq": str(state.sequence),
        "where": state.frame, "waiting": float(len(state.waiting)),
    }  # fmt: skip
    source = next((rank for rank in (*state.waiting, *state.ranks) if rank in files), None)
    event = Event(
        kind="flight_recorder", code=state.place.value, at=state.since, text=state.reason, line=1,
        severity="warning", detail={name: value for name, value in detail.items() if value != ""},
    )  # fmt: skip
    rank = state.ranks[0] if len(state.ranks) == 1 else None
    return Evidence(
        event=event, file=files.get(source, "") if source is not None else "", rank=rank, role=role, cause=cause
    )
