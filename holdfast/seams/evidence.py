"""Kinds of evidence for a cause. A single sensor gives no high confidence."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Finding, Symptom
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLS, REASONS, WORK
from holdfast.seams.scene import Scene

ONE_KIND = 1.2  # maximum score of one kind of evidence: confidence 0.77
SEVERAL = 3  # sensors of one kind with the same change
STATES = frozenset({"psu", "bandwidth", "port_bandwidth", "limit", "interval", "link_errors", REASONS})
"""States that a device reports exactly, without noise."""
OF_EVENTS = ("schedule.", "software.", "sensor.", "power.brake")
"""Kinds that rest on events or have limits of their own."""
OF_LOAD = frozenset(
    {"gpu_power", "node_power", "rack_power", "utilization", "link_use", "fan", "rate", "share", "return"}
)
"""Families that follow the load."""
TOGETHER_SECONDS = 120.0
FEW = 1 / 3  # share of the working GPUs behind a cause that counts as few; a coolant unit or a room affects all of them
FOLLOWS_SECONDS = 900.0  # a later change is no evidence for the cause: coolant, metal and jobs react faster
BY_HEAT = "cooling."
BY_FLOW = ("cooling.flow_low", "cooling.supply_warm", "cooling.ambient", "cooling.plant")
WARM = frozenset({"heat", "clock", REASONS})
HEAT = "gpu_temperature_celsius"


def family(signal: str) -> str:
    return signals()[signal].family if signal in signals() else signal


def is_plain(finding: Finding) -> bool:
    """Whether the finding rests on an event, or on a state that the device itself reports without noise."""
    own = (one for one in finding.symptoms if one.subject == finding.cause)
    return finding.kind.startswith(OF_EVENTS) or any(family(one.signal) in STATES for one in own)


def by_heat(scene: Scene, candidate: CauseCandidate, explained: Sequence[Symptom]) -> list[Symptom]:
    """Removes slow work from what cooling explains if GPU temperatures are known and none rose."""
    if not candidate.kind.startswith(BY_HEAT) or any(family(one.signal) in WARM for one in explained):
        return list(explained)
    if not scene.nodes_seen(HEAT):
        return list(explained)
    return [one for one in explained if family(one.signal) not in WORK]


def most(scene: Scene, candidate: CauseCandidate, explained: Sequence[Symptom]) -> float:
    """The maximum score that the kinds of a candidate's evidence allow."""
    if candidate.kind.startswith(OF_EVENTS):
        return candidate.most
    shown: dict[str, set[str]] = defaultdict(set)
    for one in (*candidate.signs, *explained):
        shown[one.signal].add(one.subject)
    if shown and (_harmless(candidate, explained) or _few(scene, candidate, explained) or _late(candidate, explained)):
        return min(candidate.most, ONE_KIND)
    if not shown or _enough(scene, candidate, shown):
        return candidate.most
    for name, subjects in _companions(scene, candidate):
        shown[name] |= subjects
    return candidate.most if _enough(scene, candidate, shown) else min(candidate.most, ONE_KIND)


def _harmless(candidate: CauseCandidate, explained: Sequence[Symptom]) -> bool:
    """Whether no node is affected. Pumps and valves follow load and weather, so the change may be normal control."""
    felt = {family(one.signal) for one in explained if one.subject != candidate.cause}
    return candidate.kind.startswith(BY_FLOW) and not felt & (WARM | WORK)


def _few(scene: Scene, candidate: CauseCandidate, explained: Sequence[Symptom]) -> bool:
    """Whether only a few of the working GPUs behind the cause are warmer and none is slower. That happens every day."""
    if not candidate.kind.startswith(BY_FLOW):
        return False
    heat = scene.moves(HEAT)
    wholes = scene.wholes(heat.subjects)
    behind = scene.loaded & scene.nodes_under(candidate.cause, COOLS)
    working = {gpu for row, gpu in enumerate(heat.subjects) if heat.seen[row] and wholes[row] in behind}
    warmer = {one.subject for one in explained if one.signal == HEAT}
    return len(warmer & working) < FEW * len(working) and not weigh.suffers(scene, behind)


def _late(candidate: CauseCandidate, explained: Sequence[Symptom]) -> bool:
    """Whether all effects began long after the change, so that the change was harmless until then."""
    if any(family(one.signal) in STATES for one in candidate.signs) or not candidate.signs:
        return False
    effects = [one.since for one in explained if one not in candidate.signs]
    return bool(effects) and min(effects) > candidate.since + FOLLOWS_SECONDS


def _enough(scene: Scene, candidate: CauseCandidate, shown: Mapping[str, set[str]]) -> bool:
    kinds = {family(name) for name, subjects in shown.items() if _counts(scene, candidate, name, subjects)}
    several = any(len(subjects) >= SEVERAL for subjects in shown.values())
    return len(kinds) + several > 1 or bool(kinds & STATES)


def _companions(scene: Scene, candidate: CauseCandidate) -> Iterator[tuple[str, set[str]]]:
    """Other sensors in reach of the cause with the expected change at the same time: supplies behind a feed, flows."""
    first = candidate.since - TOGETHER_SECONDS
    for name in scene.panel.tables:
        if name in signals() and family(name) in candidate.explains - OF_LOAD - WORK:
            moved = scene.moved(name).values()
            if found := {one.subject for one in moved if one.subject in candidate.reach and one.since >= first}:
                yield name, found


def _counts(scene: Scene, candidate: CauseCandidate, signal: str, subjects: set[str]) -> bool:
    """Whether the change counts as evidence. One warm GPU of many may be a wrong sensor; one slow job counts."""
    if family(signal) not in WARM or len(subjects) > 1 or candidate.cause in subjects:
        return True
    return sum(1 for one in scene.seen(signal) if one in candidate.reach or one.startswith(candidate.cause + "/")) <= 1
