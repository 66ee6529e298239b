"""Is the power of whole racks restricted, by a lowered limit or by the power brake?"""

from collections.abc import Iterator, Mapping

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_or_self
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import POWER, POWERS
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

LIMIT = "gpu_power_limit_watts"
REPORTED_LIMITS = ("rack_power_limit_watts", "feed_power_limit_watts")
HEALTHY = "psu_healthy"
CLOCK = "gpu_clock_sm_hertz"
POWER_CAP, POWER_BRAKE = 4, 128  # NVML's clock event reasons
ALL_OF_THEM = 0.8
EVENT = "power_brake"
EVENT_SECONDS = 600.0


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    bound = scene.nodes_with_reasons(POWER_CAP)
    lowered = {node: sign for node, sign in scene.nodes_where(LIMIT).items() if node in bound or _may_bind(scene, node)}
    capped = {**bound, **lowered}
    reported = {place: sign for signal in REPORTED_LIMITS for place, sign in scene.fell(signal).items()}
    for place, signs in _holders(scene, capped, reported):
        yield _held(scene, place, "power.cap", signs, reported.get(place))
    braked = {**_brake_events(scene), **scene.nodes_with_reasons(POWER_BRAKE)}
    for place, signs in _holders(scene, braked, {}):
        yield _held(scene, place, "power.brake", signs, None)


def _may_bind(scene: Scene, node: Subject) -> bool:
    """Whether a lower limit may slow the GPUs of a node. A limit above the power they draw leaves the clock unchanged.
    An idle node has no clock to compare."""
    if scene.loaded and node not in scene.loaded:
        return False
    return node in scene.slow_clocks or node not in scene.nodes_seen(CLOCK)


def _held(scene: Scene, place: Subject, kind: str, signs: list[Symptom], reported: Symptom | None) -> CauseCandidate:
    one = CauseCandidate(
        cause=place,
        kind=kind,
        signs=signs if reported is None else [reported, *signs],
        reach=scene.reach(place, POWERS),
        explains=POWER,
        proven=all(sign.signal != EVENT for sign in signs),  # the devices report it themselves, now
    )
    what = "braked" if kind == "power.brake" else "held to a lower power"
    one.supported_by(3.5 if one.proven else 2.5, f"GPUs of {len(signs)} nodes behind {place} are {what}")
    if reported is not None:
        one.supported_by(2.0, weigh.moved_text(reported, " W"))
    if place.startswith("feed/") and reported is None:
        one.doubted_by(1.0, "nothing distinguishes that feed from the others of the same racks")
    elif reported is None and any(up in scene.fell(HEALTHY) for up in scene.topology.up(place, ("powers",))):
        one.doubted_by(4.0, "one of its power supplies failed: the remaining ones limit it")
    hot = [sign for sign in signs if whole_or_self(sign.subject) in scene.hot]
    if kind == "power.cap" and signs and len(hot) >= 0.5 * len(signs):
        one.doubted_by(2.0, "their GPUs are hotter than before")
    elif kind == "power.cap":
        one.supported_by(0.5, "their GPUs are not hotter")
    return one


def _holders(
    scene: Scene, held: Mapping[Subject, Symptom], reported: Mapping[Subject, Symptom]
) -> Iterator[tuple[Subject, list[Symptom]]]:
    """The limited nodes as the fewest subjects: a rack if all its nodes are limited, a feed if all its racks are."""
    racks = _fully(scene, held, "rack/", set(held))
    # A rack with one node: the limit may be the node's or the rack's.
    whole = {rack: nodes for rack, nodes in racks.items() if len(nodes) > 1 or rack in reported}
    feeds = _fully(scene, held, "feed/", set(held))
    several = {feed: nodes for feed, nodes in feeds.items() if len(_racks_of(nodes, whole)) > 1 or feed in reported}
    named = {place: nodes for place, nodes in several.items() if place in reported}
    chosen = named or ({} if any(rack in reported for rack in whole) else several)
    covered = {node for nodes in chosen.values() for node in nodes}
    for place, nodes in chosen.items():
        yield place, [held[node] for node in sorted(nodes)]
    for rack, nodes in whole.items():
        if not nodes <= covered:
            yield rack, [held[node] for node in sorted(nodes)]
            covered |= nodes
    for node in sorted(set(held) - covered):
        yield node, [held[node]]


def _racks_of(nodes: set[Subject], racks: Mapping[Subject, set[Subject]]) -> list[Subject]:
    return [rack for rack, inside in racks.items() if inside <= nodes]


def _fully(
    scene: Scene, held: Mapping[Subject, Symptom], prefix: str, nodes: set[Subject]
) -> dict[Subject, set[Subject]]:
    places = {up for node in nodes for up in scene.topology.up(node, ("powers",)) if up.startswith(prefix)}
    found = {}
    for place in sorted(places):
        behind = scene.nodes_under(place, ("powers",))
        working = (behind & scene.loaded) or behind
        if sum(1 for node in working if node in held) >= ALL_OF_THEM * len(working):
            found[place] = {node for node in behind if node in held}
    return found


def _brake_events(scene: Scene) -> dict[Subject, Symptom]:
    """Recent brake events of nodes that are still slow or not measured: the brake may be off again."""
    seen = scene.nodes_seen("gpu_clock_sm_hertz")
    recent = [
        event
        for event in scene.panel.events_of(EVENT)
        if event.at >= scene.now - EVENT_SECONDS and (event.subject in scene.slow_clocks or event.subject not in seen)
    ]
    return {event.subject: Symptom(event.subject, EVENT, event.at, 0.0, 1.0) for event in recent}


SEAM = Seam(
    name="power.limit",
    asks="Does a power limit or the power brake slow all GPUs behind one rack or feed?",
    kinds=("power.cap", "power.brake"),
    reads=(LIMIT, *REPORTED_LIMITS, HEALTHY, "gpu_clock_event_reasons", "gpu_temperature_celsius", "job_step_seconds"),
    domains=("power", "accelerators", "runtime"),
    explain=explain,
)
