"""Weights of a rule: the share of expected symptoms that appeared, and how recently."""

from collections.abc import Collection, Mapping

import numpy as np

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.moved import baseline_columns, median, recent_columns
from holdfast.seams.scene import Scene
from holdfast.seams.work import IDLE_UNKNOWN

FOR_COMPANIONS = 2.0
AGAINST_STILL = 2.5
HEAT = "gpu_temperature_celsius"
STEP = "job_step_seconds"
CLOCK = "gpu_clock_sm_hertz"
THERMAL = 32 | 64  # NVML's clock event reasons
POWER, USE = "gpu_power_watts", "gpu_utilization_ratio"
WARMER_CELSIUS = 1.5
LEAST_RISE_CELSIUS = 1.0  # above the rise that their power explains; a smaller rise is noise
FEW = 0.34
SEVERAL = 0.2  # share of the working nodes
AS_MUCH = 0.5  # share of the lost flow that a fall of the load must explain
SLACK_SECONDS = 120.0
FOLLOWS_WITHIN_SECONDS = 900.0
HEAT_NEEDS_SECONDS = 300.0  # metal and coolant have inertia


def share(moved: Collection[Subject], of: Collection[Subject]) -> float | None:
    """The share of these subjects that changed; None if there are none."""
    return sum(1 for one in of if one in moved) / len(of) if of else None


def companions(
    candidate: CauseCandidate, what: str, moved: Mapping[Subject, Symptom], seen: Collection[Subject]
) -> bool:
    """Weighs a candidate by other instruments that must change with it. Returns whether most of them did."""
    part = share(moved, seen)
    if part is None:
        candidate.unknown.append(f"{what}: not measured")
        return False
    count = sum(1 for one in seen if one in moved)
    if part > 0.5:
        candidate.supported_by(FOR_COMPANIONS, f"{what}: moved in {count} of {len(seen)}")
    elif count == 0:
        candidate.doubted_by(AGAINST_STILL, f"{what}: unmoved in all {len(seen)}")
    else:
        candidate.doubted_by(AGAINST_STILL, f"{what}: moved in only {count} of {len(seen)}")
    return part > 0.5


def warms(scene: Scene, candidate: CauseCandidate, nodes: Collection[Subject], expected: bool) -> float:
    """The share of the working nodes behind the candidate that got hotter since it began.

    After five minutes, nodes with normal temperatures count against the candidate.
    """
    seen = scene.nodes_seen(HEAT) & scene.loaded & set(nodes)
    hotter = {node for node, sign in scene.hot.items() if sign.since >= candidate.since - SLACK_SECONDS}
    part = share(hotter, seen)
    if part is None:
        candidate.unknown.append("temperature of the GPUs it cools: not seen")
        return 0.0
    hot = sum(1 for node in seen if node in hotter)
    if part > 0:
        candidate.supported_by(
            FOR_COMPANIONS * part, f"GPUs are hotter in {hot} of {len(seen)} working nodes that it cools"
        )
    if not expected or part >= 0.5 or scene.now - candidate.since < HEAT_NEEDS_SECONDS:
        return part
    # A node that draws less than before may stay cool. A node that was hot until a checkpoint paused it counts as hot.
    still = [node for node in seen - scene.drawing_less - hotter if not _warmed(scene, node, candidate)]
    if still:
        weight = AGAINST_STILL * len(still) / len(seen)
        candidate.doubted_by(weight, f"{len(still)} of {len(seen)} working nodes that it cools are normal")
    return part


def unexplained_rise(scene: Scene, nodes: Collection[Subject]) -> float | None:
    """Median rise of the GPUs of these working nodes in degrees, without the part that their power explains; None if no
    GPU is measured."""
    heat, power = scene.moves(HEAT), scene.moves(POWER)
    drawn = {subject: row for row, subject in enumerate(power.subjects)}
    wholes = scene.wholes(heat.subjects)
    rises = []
    for row in np.flatnonzero(heat.seen):
        if wholes[row] not in nodes or wholes[row] not in scene.loaded:
            continue
        place = drawn.get(heat.subjects[row])
        times = float(power.recent[place] / max(power.center[place], 1.0)) if place is not None else 1.0
        explained = (float(heat.center[row]) - scene.coolant) * (times - 1.0) if times == times else 0.0
        explained *= IDLE_UNKNOWN if explained > 0 else 1.0
        rises.append(float(heat.recent[row] - heat.center[row]) - explained)
    return float(np.median(rises)) if rises else None


def suffers(scene: Scene, nodes: Collection[Subject]) -> bool:
    """Whether several of these nodes are slower. Heat alone does no harm. Without clocks, a slower job shows it."""
    working = scene.loaded & set(nodes)
    slowed = working & (scene.slow_clocks.keys() | scene.nodes_with_reasons(THERMAL).keys())
    if scene.nodes_seen(CLOCK) & working:  # a single slow node may have its own cause
        return len(slowed) >= max(min(2, len(working)), SEVERAL * len(working))
    return any(job in scene.moved(STEP) for job, mine in scene.jobs.items() if mine & set(nodes))


def follows_load(scene: Scene, nodes: Collection[Subject], lost: float) -> bool:
    """Whether the load fell as much as the delivered flow, for another reason than heat.

    If racks share a flow without valves, the few nodes that still work get warmer, without a fault of the unit. A hot
    GPU that draws less or clocks down does so because of the heat.
    """
    suffering = [
        node for node in nodes if node in scene.hot and (node in scene.slow_clocks or node in scene.drawing_less)
    ]
    resting = [node for node in nodes if node not in scene.loaded]
    few = len(suffering) <= FEW * len(resting)  # most nodes that draw less are idle, not hot
    return load_fell(scene, nodes) >= AS_MUCH * lost and few


def load_fell(scene: Scene, nodes: Collection[Subject]) -> float:
    """The share by which the power of these nodes' GPUs fell, idle ones included; without power, their utilization."""
    times = scene.panel.times
    for signal in (POWER, USE):
        table = scene.panel.of(signal)
        rows = [row for row, whole in enumerate(scene.wholes(table.subjects)) if whole in nodes]
        before = median(table.values[rows, : baseline_columns(times)])
        falls = []
        # Valves and pumps follow the load with a delay, so a fall some minutes ago counts too.
        for columns in (recent_columns(times), min(len(times), round(FOLLOWS_WITHIN_SECONDS / scene.panel.step))):
            now = median(table.values[rows, -columns:])
            both = np.isfinite(before) & np.isfinite(now)
            if (usual := float(before[both].sum())) > 0:
                falls.append(1.0 - float(now[both].sum()) / usual)
        if falls:
            return max(falls)
    return share(_stopped(scene), nodes) or 0.0


def _stopped(scene: Scene) -> set[Subject]:
    """Nodes of jobs that reported steps before and report none now: the load of a fleet without power readings."""
    table, times = scene.panel.of(STEP), scene.panel.times
    before = np.isfinite(table.values[:, : baseline_columns(times)]).any(axis=1)
    now = np.isfinite(table.values[:, -recent_columns(times) :]).any(axis=1)
    jobs = (table.subjects[row] for row in np.flatnonzero(before & ~now))
    return {node for job in jobs for node in scene.jobs.get(job, ())}


def _warmed(scene: Scene, node: Subject, candidate: CauseCandidate) -> bool:
    """Whether the node's GPUs are warmer than usual now, or were on average since the candidate began."""
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
    """The relative fall of a value."""
    return (one.before - one.now) / abs(one.before) if one.before else 0.0


def moved_text(one: Symptom, unit: str = "") -> str:
    return f"{one.subject} {one.signal} went from {one.before:.4g} to {one.now:.4g}{unit}"
