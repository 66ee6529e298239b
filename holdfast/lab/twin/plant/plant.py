"""The plant: advances all domains together, and reads their sensors and logs."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from holdfast.lab.twin.plant.cooling import Cooling
from holdfast.lab.twin.plant.fabric import PlantFabric
from holdfast.lab.twin.plant.fault import Distractor, Faults, PlantFault
from holdfast.lab.twin.plant.jobs import PlantJob, busy_share, working_share
from holdfast.lab.twin.plant.layout import Layout
from holdfast.lab.twin.plant.measure import Column, Floats, Measurement
from holdfast.lab.twin.plant.plant_events import PlantEvents
from holdfast.lab.twin.plant.pools import Pools
from holdfast.lab.twin.plant.power import HOST, HW_SLOWDOWN, LIMIT, POWER_BRAKE, SW_POWER_CAP, SW_THERMAL, Power, watts
from holdfast.lab.twin.plant.sensors import Sensors
from holdfast.lab.twin.plant.signals import subjects
from holdfast.lab.twin.plant.storage import Storage
from holdfast.model.job import Job, JobState
from holdfast.model.panel import Panel, SignalTable
from holdfast.model.signal import Event

CLOCK = 1.98e9
POOL_BUSY = 0.7
SLOWED = 0.98  # share of its clock below which a GPU reports a reason


@dataclass(frozen=True, slots=True)
class PlantMoment:
    """One column of a panel, and the events since the previous one."""

    at: float
    values: Column
    events: tuple[Event, ...]


@dataclass
class Plant:
    """A plant whose noise depends on the seed only, so that two plants differ only by their faults."""

    layout: Layout
    faults: tuple[PlantFault, ...] = ()
    distractors: tuple[Distractor, ...] = ()
    seed: int = 1
    step_seconds: float = 10.0
    runs: list[PlantJob] = field(default_factory=list)

    def __post_init__(self) -> None:
        faults = Faults(self.faults)
        self.power = Power(self.layout, faults)
        self.cooling = Cooling(self.layout, faults, self.distractors, self._random(1), self.step_seconds)
        self.fabric = PlantFabric(self.layout, faults)
        self.storage = Storage(self.layout, faults, self.distractors)
        self.pools = Pools(self.layout, faults, self._random(2))
        self.runs = [
            PlantJob(spec, self.layout, faults, self.distractors, self._random(10, number), self._random(11, number))
            for number, spec in enumerate(self.layout.jobs)
        ]
        self.plant_events = PlantEvents(self.layout, self.faults, self.distractors, self.power, self._random(3))
        self.subjects = subjects(self.layout)
        self._measure = Measurement(self.seed, self.step_seconds, self.subjects)
        self._sensors = Sensors(self.subjects, self.faults, self.distractors, self.step_seconds)
        self._jitter = self._random(4)
        self._slow_gpus = _slow_gpus(self.layout, self.faults)

    def _random(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *stream])

    def columns(self, seconds: float, lead: float = 0.0) -> Iterator[PlantMoment]:
        """Columns from time 0 on; `lead` is how long the plant runs before that, to give a baseline."""
        for number in range(-int(lead / self.step_seconds), int(seconds / self.step_seconds)):
            now = number * self.step_seconds
            column = self._measure.read(self._step(now))
            self._sensors.corrupt(now, column)
            yield PlantMoment(now, column, tuple(self._events()))

    def panel(self, seconds: float, lead: float = 0.0) -> Panel:
        """All columns as one panel."""
        moments = list(self.columns(seconds, lead))
        tables = {
            name: SignalTable(subjects, np.stack([moment.values[name] for moment in moments], axis=1))
            for name, subjects in self.subjects.items()
        }
        events = tuple(event for moment in moments for event in moment.events)
        return Panel(np.array([moment.at for moment in moments]), tables, events, tuple(map(self._job, self.runs)))

    def _step(self, now: float) -> dict[str, Floats]:
        plan = self.layout
        busy, work = self._load(now)
        self.power.step(now)
        slow = np.ones(len(plan.gpus))
        for fault, gpu in self._slow_gpus:
            slow[gpu] *= 1 - fault.strength(now)
        by_power = self.power.clock_share(np.maximum(busy * work, 0.05))
        clock = np.minimum(np.minimum(self.cooling.clock_share, by_power), np.minimum(self.power.brake, slow))
        gpu_watts = watts(clock, busy * work)
        node_watts = gpu_watts.reshape(plan.fleet.nodes, -1).sum(axis=1) + HOST
        rack_watts: Floats = np.bincount(plan.rack_of_node, node_watts, len(plan.racks)).astype(float)
        self.cooling.step(now, gpu_watts, rack_watts)
        self.fabric.step(now)
        self.storage.step(now)
        self.pools.step(now, self.fabric)
        self.plant_events.step(now, self.step_seconds, self.runs)
        for run in self.runs:
            run.step(now, self.step_seconds, clock, self.fabric.slowdown(run.spec), self.storage)
        return {
            **self.cooling.signals(),
            **self.power.signals(rack_watts),
            **self.fabric.signals({run.spec.name: _talking(run) for run in self.runs}),
            **self.storage.signals(),
            **self.pools.signals(),
            **self._jobs(now),
            "node_power_watts": node_watts,
            "gpu_power_watts": gpu_watts,
            "gpu_clock_sm_hertz": CLOCK * clock,
            "gpu_clock_event_reasons": self._reasons(clock, by_power, slow),
            "gpu_utilization_ratio": busy,
        }

    def _load(self, now: float) -> tuple[Floats, Floats]:
        """Utilization and load of each GPU."""
        busy, work = np.zeros(len(self.layout.gpus)), np.ones(len(self.layout.gpus))
        for run in self.runs:
            busy[run.gpus] = np.maximum(busy[run.gpus], busy_share(run, now))
            if run.running(now):
                work[run.gpus] = working_share(run)
            for number, rank in run.rank_faults:
                busy[run.gpus[rank]] /= 1 + self.faults[number].strength(now)
        serving = self.layout.serving
        if serving is not None:
            for nodes in (serving.source_nodes, *(nodes for _, nodes in serving.targets)):
                busy[self.layout.gpus_of(nodes)] = POOL_BUSY
        return np.clip(busy, 0.0, 1.0), work * (1 + 0.01 * self._jitter.standard_normal(len(busy)))

    def _reasons(self, clock: Floats, by_power: Floats, slow: Floats) -> Floats:
        reasons = np.zeros(len(clock))
        reasons += np.where((by_power < SLOWED) & (self.power.limit < LIMIT - 1), SW_POWER_CAP, 0)
        reasons += np.where(self.cooling.clock_share < SLOWED, SW_THERMAL, 0)
        reasons += np.where(self.power.brake < SLOWED, POWER_BRAKE, 0)
        return reasons + np.where(slow < SLOWED, HW_SLOWDOWN, 0)

    def _jobs(self, now: float) -> dict[str, Floats]:
        if not self.runs:
            return {}
        each = {
            "job_step_seconds": [run.step_seconds for run in self.runs],
            "job_throughput_ratio": [run.throughput for run in self.runs],
            "job_collective_seconds": [run.collective for run in self.runs],
            "job_checkpoint_seconds": [run.checkpoint_took for run in self.runs],
            "job_checkpoint_interval_seconds": [run.interval(now) for run in self.runs],
            "job_restart_seconds": [run.spec.restart_seconds for run in self.runs],
        }
        return {
            **{name: np.array(values, float) for name, values in each.items()},
            "rank_compute_seconds": np.concatenate([run.compute for run in self.runs]),
            "rank_data_seconds": np.concatenate([run.data for run in self.runs]),
            "rank_wait_seconds": np.concatenate([run.wait for run in self.runs]),
            "rank_checkpoint_seconds": np.concatenate([run.rank_written for run in self.runs]),
        }

    def _events(self) -> Iterator[Event]:
        for one in (self.plant_events.events, *(run.events for run in self.runs)):
            yield from one
            one.clear()

    def _job(self, run: PlantJob) -> Job:
        nodes = tuple(self.layout.node_names[node] for node in run.spec.nodes)
        return Job(
            id=run.spec.name, source="twin", nodes=nodes, gpus=len(run.gpus), start=run.spec.start,
            state=JobState.RUNNING,
        )  # fmt: skip


def _talking(run: PlantJob) -> float:
    """Share of its usual traffic that a job sends."""
    return 0.0 if np.isnan(run.step_seconds) else min(1.0, run.throughput)


def _slow_gpus(layout: Layout, faults: tuple[PlantFault, ...]) -> list[tuple[PlantFault, int]]:
    found = []
    for fault in faults:
        if fault.kind == "gpu.slow":
            found.append((fault, layout.gpus.index(fault.subject)))
        elif fault.kind == "schedule.degraded_kept":
            found.append((fault, layout.nodes.index(fault.subject) * layout.fleet.gpus_per_node))
    return found
