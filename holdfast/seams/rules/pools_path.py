"""Does one path between pools stall while every device is healthy, or does the router send it too many requests?"""

from collections.abc import Iterator
from math import nan

import numpy as np

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import POOLS
from holdfast.seams.fabric_links import BANDWIDTH, CONGESTION, ERRORS
from holdfast.seams.moved import TINY
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

TRANSFER = "pool_transfer_seconds"
SHARE = "pool_routing_share"
STALL = "pool_stall_ratio"
LATENCY = "request_latency_seconds"
REACHES = ("feeds", "blocks")
THEN_COLUMNS = 12
LATELY_COLUMNS = 3
RATE = "request_rate_per_second"
AS_OTHERS = 0.5  # share of its own growth; if the other paths grew by as much, load is the cause
WITHOUT_DEMAND = 1.2  # confidence 0.77: it may be the load
FAR_BEYOND = 1.5  # times the waiting that its share of the requests explains at most
MOST_QUEUE = 2.5  # exponent with which waiting may grow with the load


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    crowded, emptied = scene.rose(SHARE), scene.fell(SHARE)
    for path, sign in scene.rose(TRANSFER).items():
        yield _slow(scene, path, sign, path in crowded or _gets_more(scene, path))
    for path, sign in crowded.items():
        yield _imbalance(scene, path, sign, len(emptied))


def _slow(scene: Scene, path: Subject, sign: Symptom, more: bool) -> CauseCandidate:
    one = _candidate(scene, path, "pools.path", [sign])
    one.supported_by(2.5, weigh.moved_text(sign, " s"))
    felt = [scene.rose(signal)[path] for signal in (STALL, LATENCY) if path in scene.rose(signal)]
    for other in felt:
        one.supported_by(0.75, weigh.moved_text(other))
    longer, others = sign.now / sign.before, _busier(scene, path)
    asked = _asked(scene, path)
    if (longer - 1) * AS_OTHERS <= others - 1 or longer < others * (1 + signals()[TRANSFER].least_ratio):
        one.doubted_by(5.0, "the other paths take longer too: all are busy")
    elif longer ** (1 / MOST_QUEUE) <= asked:
        one.doubted_by(5.0, f"it gets {asked:.2g} times as many requests as before")
    if path not in scene.seen(RATE) and not [other for other in scene.seen(TRANSFER) if other != path]:
        one.most = WITHOUT_DEMAND
        one.unknown.append(f"{path}: how many requests it gets is not measured, and no other path shows it")
    if more and longer <= _share_grew(scene, path) ** MOST_QUEUE * (1 + signals()[TRANSFER].least_ratio):
        one.doubted_by(3.5, "it gets a larger share of the requests than before")
    elif path in scene.seen(SHARE) and not more:
        one.supported_by(0.5, "its share of the requests is unchanged")
    _look_below(scene, one, path)
    return one


def _busier(scene: Scene, path: Subject) -> float:
    """Median growth of the waiting on the other paths, as a factor."""
    others = [other for other in scene.seen(TRANSFER) if other != path]
    times = [scene.recent(TRANSFER, other) / max(scene.usual(TRANSFER, other), TINY) for other in others]
    return float(np.median(times)) if times else 1.0


def _asked(scene: Scene, path: Subject) -> float:
    """Growth of the path's requests as a factor; NaN if they are not measured."""
    usual = scene.usual(RATE, path)
    return scene.recent(RATE, path) / usual if usual > 0 else nan


def _share_grew(scene: Scene, path: Subject) -> float:
    """Growth of the path's share of the requests as a factor; 1 if it is not measured."""
    table, usual = scene.panel.of(SHARE), scene.usual(SHARE, path)
    if not usual > 0:
        return 1.0
    lately = table.values[table.index[path], -LATELY_COLUMNS:]
    seen = lately[np.isfinite(lately)]
    now = [scene.recent(SHARE, path), float(np.median(seen)) if seen.size else usual]
    return max(one for one in (*now, usual) if one == one) / usual


def _gets_more(scene: Scene, path: Subject) -> bool:
    """Whether the path's share began to grow, even if too little to count as a change."""
    row, usual = scene.panel.row(SHARE, path), scene.usual(SHARE, path)
    if row is None or not np.isfinite(row[-LATELY_COLUMNS:]).any():
        return False
    return float(np.nanmedian(row[-LATELY_COLUMNS:])) - usual >= signals()[SHARE].least_absolute / 2


def _look_below(scene: Scene, one: CauseCandidate, path: Subject) -> None:
    """Checks the links and nodes below the path: if one is faulty, it is the cause and not the path."""
    below = scene.topology.up(path, ("connects", "runs_on", "feeds"))
    links = [place for place in below if place.startswith("link/")]
    ill = [place for place in links if _bad_link(scene, place) or _was_crowded(scene, place, one.since)]
    if ill:
        one.doubted_by(5.0, f"{ill[0]}, which it crosses, is bad itself")
    elif links:
        one.supported_by(0.5, f"the {len(links)} links that it crosses are normal")
    nodes = [place for place in below if place in scene.slow_clocks or place in scene.hot]
    if nodes:
        one.doubted_by(2.0, f"{nodes[0]} is slow or hot itself")


def _bad_link(scene: Scene, link: Subject) -> bool:
    return link in scene.fell(BANDWIDTH) or link in scene.rose(ERRORS) or link in scene.rose(CONGESTION)


def _was_crowded(scene: Scene, link: Subject, since: float) -> bool:
    """Whether senders waited on the link when the path became slow. They may have stopped since, as a dead job has."""
    row, usual = scene.panel.row(CONGESTION, link), scene.usual(CONGESTION, link)
    first = int(np.searchsorted(scene.panel.times, since))
    if row is None:
        return False
    then = row[first : first + THEN_COLUMNS]
    return bool(np.isfinite(then).any()) and float(np.nanmedian(then)) - usual >= signals()[CONGESTION].least_absolute


def _imbalance(scene: Scene, path: Subject, sign: Symptom, emptied: int) -> CauseCandidate:
    one = _candidate(scene, path, "pools.imbalance", [sign])
    one.supported_by(2.5, weigh.moved_text(sign))
    if emptied:
        one.supported_by(1.0, f"{emptied} other paths get less")
    slow = scene.rose(TRANSFER).get(path)
    if slow is not None and slow.now / slow.before > FAR_BEYOND * _share_grew(scene, path) ** MOST_QUEUE:
        one.doubted_by(4.0, "it takes far longer than its share of the requests explains")
    if path in scene.rose(TRANSFER):
        one.signs.append(scene.moved(TRANSFER)[path])
        one.supported_by(1.0, weigh.moved_text(scene.moved(TRANSFER)[path], " s"))
    return one


def _candidate(scene: Scene, path: Subject, kind: str, signs: list[Symptom]) -> CauseCandidate:
    return CauseCandidate(cause=path, kind=kind, signs=signs, reach=scene.reach(path, REACHES) | {path}, explains=POOLS)


SEAM = Seam(
    name="pools.path",
    asks="Does one path between pools stall while every device is normal, or does the router send it too much?",
    kinds=("pools.path", "pools.imbalance"),
    reads=(TRANSFER, SHARE, RATE, STALL, LATENCY, CONGESTION, BANDWIDTH, "gpu_clock_sm_hertz"),
    domains=("serving", "fabric", "accelerators"),
    explain=explain,
)
