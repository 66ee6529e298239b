"""Report of a probe, in the shape of its JSON document."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median, pstdev
from typing import Any

from holdfast.model.wire.sweep import SweepFinding, SweepRow
from holdfast.node.probes.isolation import bands
from holdfast.node.probes.isolation.bands import Datagrams, Named
from holdfast.node.probes.sweep.sizes import bus_share


def sweep_rows(answers: Sequence[dict[str, Any]], operation: str) -> list[SweepRow]:
    """The rows of a sweep by its slowest rank: a collective ends when all ranks are done."""
    world = len(answers)
    rows = []
    for same_size in zip(*(answer.get("rows", []) for answer in answers), strict=False):
        size = int(same_size[0]["bytes"])
        p50 = max(median(row["seconds"]) for row in same_size)
        p95 = max(_percentile(row["seconds"], 0.95) for row in same_size)
        wrong = {int(rank) for row in same_size for rank in row.get("wrong_ranks", [])}
        rate = size / p50 if p50 > 0 else 0.0
        correct = not any(row["wrong"] for row in same_size)
        bus, varied = rate * bus_share(operation, world), max(_variation(row["seconds"]) for row in same_size)
        rows.append(SweepRow(size, p50, p95, rate, bus, correct, varied, tuple(sorted(wrong))))
    return rows


def _variation(seconds: Sequence[float]) -> float:
    mean = fmean(seconds)
    return pstdev(seconds) / mean if mean > 0 else 0.0


def _percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def finding(named: Named, datagrams: Sequence[Datagrams], busy: Mapping[str, tuple[float, float]]) -> SweepFinding:
    """One faulty part with its cause: packet loss has a direction, a busy CPU explains slowness."""
    part, evidence, cause = named.suspect.part, list(named.evidence), named.band
    kind, _, name = part.partition("/")
    if cause == bands.PACKET_LOSS and kind == "node":
        out, into = bands.loss_directions(name.partition("/")[0], datagrams)
        evidence.append(f"lost when it sends: {100 * out:.1f} %, when it receives: {100 * into:.1f} %")
    elif cause not in (bands.PACKET_LOSS, bands.FRAME_SIZE) and name in busy:
        own, usual = (100 * share for share in busy[name])
        cause = "busy CPU"
        evidence.append(
            f"its worker waited {own:.0f} % of the time for a CPU, the others {usual:.0f} %: end its other processes"
            " and probe again"
        )
    if named.suspect.same_as:
        evidence.append(f"no other host was measured over {', '.join(named.suspect.same_as)}: it may be the cause too")
    return SweepFinding(part, kind, round(named.suspect.confidence, 4), tuple(evidence), cause)


def mtu_findings(datagrams: Sequence[Datagrams]) -> list[SweepFinding]:
    return [
        SweepFinding(
            f"node/{host}", "node", 1.0, (f"its interface has MTU {own}, the others {usual}",), bands.FRAME_SIZE
        )
        for host, (own, usual) in bands.mtu_differs(datagrams).items()
    ]
