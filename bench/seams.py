"""How long it takes to judge an hour of a whole fleet, and how that grows: 30 rows a node, a column every ten seconds.

The floor in the same run is the plainest thing that could be asked of the same numbers: for each row the median of
its beginning against the median of its last minute, in plain Python, on a sample of the rows and scaled up.
Times are CPU seconds of this process, for the machine is shared; the wall time stands beside it.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

from holdfast import seams
from holdfast.model.panel import Panel, SignalTable
from holdfast.model.topology import Edge, Topology

from measure import publish
from plot import Panel as Curve
from plot import draw

STEP, COLUMNS, START = 10.0, 360, 240
PER_GPU = {"gpu_temperature_celsius": (62.0, 0.5), "gpu_clock_sm_hertz": (1.98e9, 3e6), "gpu_power_watts": (650.0, 6.0)}
PER_NODE = {"fan_speed_ratio": (0.55, 0.005), "node_inlet_celsius": (27.0, 0.2), "node_power_watts": (6400.0, 50.0)}
GPUS, NODES_PER_RACK, RACKS_PER_CDU, RANKED = 8, 16, 8, 3
ROWS_OF_THE_FLOOR = 2000
SIZES = (500, 1000, 2000, 4000, 8000, 12500)


def fleet(nodes: int, seed: int = 1) -> tuple[Panel, Topology]:
    """One unit has lost half of its flow twenty minutes ago; its GPUs are hot and slow, and so is the job."""
    random = np.random.default_rng(seed)
    names = [f"node/n{number:05d}" for number in range(nodes)]
    racks = [f"rack/r{number}" for number in range(-(-nodes // NODES_PER_RACK))]
    cdus = [f"cdu/c{number}" for number in range(-(-len(racks) // RACKS_PER_CDU))]
    gpus = tuple(f"{name}/gpu/{index}" for name in names for index in range(GPUS))
    ports = tuple(f"{name}/nic/mlx5_{index}/1" for name in names for index in range(RANKED))
    tables = {name: _table(random, gpus, *usual) for name, usual in PER_GPU.items()}
    tables |= {name: _table(random, tuple(names), *usual) for name, usual in PER_NODE.items()}
    tables["port_xmit_wait_ratio"] = _table(random, ports, 0.02, 0.004)
    tables["rack_flow_litres_per_minute"] = _table(random, tuple(racks), 120.0, 1.0)
    tables["cdu_flow_litres_per_minute"] = _table(random, tuple(cdus), 960.0, 5.0)
    tables["job_step_seconds"] = _table(random, ("job/llama",), 5.0, 0.02)
    _strike(tables, nodes)
    return Panel(np.arange(COLUMNS, dtype=np.float64) * STEP, tables), Topology(tuple(_edges(names, racks, cdus)))


def _table(random: np.random.Generator, subjects: tuple[str, ...], usual: float, noise: float) -> SignalTable:
    values = random.standard_normal((len(subjects), COLUMNS), np.float32)
    values *= np.float32(noise)
    values += np.float32(usual)
    return SignalTable(subjects, values)


def _strike(tables: dict[str, SignalTable], nodes: int) -> None:
    behind = min(nodes, NODES_PER_RACK * RACKS_PER_CDU)
    tables["cdu_flow_litres_per_minute"].values[0, START:] *= 0.5
    tables["rack_flow_litres_per_minute"].values[: -(-behind // NODES_PER_RACK), START:] *= 0.5
    tables["gpu_temperature_celsius"].values[: behind * GPUS, START + 6 :] += 18.0
    tables["gpu_clock_sm_hertz"].values[: behind * GPUS, START + 12 :] *= 0.8
    tables["job_step_seconds"].values[:, START + 12 :] *= 1.2


def _edges(names: list[str], racks: list[str], cdus: list[str]) -> list[Edge]:
    edges = [Edge("cools", cdus[number // RACKS_PER_CDU], rack) for number, rack in enumerate(racks)]
    for number, name in enumerate(names):
        edges += [Edge("cools", racks[number // NODES_PER_RACK], name), Edge("runs_on", name, "job/llama")]
    return edges


def judge(nodes: int) -> dict[str, float]:
    panel, topology = fleet(nodes)
    rows = sum(len(table.subjects) for table in panel.tables.values())
    best_cpu = best_wall = float("inf")
    for _ in range(3):
        cpu, wall = time.process_time(), time.perf_counter()
        (finding,) = seams.explain(panel, Topology(topology.edges))
        best_cpu = min(best_cpu, time.process_time() - cpu)
        best_wall = min(best_wall, time.perf_counter() - wall)
        assert (finding.cause, finding.kind) == ("cdu/c0", "cooling.flow_low"), finding
    return {"nodes": nodes, "rows": rows, "cpu_seconds": round(best_cpu, 3), "wall_seconds": round(best_wall, 3)}


def floor(nodes: int) -> float:
    """Seconds that plain Python would take for the least of it."""
    panel, _ = fleet(min(nodes, 200))
    sample = [row for table in panel.tables.values() for row in table.values[: ROWS_OF_THE_FLOOR // 7].tolist()]
    rows = judge_rows(nodes)
    start = time.process_time()
    for row in sample:
        statistics.median(row[:90]), statistics.median(row[-6:])
    return (time.process_time() - start) * rows / len(sample)


def judge_rows(nodes: int) -> int:
    return nodes * (GPUS * len(PER_GPU) + len(PER_NODE) + RANKED)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--most", type=int, default=12500, help="the largest fleet")
    options.add_argument("--plot", action="store_true", help="draw docs/seams.svg")
    asked = options.parse_args()
    rows = [judge(size) for size in SIZES if size <= asked.most]
    at = next((row for row in rows if row["nodes"] == 2000), rows[-1])
    least = floor(int(at["nodes"]))
    first, last = rows[0], rows[-1]
    growth = (last["cpu_seconds"] / first["cpu_seconds"]) / (last["nodes"] / first["nodes"])
    if asked.plot:
        curve = Curve("CPU seconds", [row["nodes"] for row in rows], [row["cpu_seconds"] for row in rows])
        each = [1e6 * row["cpu_seconds"] / row["rows"] for row in rows]
        plot = draw("An hour of a fleet judged, over nodes", [curve, Curve("µs a row", curve.across, each)])
        (Path(__file__).parents[1] / "docs" / "seams.svg").write_text(plot, encoding="utf-8")
    publish(
        "seams",
        {
            "window": f"{COLUMNS} columns of {STEP:.0f} s, {judge_rows(1)} rows a node",
            "nodes": at["nodes"],
            "cpu_seconds": at["cpu_seconds"],
            "wall_seconds": at["wall_seconds"],
            "floor_seconds": round(least, 2),
            "to_floor": round(at["cpu_seconds"] / least, 3),
            "growth_against_linear": round(growth, 2),
            "by_size": rows,
        },
    )


if __name__ == "__main__":
    main()
