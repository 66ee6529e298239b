"""Storage: writers share the bandwidth, metadata has its own latency, and one client may be slow."""

from dataclasses import dataclass

import numpy as np

from holdfast.lab.twin.plant.fault import Distractor, Faults
from holdfast.lab.twin.plant.layout import JobSpec, Layout
from holdfast.lab.twin.plant.measure import Floats

LATENCY = 0.01
METADATA = 0.004
SERIAL_OPERATIONS = 40  # metadata operations of a checkpoint that run one after the other
BYTES_PER_GPU = 10e9
USED = 0.61


@dataclass
class Storage:
    layout: Layout
    faults: Faults
    distractors: tuple[Distractor, ...]
    now: float = 0.0

    def __post_init__(self) -> None:
        count = len(self.layout.storages)
        self.speed = np.ones(count)
        self.metadata = np.full(count, METADATA)
        self.writers = np.zeros(count)
        self._rate = np.zeros(count)
        self._burst = np.ones(count)

    def step(self, now: float) -> None:
        self.now = now
        self.speed[:] = 1.0
        self.metadata[:] = METADATA
        self._burst[:] = 1.0
        self.writers[:] = 0.0
        self._rate[:] = 0.0
        for fault, share in self.faults.strong("storage.write_slow", now):
            self.speed[self._place(fault.subject)] *= 1 - share
        for fault, seconds in self.faults.strong("storage.metadata", now):
            self.metadata[self._place(fault.subject)] += seconds
        for one in self.distractors:
            if one.kind == "storage_burst" and one.active(now):
                self._burst[self._place(one.subject)] += one.magnitude

    def _place(self, subject: str) -> int:
        return self.layout.storages.index(subject.partition("/")[2])

    def write(self, spec: JobSpec, gpus: int) -> float:
        """Write speed of a job relative to normal."""
        place = self.layout.storages.index(spec.storage)
        self.writers[place] += 1
        own = spec.checkpoint_seconds + SERIAL_OPERATIONS * (self.metadata[place] - METADATA)
        slow = spec.checkpoint_seconds / self.speed[place] - spec.checkpoint_seconds
        rate = spec.checkpoint_seconds / (own + slow)
        self._rate[place] += gpus * BYTES_PER_GPU / spec.checkpoint_seconds * self.speed[place]
        return float(rate)

    def writing_slowly(self, nodes: tuple[int, ...]) -> dict[int, float]:
        """Slowdown factor of the nodes that write slowly."""
        found = {}
        for fault in self.faults.all:
            if fault.kind == "storage.one_writer" and fault.level(self.now) > 0:
                node = self.layout.nodes.index(fault.subject)
                if node in nodes:
                    found[node] = 1 + (fault.magnitude - 1) * fault.level(self.now)
        return found

    def signals(self) -> dict[str, Floats]:
        queue = 1 + 0.3 * self.writers
        return {
            "storage_latency_seconds": LATENCY * queue * self._burst / self.speed**1.5,
            "storage_metadata_seconds": self.metadata.copy(),
            "storage_write_bytes_per_second": np.where(self.writers > 0, self._rate, np.nan),
            "storage_used_ratio": np.full(len(self.speed), USED + self.now * 1e-7),
        }
