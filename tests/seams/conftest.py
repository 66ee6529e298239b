"""A small made plant: two units, four racks, twelve nodes, two leaves, one job, one pool path. Calm until told."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from holdfast import seams
from holdfast.model.finding import Finding
from holdfast.model.panel import Panel, SignalTable
from holdfast.model.signal import Event
from holdfast.model.topology import Edge, Topology
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

STEP = 10.0
COLUMNS = 240
START = 150  # the column at which things go wrong
NODES = [f"node/n{number}" for number in range(1, 13)]
GPUS = [f"{node}/gpu/{index}" for node in NODES for index in range(2)]
RACKS = [f"rack/r{number}" for number in range(1, 5)]
LINKS = [f"link/leaf{leaf}-spine{spine}" for leaf in (1, 2) for spine in (1, 2, 3)]
USUAL = {
    "cdu_flow_litres_per_minute": (["cdu/c1", "cdu/c2"], 200.0, 1.0),
    "cdu_supply_celsius": (["cdu/c1", "cdu/c2"], 32.0, 0.1),
    "cdu_differential_pressure_pascals": (["cdu/c1", "cdu/c2"], 150e3, 1e3),
    "cdu_pump_speed_ratio": (["cdu/c1", "cdu/c2"], 0.75, 0.003),
    "ambient_celsius": (["room/h1"], 24.0, 0.1),
    "rack_flow_litres_per_minute": (RACKS, 100.0, 0.7),
    "rack_inlet_celsius": (RACKS, 32.4, 0.1),
    "fan_speed_ratio": (NODES, 0.55, 0.005),
    "node_inlet_celsius": (NODES, 27.0, 0.1),
    "gpu_temperature_celsius": (GPUS, 62.0, 0.4),
    "gpu_clock_sm_hertz": (GPUS, 1.98e9, 2e6),
    "gpu_power_watts": (GPUS, 650.0, 5.0),
    "gpu_utilization_ratio": (GPUS, 0.95, 0.005),
    "gpu_clock_event_reasons": (GPUS, 0.0, 0.0),
    "feed_voltage_volts": (["feed/a", "feed/b"], 415.0, 1.0),
    "psu_healthy": ([f"psu/r{n}-{f}" for n in range(1, 5) for f in "ab"], 1.0, 0.0),
    "link_bandwidth_bytes_per_second": (LINKS, 400e9, 4e8),
    "link_congestion_ratio": (LINKS, 0.03, 0.005),
    "link_utilization_ratio": (LINKS, 0.5, 0.01),
    "link_errors_per_second": (LINKS, 0.0, 0.0),
    "storage_latency_seconds": (["storage/s1"], 0.01, 0.0003),
    "storage_metadata_seconds": (["storage/s1"], 0.004, 0.0001),
    "job_step_seconds": (["job/llama"], 5.0, 0.02),
    "job_throughput_ratio": (["job/llama"], 1.0, 0.003),
    "job_collective_seconds": (["job/llama"], 1.0, 0.01),
    "rank_compute_seconds": ([f"job/llama/rank/{rank}" for rank in range(24)], 4.0, 0.02),
    "pool_transfer_seconds": (["path/prefill-decode"], 0.02, 0.0004),
    "pool_routing_share": (["path/prefill-decode"], 0.5, 0.005),
}


def _edges() -> list[Edge]:
    edges = [Edge("cools", "room/h1", cdu) for cdu in ("cdu/c1", "cdu/c2")]
    edges += [Edge("cools", f"cdu/c{1 + rack // 2}", RACKS[rack]) for rack in range(4)]
    edges += [Edge("powers", f"feed/{f}", f"psu/r{n}-{f}") for n in range(1, 5) for f in "ab"]
    edges += [Edge("powers", f"psu/r{n}-{f}", f"rack/r{n}") for n in range(1, 5) for f in "ab"]
    for number, node in enumerate(NODES):
        rack, leaf = RACKS[number // 3], f"switch/leaf{1 + number // 6}"
        edges += [Edge("cools", rack, node), Edge("powers", rack, node), Edge("connects", leaf, node)]
        edges.append(Edge("runs_on", node, "job/llama"))
    edges += [Edge("runs_on", gpu, f"job/llama/rank/{rank}") for rank, gpu in enumerate(GPUS)]
    for link in LINKS:
        leaf, spine = link.removeprefix("link/").split("-")
        edges += [Edge("connects", f"switch/{spine}", link), Edge("connects", link, f"switch/{leaf}")]
    edges += [Edge("checkpoints_to", "storage/s1", "job/llama"), Edge("blocks", "job/llama", "milestone/m1")]
    return [*edges, Edge("feeds", "pool/prefill", "path/prefill-decode")]


@dataclass
class World:
    tables: dict[str, SignalTable]
    topology: Topology
    events: list[Event] = field(default_factory=list)
    times: np.ndarray = field(default_factory=lambda: np.arange(COLUMNS) * STEP)

    def change(self, signal: str, *subjects: str, by: float = 0.0, times: float = 1.0, at: int = START) -> None:
        """From a column on, some subjects differ."""
        table = self.tables[signal]
        for subject in subjects or table.subjects:
            row = table.values[table.index[subject]]
            row[at:] = row[at:] * times + by

    def add(self, signal: str, usual: dict[str, float]) -> None:
        """A signal that the small plant does not measure by itself."""
        values = np.array([[value] * len(self.times) for value in usual.values()], np.float32)
        self.tables[signal] = SignalTable(tuple(usual), values)

    def gpus(self, signal: str, *nodes: str, by: float = 0.0, times: float = 1.0, at: int = START) -> None:
        """From a column on, all GPUs of some nodes differ."""
        chosen = [gpu for gpu in GPUS if gpu.rpartition("/gpu/")[0] in nodes]
        self.change(signal, *chosen, by=by, times=times, at=at)

    def unlink(self, source: str, target: str) -> None:
        edges = tuple(edge for edge in self.topology.edges if (edge.source, edge.target) != (source, target))
        self.topology = Topology(edges, self.topology.owners)

    def link(self, *edges: Edge) -> None:
        self.topology = Topology((*self.topology.edges, *edges), self.topology.owners)

    @property
    def scene(self) -> Scene:
        return Scene(self.panel, self.topology)

    def candidates(self, seam: Seam) -> dict[tuple[str, str], CauseCandidate]:
        """What one seam alone makes of it."""
        return {(one.cause, one.kind): one for one in seam.explain(self.scene)}

    def hot(self, *nodes: str, at: int = START + 6) -> None:
        gpus = [gpu for gpu in GPUS if gpu.rpartition("/gpu/")[0] in nodes]
        self.change("gpu_temperature_celsius", *gpus, by=15.0, at=at)

    def slow_job(self, at: int = START + 10) -> None:
        self.change("job_step_seconds", times=1.2, at=at)
        self.change("job_throughput_ratio", times=0.83, at=at)

    @property
    def panel(self) -> Panel:
        return Panel(self.times, self.tables, tuple(self.events))

    def explain(self) -> tuple[Finding, ...]:
        return seams.explain(self.panel, self.topology)

    def named(self) -> list[tuple[str, str]]:
        return [(finding.cause, finding.kind) for finding in self.explain()]


@pytest.fixture
def world() -> World:
    return _calm(1)


@pytest.fixture
def another_world() -> Callable[[int], World]:
    return _calm


@pytest.fixture
def quiet() -> World:
    """Without noise: what is just beyond a limit is beyond it, what is just below is not."""
    return _calm(1, 0.0)


def _calm(seed: int, loud: float = 1.0) -> World:
    random = np.random.default_rng(seed)
    tables = {}
    for signal, (subjects, usual, noise) in USUAL.items():
        values = usual + loud * noise * random.standard_normal((len(subjects), COLUMNS))
        tables[signal] = SignalTable(tuple(subjects), values.astype(np.float32))
    owners = {"cdu": "facilities", "rack": "facilities", "job": "training", "link": "network", "node": "hardware"}
    return World(tables, Topology(tuple(_edges()), owners))
