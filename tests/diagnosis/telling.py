"""Evidence for tests, in one line each."""

from holdfast.catalog import causes
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.waiting import Waiting, find
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event, Value

NOON = 1_772_620_000.0


def reported(
    kind: str, role: str = "note", cause: str = "", *, at: float = 0.0, rank: int | None = None, host: str = "",
    line: int = 1, code: str = "x", file: str = "a.log", device: str = "", action: str = "", text: str = "",
    **detail: Value,
) -> Evidence:  # fmt: skip
    event = Event(
        kind=kind, at=at, text=text or f"{kind} {code}", code=code, line=line, detail=detail, device=device,
        action=action,
    )  # fmt: skip
    return Evidence(event=event, file=file, host=host, rank=rank, role=role, cause=cause)


def kernel(kind: str, cause: str, at: float, *, host: str = "n1", **more: Value) -> Evidence:
    return reported(kind, "strong", cause, at=at, host=host, file="k.log", action="restart_node", **more)  # type: ignore[arg-type]


def watchdog(
    rank: int | None = 0, *, at: float = NOON, line: int = 50, file: str = "a.log", **detail: Value
) -> Evidence:
    return reported("watchdog", "watchdog", at=at, rank=rank, line=line, file=file, **detail)


def wait(*evidence: Evidence) -> Waiting:
    found = find(evidence)
    assert found is not None
    return found


def candidate(cause: str, *evidence: Evidence, host: str = "", base: float | None = None, **more: object) -> Candidate:
    return Candidate(causes.find(cause), host=host, evidence=[*evidence], base=base, **more)  # type: ignore[arg-type]
