"""Evidence from NCCL's RAS service about a live job."""

from holdfast.formats.nccl.ras import Status
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event


def evidence(status: Status, where: str, at: float) -> list[Evidence]:
    found = []
    for gone in status.absent:
        who = f"rank {gone.rank}" if gone.rank is not None else f"process {gone.pid}"
        says = f"{who} on {gone.host} {'is dead' if gone.dead else 'does not answer'} for NCCL's RAS"
        found.append(_reported(says, gone.rank, gone.host, "strong" if gone.dead else "weak", where, at))
    for late in status.behind:
        says = f"rank {late.rank} on {late.host} has launched {late.launched} collectives where most have {late.usual}"
        found.append(_reported(says, late.rank, late.host, "weak", where, at))  # once is no proof: it may catch up
    return found


def _reported(says: str, rank: int | None, host: str, role: str, where: str, at: float) -> Evidence:
    event = Event(kind="nccl.ras", code="behind", at=at, text=says, severity="warning", detail={"says": says})
    return Evidence(event=event, file=where, host=host, rank=rank, role=role, cause="job.rank_missing")
