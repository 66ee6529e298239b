"""The building of a simulated fleet: coolant, racks, GPU heat, and their instruments.

It uses the physics of the drills' plant. The fleet's own jobs produce the heat and slow down with it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from holdfast.lab.twin.fleet.kinds import Strike, kinds
from holdfast.lab.twin.fleet.node import GPUS, FleetNode
from holdfast.lab.twin.fleet.training import SAVE_SECONDS
from holdfast.lab.twin.plant.cooling import Cooling
from holdfast.lab.twin.plant.fault import Faults, PlantFault
from holdfast.lab.twin.plant.layout import Layout, PlantLayout
from holdfast.lab.twin.plant.measure import Floats, Measurement
from holdfast.lab.twin.plant.power import HOST, SW_THERMAL, watts

if TYPE_CHECKING:
    from holdfast.lab.twin.fleet.simulation import Simulation

STEP_SECONDS = 10.0
CLOCK = 1.755e9
SLOWED = 0.98  # share of its clock below which a GPU reports a reason
AT_WORK, AT_REST = 0.88, 0.0  # utilization of the GPUs of a node with and without a job
CDU = (
    "cdu_flow_litres_per_minute",
    "cdu_supply_celsius",
    "cdu_return_celsius",
    "cdu_pump_speed_ratio",
    "cdu_differential_pressure_pascals",
)
RACK = ("rack_inlet_celsius", "rack_flow_litres_per_minute", "rack_power_watts")
ROOM = ("ambient_celsius",)
NODE = ("fan_speed_ratio", "node_inlet_celsius", "node_power_watts")
STORAGE, METADATA = "storage/scratch", "storage.metadata"
STORAGE_SECONDS = {"storage_latency_seconds": 0.004, "storage_metadata_seconds": 0.0012}
MOST_KEPT = 20_000  # most readings that wait to be sent


class SiteReading(NamedTuple):
    at: float
    subject: str
    name: str
    value: float


class FleetPlant:
    step_seconds = STEP_SECONDS

    def __init__(self, fleet: "Simulation", nodes_per_rack: int, nodes_per_loop: int, seed: int) -> None:
        self._fleet = fleet
        self.layout = Layout(
            PlantLayout(
                nodes=len(fleet.nodes),
                gpus_per_node=GPUS,
                nodes_per_rack=nodes_per_rack,
                racks_per_cdu=max(1, nodes_per_loop // nodes_per_rack),
            )
        )
        random = np.random.default_rng([seed, 1])
        self.cooling = Cooling(self.layout, Faults(), (), random, STEP_SECONDS)
        self._work = np.random.default_rng([seed, 4])
        who = {name: self._called(kind) for kind, names in (("cdu", CDU), ("rack", RACK)) for name in names}
        self._subjects = {**who, **dict.fromkeys(ROOM, self.layout.rooms), **dict.fromkeys(NODE, self.layout.nodes)}
        self._measure = Measurement(seed, STEP_SECONDS, self._subjects)
        self._sensors: Floats = np.zeros(len(self.layout.gpus))
        self.gpu_watts: Floats = np.full(len(self.layout.gpus), 90.0)
        self._waiting: list[SiteReading] = []
        self._slow_metadata: Strike | None = None
        self._slow_since = 0.0
        self._hot: set[int] = set()
        fleet.clock.at(0.0, self._step)

    def _called(self, kind: str) -> tuple[str, ...]:
        """Names of racks and coolant units in the form of the nodes' places: rack/rack1, cdu/cdu1."""
        count = len(self.layout.cdus if kind == "cdu" else self.layout.racks)
        return tuple(f"{kind}/{kind}{number}" for number in range(1, count + 1))

    def strike(self, strike: Strike, now: float) -> None:
        """Starts a fault of the plant itself and drops the faults that are over."""
        if strike.kind == METADATA:
            self._slow_metadata, self._slow_since = strike, now
            return
        units = dict(zip(self._called("cdu"), self.layout.cdus, strict=True))
        racks = dict(zip(self._called("rack"), self.layout.racks, strict=True))
        update = {**units, **racks}.get(strike.subject)
        if update is None:
            return  # the fleet is too small to have this subject
        end = now + strike.lasts if strike.lasts else float("inf")
        fault = PlantFault(
            kind=strike.kind, subject=update, start=now, magnitude=strike.magnitude, ramp=strike.ramp, end=end
        )
        self.cooling.faults = Faults((*(one for one in self.cooling.faults.all if one.end > now), fault))

    def take(self) -> list[SiteReading]:
        """Readings of its instruments since the last call."""
        waiting, self._waiting = self._waiting, []
        return waiting[-MOST_KEPT:]

    def read(self, node: FleetNode, gpu: int) -> dict[str, float]:
        """Driver values of a GPU."""
        place = node.index * GPUS + gpu
        share = float(self.cooling.clock_share[place])
        heat = float(self.cooling.temperature[place] + self._sensors[place])
        return {
            "gpu_temperature_celsius": heat,
            "gpu_memory_temperature_celsius": heat + 8.0,
            "gpu_power_watts": float(self.gpu_watts[place]),
            "gpu_clock_sm_hertz": CLOCK * share,
            "gpu_clock_event_reasons": SW_THERMAL if share < SLOWED else 0.0,
            "gpu_utilization_ratio": 0.97 if node.job else 0.0,
        }

    def _step(self) -> None:
        now, plan = self._fleet.now, self.layout
        busy = np.repeat([AT_WORK if node.job else AT_REST for node in self._fleet.nodes], GPUS)
        jitter, self._sensors = 0.5 * self._work.standard_normal((2, len(busy)))
        self.gpu_watts = watts(self.cooling.clock_share, busy) * (1 + 0.02 * jitter)
        node_watts = self.gpu_watts.reshape(plan.fleet.nodes, -1).sum(axis=1) + HOST
        rack_watts: Floats = np.bincount(plan.rack_of_node, node_watts, len(plan.racks)).astype(float)
        self.cooling.step(now, self.gpu_watts, rack_watts)
        self._feel(self._fleet.nodes)
        power = {"rack_power_watts": rack_watts, "node_power_watts": node_watts}
        update = self._measure.read({**self.cooling.signals(), **power})
        for name, values in update.items():
            self._waiting += [
                SiteReading(now, about, name, float(value))
                for about, value in zip(self._subjects[name], values, strict=True)
            ]
        self._waiting += self._storage(now)
        del self._waiting[:-MOST_KEPT]
        self._fleet.clock.after(STEP_SECONDS, self._step)

    def _storage(self, now: float) -> list[SiteReading]:
        """Metrics of the file system, and the time that a checkpoint takes."""
        fault, since = self._slow_metadata, now - self._slow_since
        worse = 1.0
        if fault is not None and since < fault.lasts:
            worse = 1 + (fault.magnitude - 1) * min(1.0, since / max(fault.ramp, 1.0))
        self._fleet.jobs.save_seconds = SAVE_SECONDS * (1 + 0.25 * (worse - 1))
        noise = 1 + 0.04 * self._work.standard_normal(len(STORAGE_SECONDS))
        slow = {"storage_metadata_seconds": worse}
        return [
            SiteReading(now, STORAGE, name, usual * slow.get(name, 1.0) * float(factor))
            for (name, usual), factor in zip(STORAGE_SECONDS.items(), noise, strict=True)
        ]

    def _feel(self, nodes: Sequence[FleetNode]) -> None:
        """Applies the heat to each node's clocks and reports GPUs that begin or stop throttling."""
        shares = self.cooling.clock_share.reshape(len(nodes), -1).min(axis=1)
        kind = kinds()["throttle_loop"]
        for node, share in zip(nodes, shares, strict=True):
            node.heat_slows = 1 / float(share)
            hot = bool(node.job) and share < SLOWED
            if hot and node.index not in self._hot:
                self._hot.add(node.index)
                self._fleet.strike(node, kind, tuple(range(GPUS)))
            elif not hot and node.index in self._hot and share >= SLOWED:
                self._hot.discard(node.index)
                self._fleet.repair(node, [fault for fault in node.faults if fault.kind is kind])
