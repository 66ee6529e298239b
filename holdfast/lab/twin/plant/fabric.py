"""Fabric: capacity of links and ports, their load, and the slowdown of a collective."""

from dataclasses import dataclass

import numpy as np

from holdfast.lab.twin.plant.fault import Faults
from holdfast.lab.twin.plant.layout import JobSpec, Layout
from holdfast.lab.twin.plant.measure import Floats

LINK_BYTES = 400e9
PORT_BYTES = 50e9
USUAL_LOAD = 0.45  # share of a link that a job across it uses
USUAL_WAIT = 0.02


@dataclass
class PlantFabric:
    layout: Layout
    faults: Faults

    def __post_init__(self) -> None:
        self._crossing = {spec.name: np.unique(self.layout.leaf_of_node[list(spec.nodes)]) for spec in self.layout.jobs}
        self.step(-1.0)

    def step(self, now: float) -> None:
        plan = self.layout
        shape = (len(plan.leaves), plan.fleet.spines)
        self.able = np.ones(shape)  # share of a link's bandwidth that is left
        self.foreign = np.zeros(shape)
        self.routes = np.ones(shape)  # load relative to an even distribution
        self.leaf_able = np.ones(len(plan.leaves))
        self.rail_able = np.ones(plan.fleet.gpus_per_node)
        self.errors = np.zeros(shape)
        self._broken(now)
        self._crowded(now)

    def _broken(self, now: float) -> None:
        plan = self.layout
        for fault, share in self.faults.strong("fabric.uplink", now):
            at = divmod(plan.links.index(fault.subject), plan.fleet.spines)
            self.able[at] *= 1 - share
            self.errors[at] += 200 * share
        for fault, share in self.faults.strong("fabric.leaf", now):
            leaf = plan.leaves.index(fault.subject)
            self.able[leaf] *= 1 - share
            self.leaf_able[leaf] *= 1 - share
        for fault, share in self.faults.strong("fabric.rail", now):
            self.rail_able[plan.rails.index(fault.subject)] *= 1 - share

    def _crowded(self, now: float) -> None:
        plan = self.layout
        for fault, share in self.faults.strong("fabric.congestion", now):
            if fault.subject in plan.spines:
                self.foreign[:, plan.spines.index(fault.subject)] += share
            else:
                self.foreign[divmod(plan.links.index(fault.subject), plan.fleet.spines)] += share
        for fault, share in self.faults.strong("fabric.routing", now):
            leaf = plan.leaves.index(fault.subject)
            self.routes[leaf] *= 1 - share
            self.routes[leaf, 0] += share * plan.fleet.spines

    @property
    def pressure(self) -> Floats:
        """Slowdown of each link: 1 is normal, 2 means twice the transfer time."""
        left = np.maximum(self.able * (1 - self.foreign), 0.02)
        return np.maximum(self.routes, 0.02) / left

    def slowdown(self, spec: JobSpec) -> float:
        """Slowdown of a job's collectives: the slowest hop sets the speed of a ring."""
        leaves = self._crossing[spec.name]
        found = max(1.0, float((1 / self.leaf_able[leaves]).max()), float((1 / self.rail_able).max()))
        if len(leaves) > 1:
            found = max(found, float(self.pressure[leaves].max()))
        return found

    def signals(self, talking: dict[str, float]) -> dict[str, Floats]:
        """Signals of links and ports. `talking`: share of each job's usual traffic."""
        load = np.zeros(len(self.layout.leaves))
        for name, leaves in self._crossing.items():
            if len(leaves) > 1:
                load[leaves] = np.maximum(load[leaves], talking.get(name, 0.0))
        over = np.maximum(self.pressure, 1.0)
        waiting = 0.03 + 0.9 * (1 - 1 / over) * np.maximum(load[:, None], self.foreign > 0)
        carried = np.minimum(0.06 + USUAL_LOAD * load[:, None] * self.routes + 0.8 * self.foreign, 0.98 * self.able)
        return {
            "link_bandwidth_bytes_per_second": (LINK_BYTES * self.able).ravel(),
            "link_utilization_ratio": carried.ravel(),
            "link_congestion_ratio": waiting.ravel(),
            "link_errors_per_second": self.errors.ravel(),
            **self._ports(talking),
        }

    def _ports(self, talking: dict[str, float]) -> dict[str, Floats]:
        plan = self.layout
        busy = np.zeros(plan.fleet.nodes)
        for spec in plan.jobs:
            busy[list(spec.nodes)] = talking.get(spec.name, 0.0)
        able = np.minimum(self.leaf_able[plan.leaf_of_node][:, None], self.rail_able[None, :])
        waiting = USUAL_WAIT + 0.8 * (1 - able) * np.maximum(busy, 0.2)[:, None]
        return {
            "port_xmit_wait_ratio": waiting.ravel(),
            "port_bandwidth_bytes_per_second": (PORT_BYTES * able).ravel(),
        }
