"""Draws hard drills: tiny and large fleets, weak and slow faults, several at once, strong distractors."""

from dataclasses import replace

import numpy as np

from holdfast.lab.drills.draw import CALM, SLOW_TO_SHOW, drawable, hurting, pick
from holdfast.lab.drills.drill import Drill
from holdfast.lab.twin.plant.fault import Distractor, PlantFault, kinds
from holdfast.lab.twin.plant.layout import JobSpec, Layout, PlantLayout, Serving
from holdfast.lab.twin.plant.signals import subjects

LASTS = 45 * 60.0
LONG = 90 * 60.0
NEEDS_MTBF = "schedule.cadence_long"
OF_POOLS = "pools."
WEAK = 0.5  # as a share of the smallest usual magnitude
LEAST_SHOWN = 900.0  # seconds for which a fault that ends again has its full level
RESTING = ("rack_power_limit_watts", "gpu_power_limit_watts", "gpu_clock_event_reasons", "gpu_clock_sm_hertz",
           "gpu_utilization_ratio")  # fmt: skip
"""Signals that stay constant for hours in normal operation, so that a stuck sensor would not show."""
LATE_JOB = 240.0
SETTLED = 900.0  # a job that has just started has no baseline
TOGETHER = (1, 1, 1, 2, 2, 3)


def draw_hard(seed: int, kind: str) -> Drill:
    """Draws a drill; the same seed and kind always give the same drill."""
    rng = np.random.default_rng([seed, 77, len(kind), *kind.encode()])
    wanted = [] if kind == CALM else _wanted(rng, kind)
    layout = _layout(rng, wanted)
    lasts = LONG if any(one in SLOW_TO_SHOW for one in wanted) else LASTS
    faults: list[PlantFault] = []
    for name in wanted:
        one = _fault(rng, name, layout, lasts)
        if all(_apart(one, other, layout) for other in faults):
            faults.append(one)
    return Drill(
        name=f"{kind}#{seed}", title=f"Drawn hard: {kind}, seed {seed}", lasts=lasts, seed=seed, layout=layout,
        step=float(rng.choice([5, 10, 10, 10, 20, 30])), faults=tuple(faults),
        distractors=_distractors(rng, layout, lasts),
    )  # fmt: skip


def _wanted(rng: np.random.Generator, kind: str) -> list[str]:
    others = [name for name in drawable() if name != kind]
    more = int(rng.choice(TOGETHER)) - 1
    return [kind, *(str(name) for name in rng.choice(others, more, replace=False))]


def _layout(rng: np.random.Generator, wanted: list[str]) -> Layout:
    pools = any(name.startswith(OF_POOLS) for name in wanted)
    nodes = int(rng.choice([8, 16, 32] if pools else [4, 6, 8, 16, 24, 48, 96]))
    first = max(2, nodes // 2 if pools else int(rng.choice([nodes // 2, nodes * 3 // 4, nodes])))
    fleet = PlantLayout(
        nodes=nodes, gpus_per_node=int(rng.choice([4, 8])), nodes_per_rack=int(rng.choice([2, 4, 8])),
        racks_per_cdu=int(rng.integers(1, 5)), cdus_per_room=int(rng.integers(1, 4)),
        # A job within one leaf uses no uplink, so an uplink fault does not affect it.
        nodes_per_leaf=min(int(rng.choice([2, 4, 8, 16])), max(1, first // 2)), spines=int(rng.choice([2, 3, 4])),
    )  # fmt: skip
    rest = list(range(first, nodes))
    mtbf = float(rng.uniform(700, 1500)) if NEEDS_MTBF in wanted else float("inf")
    jobs = [replace(_job(rng, "alpha", tuple(range(first)), mtbf), start=float(rng.choice([0, 0, 0, LATE_JOB])))]
    serving = None
    if pools:
        parts = np.array_split(np.array(rest), int(rng.integers(3, 5)))
        serving = Serving(
            source="prefill", source_nodes=tuple(int(node) for node in parts[0]),
            targets=tuple((f"decode{i}", tuple(int(n) for n in parts[i])) for i in range(1, len(parts))),
        )  # fmt: skip
    elif len(rest) >= 2:
        late = replace(_job(rng, "beta", tuple(rest), float("inf")), start=float(rng.choice([0, 0, 300, 900])))
        jobs.append(replace(late, end=float(rng.choice([1500, np.inf]))))
    return Layout(fleet, tuple(jobs), serving)


def _job(rng: np.random.Generator, name: str, nodes: tuple[int, ...], mtbf: float) -> JobSpec:
    return JobSpec(
        name=name, nodes=nodes, compute_seconds=float(rng.uniform(1, 12)),
        collective_seconds=float(rng.uniform(0.4, 3)), checkpoint_interval=float(rng.uniform(240, 1200)),
        checkpoint_seconds=float(rng.uniform(8, 40)), restart_seconds=float(rng.uniform(90, 400)), mtbf=mtbf,
    )  # fmt: skip


def _fault(rng: np.random.Generator, name: str, layout: Layout, lasts: float) -> PlantFault:
    kind = kinds()[name]
    type_of = str(rng.choice(kind.on))
    subject = "software/driver-580.1" if type_of == "software" else pick(rng, hurting(layout, type_of))
    lowest, highest = max(kind.bounds[0], WEAK * kind.draw[0]), kind.draw[1] + 0.5 * (kind.bounds[1] - kind.draw[1])
    weak_matters = not name.startswith(("schedule.", "software."))
    earliest = layout.jobs[0].start + SETTLED if layout.jobs[0].start else 0.0
    start = float(rng.choice([earliest, float(rng.uniform(earliest + 60, 0.45 * lasts)) // 10 * 10]))
    ramp = float(rng.choice([0, 60, 600, 0.4 * lasts])) if kind.slow else float(rng.choice([0, 0, 60, 300]))
    ends = start + ramp + LEAST_SHOWN + float(rng.uniform(0, 600))
    early = rng.random() < 0.3 and ends < lasts and weak_matters
    return PlantFault(
        kind=name, subject=subject, start=start,
        magnitude=float(rng.uniform(lowest if weak_matters else kind.draw[0], min(highest, 2 * kind.draw[1]))),
        ramp=0.0 if name.startswith("schedule.") else ramp, end=ends if early else float("inf"),
        signal=_signal(rng, name, subject, layout) if name.startswith("sensor.") else "",
        nodes=layout.jobs[0].nodes[: max(2, len(layout.jobs[0].nodes) // 2)] if type_of == "software" else (),
    )  # fmt: skip


def _signal(rng: np.random.Generator, name: str, subject: str, layout: Layout) -> str:
    mine = [signal for signal, who in subjects(layout).items() if subject in who]
    if name in ("sensor.stuck", "sensor.drift"):
        mine = [signal for signal in mine if signal not in RESTING]
    return str(rng.choice(mine))


def _apart(one: PlantFault, other: PlantFault, layout: Layout) -> bool:
    """Whether two faults differ in subject and domain; otherwise one could hide the other."""
    return one.subject != other.subject and one.kind.partition(".")[0] != other.kind.partition(".")[0]


def _distractors(rng: np.random.Generator, layout: Layout, lasts: float) -> tuple[Distractor, ...]:
    def at() -> float:
        return float(rng.uniform(0.02, 0.95)) * lasts

    def some(kind: str, among: tuple[str, ...], seconds: tuple[float, float], size: tuple[float, float]) -> Distractor:
        return Distractor(
            kind=kind, subject=pick(rng, among), start=at(), seconds=float(rng.uniform(*seconds)),
            magnitude=float(rng.uniform(*size)), signal="cdu_flow_litres_per_minute" if kind == "sensor_gap" else "",
        )  # fmt: skip

    jobs = tuple(f"job/{spec.name}" for spec in layout.jobs)
    instant = (0.0, 0.1)
    made = [
        some("ambient_wiggle", layout.rooms, (300, 1500), (0.5, 3.0)),
        some("xid", layout.gpus, instant, instant),
        some("xid", layout.gpus, instant, instant),
        some("route_change", (*layout.leaves, *layout.spines), instant, instant),
        some("port_flap", layout.ports, instant, instant),
        some("rollout", layout.nodes, instant, instant),
        some("rollout", layout.nodes, instant, instant),
        some("load_change", jobs, (120, 900), (0.05, 0.5)),
        some("slow_steps", jobs, (10, 180), (0.05, 0.5)),
        some("storage_burst", ("storage/lustre1",), (60, 600), (0.3, 3.0)),
        some("sensor_gap", layout.cdus, (30, 200), instant),
    ]
    keep = rng.random(len(made)) < 0.4
    return tuple(one for one, kept in zip(made, keep, strict=True) if kept)
