"""How fast the plant is: 512 nodes for two simulated hours, beside drawing its sensors' noise alone; how it grows."""

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from measure import cpu_times, publish, steal_ratio

from holdfast.lab.twin.plant.fault import PlantFault
from holdfast.lab.twin.plant.layout import PlantLayout, JobSpec, Layout
from holdfast.lab.twin.plant.plant import Plant

HOURS = 2.0
LIMIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Timed:
    nodes: int
    wall_seconds: float
    cpu_seconds: float
    values: int
    noise_cpu_seconds: float

    def figures(self) -> dict[str, float]:
        return {
            "nodes": self.nodes,
            "simulated_hours": HOURS,
            "wall_seconds": round(self.wall_seconds, 2),
            "cpu_seconds": round(self.cpu_seconds, 2),
            "values": self.values,
            "values_per_cpu_second": round(self.values / self.cpu_seconds),
            "noise_alone_cpu_seconds": round(self.noise_cpu_seconds, 2),
            "to_noise_alone": round(self.cpu_seconds / self.noise_cpu_seconds, 2),
        }


def layout(nodes: int) -> Layout:
    half, rest = nodes // 2, nodes // 4
    jobs = (
        JobSpec(name="llama", nodes=tuple(range(half))),
        JobSpec(name="mixtral", nodes=tuple(range(half, half + rest))),
    )
    return Layout(PlantLayout(nodes=nodes), jobs)


def timed(nodes: int) -> Timed:
    fault = PlantFault(kind="cooling.flow_low", subject="cdu/c1", start=1800.0, ramp=600.0, magnitude=0.5)
    plant = Plant(layout(nodes), (fault,), seed=1)
    wall, cpu = time.perf_counter(), time.process_time()
    panel = plant.panel(HOURS * 3600)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    values = sum(table.values.size for table in panel.tables.values())
    return Timed(nodes, wall, cpu, values, noise_alone(values))


def noise_alone(values: int) -> float:
    """Two normal draws a value, as every sensor needs them: what no plant with noise can go below."""
    random = np.random.default_rng(1)
    began = time.process_time()
    for _ in range(2):
        random.standard_normal(values, np.float32)
    return time.process_time() - began


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nodes", type=int, default=512)
    options.add_argument("--growth", action="store_true", help="64 to 1024 nodes too")
    asked = options.parse_args()
    before = cpu_times()
    found = timed(asked.nodes)
    figures: dict[str, Any] = {
        **found.figures(),
        "limit_seconds": LIMIT_SECONDS,
        "within_limit": found.wall_seconds <= LIMIT_SECONDS,
    }
    if asked.growth:
        figures["growth"] = [timed(nodes).figures() for nodes in (64, 256, 1024)]
    publish("plant", {**figures, "steal_ratio": round(steal_ratio(before, cpu_times()), 3)})


if __name__ == "__main__":
    main()
