"""Inference pools: requests move along paths; a path without capacity stalls the pool it feeds."""

from dataclasses import dataclass

import numpy as np

from holdfast.lab.twin.plant.fabric import PlantFabric
from holdfast.lab.twin.plant.fault import Faults
from holdfast.lab.twin.plant.layout import Layout
from holdfast.lab.twin.plant.measure import Floats

TRANSFER = 0.02
LATENCY = 0.4
STALL = 0.01
HEADROOM = 1.25  # a path carries this multiple of its usual load before requests wait


@dataclass
class Pools:
    layout: Layout
    faults: Faults
    random: np.random.Generator

    def step(self, now: float, fabric: PlantFabric) -> None:
        serving = self.layout.serving
        count = len(serving.paths) if serving else 0
        self.share = np.full(count, 1 / max(count, 1))
        able = np.ones(count)
        self._hour = 1 + 0.05 * np.sin(now / 900) + 0.02 * float(self.random.standard_normal())
        if serving is None:
            return
        for fault, lost in self.faults.strong("pools.path", now):
            able[serving.paths.index(fault.subject)] *= 1 - lost
        for fault, moved in self.faults.strong("pools.imbalance", now):
            place = serving.paths.index(fault.subject)
            taken = moved * self.share
            taken[place] = 0
            self.share = self.share - taken
            self.share[place] += taken.sum()
        pressure = fabric.pressure.ravel()
        for number in range(count):
            links = list(self.layout.path_links(number))
            able[number] /= max(1.0, float(pressure[links].max())) if links else 1.0
        self._over = self.share * count * self._hour / (np.maximum(able, 0.02))

    def signals(self) -> dict[str, Floats]:
        if self.layout.serving is None:
            return {}
        waits = np.maximum(0.0, 1 - HEADROOM / np.maximum(self._over, HEADROOM))
        transfer = TRANSFER * np.maximum(self._over, 0.5) ** 1.5
        return {
            "pool_transfer_seconds": transfer,
            "pool_routing_share": self.share,
            "pool_stall_ratio": STALL + 0.6 * waits,
            "request_latency_seconds": LATENCY + 2 * (transfer - TRANSFER) + 0.8 * waits,
        }
