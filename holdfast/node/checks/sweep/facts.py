"""Shared code of sweep checks: one row per payload size, and the fabric's limits."""

from holdfast.catalog.fabrics import FabricSpec, fabric_of
from holdfast.model.health import Health
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row
from holdfast.model.window import Window

RATE = "sweep_busbw_bytes_per_second"
LATE = "sweep_p95_seconds"
VARIATION = "sweep_variation_ratio"
NO_LIMITS = "no limits are known for this fabric: only the shape of the curve is judged"


def fabric(window: Window) -> FabricSpec | None:
    """The catalog's fabric of this sweep; a sweep over TCP on purpose (gloo) has none."""
    return fabric_of(
        str(window.value(window.node, "sweep_fabric") or ""), str(window.value(window.node, "gpu_model") or "")
    )


def not_meant(window: Window, known: FabricSpec) -> str:
    """Why the fabric's limits do not apply to this sweep; '' if they do, or if the transport is not known."""
    operation = str(window.value(window.node, "sweep_operation") or "")
    ranks, hosts = (window.number(window.node, name) or 0.0 for name in ("sweep_ranks", "sweep_hosts"))
    if operation and operation != known.operation:
        return f"the limits of {known.name} are of {known.operation}, this is {operation}"
    if ranks and hosts and ranks < hosts * known.ranks_per_host:
        return f"the limits of {known.name} are of {known.ranks_per_host} ranks a host, here are {ranks / hosts:g}"
    return ""


def size_of(subject: Subject) -> int:
    return int(subject.rpartition("/")[2])


def by_size(window: Window, name: str) -> dict[int, float]:
    return {
        size_of(subject): value for subject, value in sorted(window.values(name).items(), key=lambda p: size_of(p[0]))
    }


def not_judged(window: Window, why: str) -> Row:
    return Row(window.node, Health.UNKNOWN, reason=why)


def human(size: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:g} {unit}"
    return f"{size} B"
