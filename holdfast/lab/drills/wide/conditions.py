"""What is done to a random site over time."""

from dataclasses import dataclass, field

import numpy as np

from holdfast.lab.drills.wide.site import Floats, Site
from holdfast.model.signal import Event

Truths = dict[str, tuple[tuple[str, ...], Floats]]


@dataclass
class Conditions:
    """What is done to the site, by time. A situation fills it in; as it is made, nothing is wrong."""

    site: Site
    times: Floats
    events: list[Event] = field(default_factory=list)
    down: list[tuple[str, float, float]] = field(default_factory=list)  # job, from, until
    writers: dict[int, Floats] = field(default_factory=dict)  # node: how many times as long it writes
    interval: dict[str, Floats] = field(default_factory=dict)
    quota: dict[str, Floats] = field(default_factory=dict)  # job: share of its usual write rate
    size: dict[str, Floats] = field(default_factory=dict)  # job: what a checkpoint has, as a share of the usual

    def __post_init__(self) -> None:
        site, count = self.site, len(self.times)
        gpus = site.nodes * site.per_node

        def ones(rows: int) -> Floats:
            return np.ones((rows, count))

        self.flow = ones(len(site.cdus))
        self.supply = np.zeros((len(site.cdus), count))
        self.opened = ones(len(site.racks))
        self.ambient = np.zeros((len(site.rooms), count))
        self.pump = ones(len(site.cdus))
        self.fans = ones(site.nodes)
        self.limit = ones(gpus)
        self.rack_limit = ones(len(site.racks))
        self.feed_limit = ones(2)
        self.brake = ones(gpus)
        self.slow = ones(gpus)
        self.rank = ones(gpus)
        self.volts = ones(2)
        self.psu = ones(len(site.psus))
        self.link = ones(len(site.links))
        self.foreign = np.zeros((len(site.links), count))
        self.routes = ones(len(site.links))
        self.errors = np.zeros((len(site.links), count))
        self.port = ones(gpus)
        self.path = ones(max(1, len(site.paths)))
        self.share = np.full((max(1, len(site.paths)), count), 1 / max(1, len(site.paths)))
        self.requests = np.ones(count)
        self.store = np.ones(count)
        self.burst = np.ones(count)
        self.metadata = np.zeros(count)
        self.work_draw = {work.name: np.ones(count) for work in site.works}  # how hard it works
        self.work_slow = {work.name: np.ones(count) for work in site.works}  # a cause that nothing measures
        self.work_larger = {work.name: np.ones(count) for work in site.works}  # more in every step, at the same pace
        self.paused = {work.name: np.zeros(count, bool) for work in site.works}  # it evaluates, and takes no steps
        self.ends = {work.name: work.ends for work in site.works}
        self.begins = {work.name: work.begins for work in site.works}


def lagged(values: Floats, step: float, inertia: float) -> Floats:
    """First order, beginning at rest."""
    share = 1 - np.exp(-step / inertia)
    found = values.copy()
    for column in range(1, values.shape[1]):
        found[:, column] = found[:, column - 1] + share * (values[:, column] - found[:, column - 1])
    return found


def pressure_of(conditions: Conditions) -> Floats:
    return conditions.routes / np.maximum(conditions.link * (1 - conditions.foreign), 0.03)
