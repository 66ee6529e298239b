"""Prints where the checkpoints of a job are stored."""

from typing import Any

from holdfast.cli.shared.table import count, plain, table

GIB = 1 << 30


def show_places(kept: dict[str, Any], out: Any) -> None:
    if kept["unknown"]:
        out.print(f"the location of its checkpoints is unknown: {plain(kept['unknown'])}")
        return
    keepers = f"{count(kept['keepers'], 'keeper')} reporting, {count(kept['replicas'], 'replica')}"
    memory = f"{kept['used_bytes'] / GIB:,.1f} of {kept['budget_bytes'] / GIB:,.1f} GiB of memory in use"
    out.print(f"checkpoints (kept as {plain(kept['kept_as'])}): {keepers}, {memory}")
    out.print(f"{_committed(kept)}; {_stored(kept)}; {_unsaved(kept)}")
    world = kept["world"]
    on_gpus = ["GPU memory"] if any(one["gpu_memory"] for one in kept["steps"]) else []
    rows = table("step", *on_gpus, "own memory", "partner", "storage", "")
    for one in kept["steps"]:
        partner = "" if kept["replicas"] < 2 else _of(one["partner"], world)
        rows.add_row(
            str(one["step"]),
            *(_of(one["gpu_memory"], world) for _ in on_gpus),
            _of(one["own_memory"], world),
            partner,
            _of(one["storage"], world),
            "committed" if one["committed"] else "",
        )
    if kept["steps"]:
        out.print(rows)
    for sentence in kept["troubles"]:
        out.print(f"trouble: {plain(sentence)}")


def _of(ranks: int, world: int) -> str:
    return "" if not ranks else "all ranks" if ranks == world else f"{ranks} of {world}"


def _committed(kept: dict[str, Any]) -> str:
    step = kept["committed_step"]
    return "no step is committed yet" if step < 0 else f"step {step} is committed"


def _stored(kept: dict[str, Any]) -> str:
    if kept["storage_unknown"]:
        return f"the content of storage is not fully known: {plain(kept['storage_unknown'])}"
    step = kept["stored_step"]
    return "no step is complete in storage" if step < 0 else f"step {step} is complete in storage"


def _unsaved(kept: dict[str, Any]) -> str:
    step = kept["unsaved_step"]
    return "storage has everything that memory holds" if step < 0 else f"step {step} is in memory only"
