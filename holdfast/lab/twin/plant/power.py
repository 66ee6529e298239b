"""Power: feeds, shelves, limits and brakes, and the GPU clocks that remain."""

from dataclasses import dataclass

import numpy as np

from holdfast.lab.twin.plant.fault import Faults
from holdfast.lab.twin.plant.layout import Layout
from holdfast.lab.twin.plant.measure import Floats

VOLTS = 415.0
SHELF_NEEDS = 0.8  # share of the feed's voltage
LIMIT = 700.0
IDLE = 90.0
HOST = 1200.0  # watts of a node without its GPUs
EXPONENT = 2.2  # of a GPU's power as a function of its clock
SHELF_SHARE = 0.62  # share of its rack's power that one shelf can supply
SW_POWER_CAP, HW_SLOWDOWN, SW_THERMAL, POWER_BRAKE = 4, 8, 32, 128  # NVML's clock event reasons


@dataclass
class Power:
    layout: Layout
    faults: Faults

    def __post_init__(self) -> None:
        self.volts = np.full(2, VOLTS)
        self.healthy = np.ones(len(self.layout.psus))
        self.limit = np.full(len(self.layout.gpus), LIMIT)
        self.brake = np.ones(len(self.layout.gpus))
        nodes = np.bincount(self.layout.rack_of_node, minlength=len(self.layout.racks))
        self._rated = nodes * (self.layout.fleet.gpus_per_node * LIMIT + HOST)
        self.rack_cap, self.feed_cap = np.ones(len(self.layout.racks)), np.ones(2)

    def step(self, now: float) -> None:
        plan = self.layout
        self.volts = np.full(2, VOLTS)
        for fault, share in self.faults.strong("power.feed_lost", now):
            self.volts[plan.feeds.index(fault.subject)] *= 1 - share
        self.healthy = np.tile(self.volts >= SHELF_NEEDS * VOLTS, len(plan.racks)).astype(float)
        for fault, share in self.faults.strong("power.psu", now):
            if share >= 0.5:
                self.healthy[plan.psus.index(fault.subject)] = 0.0
        limit = np.full(len(plan.racks), LIMIT)
        self.rack_cap, self.feed_cap = np.ones(len(plan.racks)), np.ones(2)
        limit[self.healthy.reshape(-1, 2).sum(axis=1) < 2] = self._on_one_shelf()
        for fault, share in self.faults.strong("power.cap", now):
            if fault.subject in plan.feeds:
                self.feed_cap[plan.feeds.index(fault.subject)] *= 1 - share
                self.rack_cap *= 1 - share
            elif fault.subject in plan.racks:
                self.rack_cap[plan.racks.index(fault.subject)] *= 1 - share
        limit = np.minimum(limit, LIMIT * self.rack_cap)
        rack = plan.rack_of_node[plan.node_of_gpu]
        self.limit = limit[rack]
        for fault, share in self.faults.strong("power.cap", now):
            if fault.subject in plan.nodes:
                self.limit[self.behind(fault.subject)] *= 1 - share
        self.brake = np.ones(len(plan.gpus))
        for fault, share in self.faults.strong("power.brake", now):
            self.brake[self.behind(fault.subject)] *= 1 - share

    def _on_one_shelf(self) -> float:
        """Power that each GPU may draw so that the remaining shelf can supply its rack."""
        per = self.layout.fleet.gpus_per_node
        return max(2 * IDLE, (SHELF_SHARE * (per * LIMIT + HOST) - HOST) / per)

    def behind(self, subject: str) -> Floats:
        """Mask of the GPUs of a node or rack."""
        plan = self.layout
        if subject.startswith("rack/"):
            return plan.rack_of_node[plan.node_of_gpu] == plan.racks.index(subject)  # type: ignore[no-any-return]
        return plan.node_of_gpu == plan.nodes.index(subject)  # type: ignore[no-any-return]

    def clock_share(self, busy: Floats) -> Floats:
        """The clock share at which a GPU with this utilization stays within its power limit."""
        room = (self.limit - IDLE) / np.maximum((LIMIT - IDLE) * busy, 1.0)
        return np.minimum(1.0, np.maximum(room, 0.02) ** (1 / EXPONENT))

    def signals(self, rack_watts: Floats) -> dict[str, Floats]:
        pairs = self.healthy.reshape(-1, 2)
        output = rack_watts[:, None] * pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1.0)
        return {
            "feed_voltage_volts": self.volts,
            "psu_healthy": self.healthy,
            "psu_output_watts": output.ravel(),
            "gpu_power_limit_watts": self.limit,
            "rack_power_watts": rack_watts,
            "rack_power_limit_watts": self._rated * self.rack_cap,
            "feed_power_limit_watts": self._rated.sum() * self.feed_cap,
        }


def watts(clock_share: Floats, busy: Floats) -> Floats:
    return IDLE + (LIMIT - IDLE) * busy * clock_share**EXPONENT
