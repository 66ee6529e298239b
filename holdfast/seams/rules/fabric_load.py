"""Is the fabric congested although every link has its full bandwidth? Then traffic grew or moved to fewer routes."""

from collections.abc import Iterator, Mapping

from holdfast.model.finding import Symptom
from holdfast.model.signal import Event
from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import CONNECTS, FABRIC, POOLS
from holdfast.seams.fabric_links import BANDWIDTH, CONGESTION, ERRORS, USE, Links
from holdfast.seams.moved import TINY
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

THROUGHPUT = "job_throughput_ratio"
STEP = "job_step_seconds"
GREW = 1.3  # times the leaf's earlier traffic; below, traffic only moved
SIBLINGS_LOSE = 0.1  # share of their traffic that siblings lose if it moved away from them
EVENT_SECONDS = 300.0
YOUNG_SECONDS = 150.0


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    crowded = {link: sign for link, sign in scene.rose(CONGESTION).items() if link.startswith("link/")}
    if not crowded:
        return
    links = Links(scene)
    able = {link: sign for link, sign in crowded.items() if link not in links.broken}
    leaves = sorted({switch for link in able for switch in links.switches_of.get(link, ()) if links.below(switch)})
    moved = {leaf: fewer for leaf in leaves if (fewer := _lighter_siblings(scene, links, leaf, able))}
    for leaf, fewer in moved.items():
        yield _routing(scene, links, leaf, _of(links, leaf, able), fewer)
    spines = sorted({switch for link in able for switch in links.switches_of[link] if not links.below(switch)})
    whole = [spine for spine in spines if links.most_of(spine, able)]
    for spine in whole:
        yield _crowd(scene, links, spine, _of(links, spine, able), moved)
    for link, sign in able.items():
        one = _crowd(scene, links, link, [sign], moved)
        if any(spine in whole for spine in links.switches_of.get(link, ())):
            one.doubted_by(3.0, "the other links of its spine are congested too")
        yield one


def _of(links: Links, switch: Subject, found: Mapping[Subject, Symptom]) -> list[Symptom]:
    return [found[link] for link in sorted(links.of_switch[switch]) if link in found]


def _crowd(
    scene: Scene, links: Links, place: Subject, signs: list[Symptom], moved: Mapping[Subject, list[Subject]]
) -> CauseCandidate:
    one = _candidate(scene, links, place, "fabric.congestion", signs)
    one.supported_by(2.0, f"senders wait on {len(signs)} links of {place}; none lost bandwidth or counts errors")
    use = scene.rose(USE)
    busier = [sign for sign in signs if sign.subject in use]
    if busier:
        one.signs.extend(use[sign.subject] for sign in busier)
        one.supported_by(1.5, f"{len(busier)} of them carry more than before")
    ends = links.switches_of.get(place, [])
    first = min(sign.since for sign in signs)
    if scene.now - first < YOUNG_SECONDS and any(_rerouted(scene, leaf, first) for leaf in ends):
        one.doubted_by(4.0, "its leaf's routes have just changed: whether traffic grew or moved is not known yet")
    if any(leaf in moved for leaf in ends):
        one.doubted_by(3.0, "the other links of its leaf carry less: traffic moved, it did not grow")
    return one


def _routing(scene: Scene, links: Links, leaf: Subject, signs: list[Symptom], fewer: list[Subject]) -> CauseCandidate:
    one = _candidate(scene, links, leaf, "fabric.routing", signs)
    one.supported_by(2.5, f"{len(signs)} links of {leaf} are congested while {len(fewer)} carry less than before")
    first = min(sign.since for sign in signs)
    near = _rerouted(scene, leaf, first)
    if near:
        one.began = near[0].at
        one.supported_by(2.0, f"its routes changed {first - near[0].at:.0f} s before")
    return one


def _rerouted(scene: Scene, leaf: Subject, at: float) -> list[Event]:
    changes = scene.panel.events_of("route_change")
    return [event for event in changes if event.subject == leaf and abs(event.at - at) <= EVENT_SECONDS]


def _lighter_siblings(scene: Scene, links: Links, leaf: Subject, crowded: Mapping[Subject, Symptom]) -> list[Subject]:
    """Links of a leaf that carry less while a few others are crowded; [] if the traffic did not move."""
    mine = links.of_switch[leaf]
    # A waiting job sends less everywhere; only a loss beyond that moved to other links.
    kept = _speed(scene, leaf)
    hit = [link for link in mine if link in crowded and (1 - _lost(scene, link)) / kept >= 1 + SIBLINGS_LOSE]
    if not hit or len(hit) > len(mine) / 2:
        return []
    rest = [link for link in sorted(mine) if link not in crowded]
    lighter = [link for link in rest if 1 - (1 - _lost(scene, link)) / kept >= SIBLINGS_LOSE]
    before = sum(scene.usual(USE, link) for link in mine)
    grown = sum(scene.recent(USE, link) for link in mine) > GREW * kept * before
    return lighter if rest and len(lighter) >= 0.6 * len(rest) and not grown else []


def _speed(scene: Scene, leaf: Subject) -> float:
    """The share of their usual speed that the jobs below a leaf still have."""
    nodes = scene.nodes_under(leaf, ("connects",))
    jobs = [job for job, where in scene.jobs.items() if where & nodes and job in scene.seen(THROUGHPUT)]
    left = [scene.recent(THROUGHPUT, job) / max(scene.usual(THROUGHPUT, job), 0.05) for job in jobs]
    timed = [job for job, where in scene.jobs.items() if where & nodes and job in scene.seen(STEP) and job not in jobs]
    left += [scene.usual(STEP, job) / max(scene.recent(STEP, job), TINY) for job in timed]
    return min(1.0, max(0.05, min(left, default=1.0)))


def _lost(scene: Scene, link: Subject) -> float:
    """The relative fall of a link's utilization; NaN if it is not measured."""
    return weigh.fall(Symptom(link, USE, 0.0, scene.usual(USE, link), scene.recent(USE, link)))


def _candidate(scene: Scene, links: Links, cause: Subject, kind: str, signs: list[Symptom]) -> CauseCandidate:
    return CauseCandidate(
        cause=cause,
        kind=kind,
        signs=list(signs),
        reach=scene.reach(cause, CONNECTS) | links.beside(cause),
        explains=FABRIC | POOLS,
    )


SEAM = Seam(
    name="fabric.load",
    asks="Is the fabric congested although every link works: other traffic, or routes that became unequal?",
    kinds=("fabric.congestion", "fabric.routing"),
    reads=(CONGESTION, USE, BANDWIDTH, ERRORS, "job_collective_seconds", "pool_transfer_seconds"),
    domains=("fabric", "runtime", "serving"),
    explain=explain,
)
