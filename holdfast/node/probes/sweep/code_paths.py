"""Finds the slow NCCL code path: repeats a band of sizes with algorithm and protocol pinned. Pure."""

import math
from collections.abc import Mapping, Sequence

from holdfast.model.wire.sweep import SweepRow

PATHS = tuple((algorithm, protocol) for algorithm in ("Ring", "Tree") for protocol in ("LL", "LL128", "Simple"))
NOT_HERE = "gloo has no algorithms and protocols to choose from: pinning NCCL_ALGO and NCCL_PROTO does not apply"
MOST_SIZES = 3  # sizes of a band: its ends and its middle
MUCH_FASTER = 1.5

Rates = Mapping[int, float]


def environment(algorithm: str, protocol: str) -> dict[str, str]:
    return {"NCCL_ALGO": algorithm, "NCCL_PROTO": protocol}


def path_name(algorithm: str, protocol: str) -> str:
    return f"{algorithm}/{protocol}"


def few(sizes: Sequence[int]) -> list[int]:
    band = sorted(set(sizes))
    if len(band) <= MOST_SIZES:
        return band
    return [band[0], band[len(band) // 2], band[-1]]


def rates(rows: Sequence[SweepRow]) -> dict[int, float]:
    return {row.bytes: row.busbw_bytes_per_second for row in rows}


def named(chosen: Rates, pinned: Mapping[str, Rates]) -> list[str]:
    """One sentence per size: the path that NCCL seems to choose, and the faster one."""
    sentences = []
    for size, rate in sorted(chosen.items()):
        found = {path: seen[size] for path, seen in pinned.items() if seen.get(size, 0.0) > 0.0}
        if not found or rate <= 0.0:
            sentences.append(f"{size} bytes: no pinned run gave a result")
            continue
        best = max(found, key=lambda path: found[path])
        like = min(found, key=lambda path: abs(math.log(found[path] / rate)))
        if found[best] < MUCH_FASTER * rate:
            sentences.append(
                f"{size} bytes: slow on every code path, the fastest is {best} with {_figure(found[best])}"
            )
        else:
            times = f"{found[best] / rate:.1f} times as fast"
            sentences.append(f"{size} bytes: as slow as {like} ({_figure(found[like])}), {best} is {times}")
    return sentences


def _figure(rate: float) -> str:
    return f"{rate / 1e9:.2f} GB/s"
