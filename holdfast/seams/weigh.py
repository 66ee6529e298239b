"""Weights of a rule: the share of expected symptoms that appeared, and how recently."""

from collections.abc import Collection, Mapping

import numpy as np

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.scene import Scene

FOR_COMPANIONS = 2.0
AGAINST_STILL = 2.5
HEAT = "gpu_temperature_celsius"
WARMER_CELSIUS = 1.5
SLACK_SECONDS = 120.0
HEAT_NEEDS_SECONDS = 300.0  # metal and coolant have inertia


def share(moved: Collection[Subject], of: Collection[Subject]) -> float | None:
    """How many of these moved; None where none of them is seen."""
    return sum(1 for one in of if one in moved) / len(of) if of else None


def companions(
    candidate: CauseCandidate, what: str, moved: Mapping[Subject, Symptom], seen: Collection[Subject]
) -> bool:
    """Others that must move with it: if most do it is no lone instrument, if none does it may well be one."""
    part = share(moved, seen)
    if part is None:
        candidate.unknown.append(f"{what}: not measured")
        return False
    count = sum(1 for one in seen if one in moved)
    if part > 0.5:
        candidate.speaks(FOR_COMPANIONS, f"{what}: moved in {count} of {len(seen)}")
    elif count == 0:
        candidate.doubt(AGAINST_STILL, f"{what}: unmoved in all {len(seen)}")
    else:
        candidate.doubt(AGAINST_STILL, f"{what}: moved in only {count} of {len(seen)}")
    return part > 0.5


def warms(scene: Scene, candidate: CauseCandidate, nodes: Collection[Subject], expected: bool) -> float:
    """Do the nodes that it cools and that work get hotter, since it began? How many of them, as a share.

    Healthy ones count against it, once they had the time.
    """
    seen = scene.nodes_seen(HEAT) & scene.loaded & set(nodes)
    hotter = {node for node, sign in scene.hot.items() if sign.since >= candidate.since - SLACK_SECONDS}
    part = share(hotter, seen)
    if part is None:
        candidate.unknown.append("temperature of the GPUs it cools: not seen")
        return 0.0
    hot = sum(1 for node in seen if node in hotter)
    if part > 0:
        candidate.speaks(FOR_COMPANIONS * part, f"GPUs are hotter in {hot} of {len(seen)} working nodes that it cools")
    if not expected or part >= 0.5 or scene.now - candidate.since < HEAT_NEEDS_SECONDS:
        return part
    # Who draws less than before need not get hot, and who was hot until a checkpoint let it rest was hot.
    still = [node for node in seen - scene.drawing_less - hotter if not _warmed(scene, node, candidate)]
    if still:
        weight = AGAINST_STILL * len(still) / len(seen)
        candidate.doubt(weight, f"{len(still)} of {len(seen)} working nodes it cools are well")
    return part


def _warmed(scene: Scene, node: Subject, candidate: CauseCandidate) -> bool:
    """Were its GPUs warmer than usual, on average since the candidate began, or are they now?"""
    table = scene.panel.of(HEAT)
    rows = [table.index[gpu] for gpu in scene.gpus_of.get(node, ())]
    first = int(np.searchsorted(scene.panel.times, candidate.since))
    late = table.values[rows, first:]
    usual = np.array([scene.usual(HEAT, gpu) for gpu in scene.gpus_of.get(node, ())], np.float32)
    rise = late - usual[:, None]
    if not np.isfinite(rise).any():
        return False
    now = [scene.recent(HEAT, gpu) - scene.usual(HEAT, gpu) for gpu in scene.gpus_of.get(node, ())]
    return max(float(np.nanmean(rise)), float(np.mean(now))) >= WARMER_CELSIUS


def fall(one: Symptom) -> float:
    """How much of it is gone, as a share."""
    return (one.before - one.now) / abs(one.before) if one.before else 0.0


def moved_text(one: Symptom, unit: str = "") -> str:
    return f"{one.subject} {one.signal} went from {one.before:.4g} to {one.now:.4g}{unit}"
