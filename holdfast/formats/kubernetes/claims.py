"""Dynamic resource allocation (resource.k8s.io): devices that a claim holds, and devices that nodes offer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from holdfast.formats.kubernetes import objects as k8s

GROUP = "resource.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceClaim:
    namespace: str
    name: str
    gpus: int | None = None
    """None: nothing is allocated yet, so the devices are unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSlice:
    """Part of a pool of devices. Slices of an older generation of the pool are outdated."""

    node: str
    driver: str
    pool: str
    generation: int
    gpus: int


def claim(item: object, drivers: Sequence[str]) -> ResourceClaim | None:
    meta, allocation = k8s.table(item, "metadata"), k8s.table(item, "status", "allocation")
    name = k8s.text(meta, "name")
    if not name:
        return None
    devices = [one for one in k8s.rows(allocation, "devices", "results") if _matches(k8s.text(one, "driver"), drivers)]
    return ResourceClaim(
        namespace=k8s.text(meta, "namespace") or "default", name=name, gpus=len(devices) if allocation else None
    )


def resource_slice(item: object, drivers: Sequence[str]) -> ResourceSlice | None:
    """A slice; None if it belongs to several nodes, or to a driver of other devices."""
    spec, pool = k8s.table(item, "spec"), k8s.table(item, "spec", "pool")
    node, driver, generation = k8s.text(spec, "nodeName"), k8s.text(spec, "driver"), pool.get("generation")
    if not node or not _matches(driver, drivers):
        return None
    return ResourceSlice(
        node=node,
        driver=driver,
        pool=k8s.text(pool, "name"),
        generation=generation if isinstance(generation, int) else 0,
        gpus=len(k8s.rows(spec, "devices")),
    )


def offered(slices: Iterable[ResourceSlice]) -> Mapping[str, int]:
    """GPUs by node, from the newest generation of each pool."""
    newest: dict[tuple[str, str, str], tuple[int, int]] = {}
    for one in slices:
        key = (one.node, one.driver, one.pool)
        generation, gpus = newest.get(key, (one.generation, 0))
        if one.generation >= generation:
            newest[key] = (one.generation, one.gpus + (gpus if one.generation == generation else 0))
    found: dict[str, int] = {}
    for (node, _, _), (_, gpus) in newest.items():
        found[node] = found.get(node, 0) + gpus
    return found


def _matches(driver: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(driver, pattern) for pattern in patterns)
