"""Draws a random drill: fleet, jobs, fault, and harmless noise."""

from collections.abc import Sequence

import numpy as np

from holdfast.lab.drills.drill import Drill
from holdfast.lab.drills.subjects import KnownSubjects
from holdfast.lab.twin.plant.fault import Distractor, PlantFault, kinds
from holdfast.lab.twin.plant.layout import JobSpec, Layout, PlantLayout, Serving

CALM = "calm"
LASTS = 32 * 60.0
LONG = 70 * 60.0  # for faults that consist of several failures, or whose loss must add up
SLOW_TO_SHOW = ("schedule.cadence_long", "schedule.degraded_kept", "software.rollout", "storage.one_writer")
NOT_DRAWN = ("sensor.clock",)
SENSOR_SIGNALS = {
    "cdu": ("cdu_flow_litres_per_minute", "cdu_supply_celsius"),
    "rack": ("rack_flow_litres_per_minute", "rack_inlet_celsius"),
    "room": ("ambient_celsius",),
    "node": ("node_inlet_celsius",),
    "gpu": ("gpu_temperature_celsius",),
}


def drawable() -> tuple[str, ...]:
    return tuple(name for name in kinds() if name not in NOT_DRAWN)


def draw(seed: int, kind: str) -> Drill:
    """Draws a drill; the same seed and kind always give the same drill."""
    rng = np.random.default_rng([seed, len(kind), *kind.encode()])
    layout = _layout(rng, kind)
    lasts = LONG if kind in SLOW_TO_SHOW else LASTS
    faults = () if kind == CALM else (_fault(rng, kind, layout),)
    return Drill(
        name=f"{kind}#{seed}", title=f"Drawn: {kind}, seed {seed}", lasts=lasts, seed=seed, layout=layout,
        faults=faults, distractors=_distractors(rng, layout, lasts),
    )  # fmt: skip


def _layout(rng: np.random.Generator, kind: str) -> Layout:
    racks, per_rack = int(rng.integers(6, 11)), int(rng.choice([4, 4, 8]))
    nodes = racks * per_rack
    fleet = PlantLayout(
        nodes=nodes, nodes_per_rack=per_rack, racks_per_cdu=int(rng.integers(2, 5)),
        cdus_per_room=int(rng.integers(1, 3)), nodes_per_leaf=int(rng.choice([4, 8])),
        spines=int(rng.choice([2, 4])),
    )  # fmt: skip
    first = nodes // 2
    rest = list(range(first, nodes))
    mtbf = {"schedule.cadence_long": float(rng.uniform(600, 1100))}.get(kind, float("inf"))
    jobs = [
        JobSpec(
            name="alpha", nodes=tuple(range(first)), compute_seconds=float(rng.uniform(2, 8)),
            collective_seconds=float(rng.uniform(0.5, 2)), checkpoint_interval=float(rng.uniform(400, 700)),
            checkpoint_seconds=float(rng.uniform(12, 25)), restart_seconds=float(rng.uniform(120, 240)), mtbf=mtbf,
        )
    ]  # fmt: skip
    serving = None
    if kind.startswith("pools.") or rng.random() < 0.4:
        pools = np.array_split(np.array(rest), 4)
        serving = Serving(
            source="prefill", source_nodes=tuple(int(node) for node in pools[0]),
            targets=tuple((f"decode{i}", tuple(int(node) for node in pools[i])) for i in (1, 2, 3)),
        )  # fmt: skip
    else:
        jobs.append(JobSpec(name="beta", nodes=tuple(rest[: max(2, len(rest) * 2 // 3)])))
    return Layout(fleet, tuple(jobs), serving)


def _fault(rng: np.random.Generator, name: str, layout: Layout) -> PlantFault:
    kind = kinds()[name]
    type_of = str(rng.choice(kind.on))
    subject = "software/driver-580.1" if type_of == "software" else pick(rng, hurting(layout, type_of))
    ramp = float(rng.uniform(120, 900)) if kind.slow else float(rng.choice([0, 0, 30, 120]))
    return PlantFault(
        kind=name,
        subject=subject,
        start=float(rng.integers(48, 78)) * 10,
        magnitude=float(rng.uniform(*kind.draw)),
        ramp=ramp if not name.startswith("schedule.") else 0.0,
        signal=str(rng.choice(SENSOR_SIGNALS[type_of])) if name.startswith("sensor.") else "",
        nodes=layout.jobs[0].nodes[: max(4, len(layout.jobs[0].nodes) // 2)] if type_of == "software" else (),
    )


def hurting(layout: Layout, type_of: str) -> Sequence[str]:
    """Subjects of a type that a job uses: a fault in an unused part would show nothing."""
    job = layout.jobs[0]
    racks = sorted({int(layout.rack_of_node[node]) for node in job.nodes})
    leaves = sorted({int(layout.leaf_of_node[node]) for node in job.nodes})
    spines = layout.fleet.spines
    used: dict[str, list[str]] = {
        "rack": [layout.racks[rack] for rack in racks],
        "cdu": sorted({layout.cdus[layout.cdu_of_rack[rack]] for rack in racks}),
        "room": sorted({layout.rooms[layout.room_of_cdu[layout.cdu_of_rack[rack]]] for rack in racks}),
        "psu": [psu for rack in racks for psu in layout.psus[2 * rack : 2 * rack + 2]],
        "node": [layout.nodes[node] for node in job.nodes],
        "gpu": [layout.gpus[gpu] for gpu in layout.gpus_of(job.nodes)],
        "leaf": [layout.leaves[leaf] for leaf in leaves],
        "link": [link for leaf in leaves for link in layout.links[leaf * spines : (leaf + 1) * spines]],
        "job": [f"job/{job.name}"],
        "rank": [f"job/{job.name}/rank/{rank}" for rank in range(len(layout.gpus_of(job.nodes)))],
    }
    return used.get(type_of) or KnownSubjects(layout).by_type[type_of]


def pick(rng: np.random.Generator, among: Sequence[str]) -> str:
    return among[int(rng.integers(len(among)))]


def _distractors(rng: np.random.Generator, layout: Layout, lasts: float) -> tuple[Distractor, ...]:
    def at() -> float:
        return float(rng.uniform(0.1, 0.9)) * lasts

    made = [
        Distractor(kind="ambient_wiggle", subject=pick(rng, layout.rooms), start=at(),
                   seconds=float(rng.uniform(300, 900)), magnitude=float(rng.uniform(0.5, 1.8))),
        Distractor(kind="xid", subject=pick(rng, layout.gpus), start=at()),
        Distractor(kind="route_change", subject=pick(rng, layout.leaves), start=at()),
        Distractor(kind="port_flap", subject=pick(rng, layout.ports), start=at()),
        Distractor(kind="rollout", subject=pick(rng, layout.nodes), start=at()),
        Distractor(kind="load_change", subject=f"job/{layout.jobs[-1].name}", start=at(),
                   seconds=float(rng.uniform(120, 400)), magnitude=float(rng.uniform(0.05, 0.2))),
        Distractor(kind="slow_steps", subject=f"job/{layout.jobs[0].name}", start=at(),
                   seconds=float(rng.uniform(10, 40)), magnitude=float(rng.uniform(0.1, 0.4))),
        Distractor(kind="storage_burst", subject="storage/lustre1", start=at(),
                   seconds=float(rng.uniform(60, 240)), magnitude=float(rng.uniform(0.3, 0.8))),
        Distractor(kind="sensor_gap", subject=pick(rng, layout.cdus), start=at(),
                   seconds=float(rng.uniform(30, 200)), signal="cdu_flow_litres_per_minute"),
    ]  # fmt: skip
    keep = rng.random(len(made)) < 0.35
    return tuple(one for one, kept in zip(made, keep, strict=True) if kept)
