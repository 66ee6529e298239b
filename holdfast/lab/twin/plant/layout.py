"""Layout of a plant: sizes, jobs, pools and connections."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np
import numpy.typing as npt

from holdfast.model.topology import Edge, Topology

Places = npt.NDArray[np.intp]
OWNERS = {
    "room": "facilities", "cdu": "facilities", "loop": "facilities", "rack": "facilities", "feed": "facilities",
    "psu": "facilities", "node": "hardware", "switch": "network", "link": "network", "path": "serving",
    "pool": "serving", "storage": "storage", "job": "training", "milestone": "business", "software": "platform",
}  # fmt: skip
FEEDS = ("a", "b")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantLayout:
    nodes: int = 64
    gpus_per_node: int = 8
    nodes_per_rack: int = 8
    racks_per_cdu: int = 4
    cdus_per_room: int = 2
    nodes_per_leaf: int = 16
    spines: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    name: str
    nodes: tuple[int, ...]
    storage: str = "lustre1"
    compute_seconds: float = 4.0
    collective_seconds: float = 1.0
    checkpoint_interval: float = 600.0
    checkpoint_seconds: float = 15.0
    restart_seconds: float = 240.0
    mtbf: float = inf
    start: float = 0.0
    end: float = inf
    milestone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """One pool that forwards its requests to several others."""

    source: str
    source_nodes: tuple[int, ...]
    targets: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(f"path/{self.source}-{name}" for name, _ in self.targets)


@dataclass(frozen=True)
class Layout:
    fleet: PlantLayout
    jobs: tuple[JobSpec, ...] = ()
    serving: Serving | None = None
    storages: tuple[str, ...] = ("lustre1",)
    owners: dict[str, str] = field(default_factory=lambda: dict(OWNERS))

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        width = max(3, len(str(self.fleet.nodes)))
        return tuple(f"n{number:0{width}d}" for number in range(1, self.fleet.nodes + 1))

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        return tuple(f"node/{name}" for name in self.node_names)

    @cached_property
    def gpus(self) -> tuple[str, ...]:
        return tuple(f"{node}/gpu/{index}" for node in self.nodes for index in range(self.fleet.gpus_per_node))

    @cached_property
    def ports(self) -> tuple[str, ...]:
        return tuple(f"{node}/nic/mlx5_{rail}/1" for node in self.nodes for rail in range(self.fleet.gpus_per_node))

    @cached_property
    def racks(self) -> tuple[str, ...]:
        return _named("rack/r", self.fleet.nodes, self.fleet.nodes_per_rack)

    @cached_property
    def cdus(self) -> tuple[str, ...]:
        return _named("cdu/c", len(self.racks), self.fleet.racks_per_cdu)

    @cached_property
    def rooms(self) -> tuple[str, ...]:
        return _named("room/hall", len(self.cdus), self.fleet.cdus_per_room)

    @cached_property
    def feeds(self) -> tuple[str, ...]:
        return tuple(f"feed/{name}" for name in FEEDS)

    @cached_property
    def psus(self) -> tuple[str, ...]:
        """Two power shelves per rack: one on feed a, then one on feed b."""
        return tuple(f"psu/{rack.partition('/')[2]}-{name}" for rack in self.racks for name in FEEDS)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        return _named("switch/leaf", self.fleet.nodes, self.fleet.nodes_per_leaf)

    @cached_property
    def spines(self) -> tuple[str, ...]:
        return tuple(f"switch/spine{number}" for number in range(1, self.fleet.spines + 1))

    @cached_property
    def rails(self) -> tuple[str, ...]:
        return tuple(f"switch/rail{rail}" for rail in range(self.fleet.gpus_per_node))

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Links, ordered by leaf, then by spine."""
        return tuple(f"link/{_short(leaf)}-{_short(spine)}" for leaf in self.leaves for spine in self.spines)

    @cached_property
    def rack_of_node(self) -> Places:
        return np.arange(self.fleet.nodes) // self.fleet.nodes_per_rack

    @cached_property
    def cdu_of_rack(self) -> Places:
        return np.arange(len(self.racks)) // self.fleet.racks_per_cdu

    @cached_property
    def room_of_cdu(self) -> Places:
        return np.arange(len(self.cdus)) // self.fleet.cdus_per_room

    @cached_property
    def room_of_node(self) -> Places:
        return self.room_of_cdu[self.cdu_of_rack[self.rack_of_node]]

    @cached_property
    def leaf_of_node(self) -> Places:
        return np.arange(self.fleet.nodes) // self.fleet.nodes_per_leaf

    @cached_property
    def node_of_gpu(self) -> Places:
        return np.repeat(np.arange(self.fleet.nodes), self.fleet.gpus_per_node)

    def gpus_of(self, nodes: Sequence[int]) -> Places:
        """GPUs of these nodes, node by node, in the order of a job's ranks."""
        per = self.fleet.gpus_per_node
        return (np.asarray(nodes, np.intp)[:, None] * per + np.arange(per)).ravel()

    def path_links(self, target: int) -> tuple[int, ...]:
        """Links between the leaves of the two pools' first nodes, through the spine that the hash selects."""
        if self.serving is None:
            return ()
        ends = {int(self.leaf_of_node[nodes[0]]) for nodes in (self.serving.source_nodes,
                                                               self.serving.targets[target][1])}  # fmt: skip
        spine = target % self.fleet.spines
        return tuple(leaf * self.fleet.spines + spine for leaf in sorted(ends)) if len(ends) > 1 else ()

    @cached_property
    def topology(self) -> Topology:
        return Topology(tuple(self._edges()), self.owners)

    def _edges(self) -> Iterator[Edge]:
        yield from self._cooling()
        yield from self._power()
        yield from self._fabric()
        for spec in self.jobs:
            yield from self._job(spec)
        yield from self._pools()

    def _cooling(self) -> Iterator[Edge]:
        for number, cdu in enumerate(self.cdus):
            loop = f"loop/l{number + 1}"
            yield Edge("cools", self.rooms[self.room_of_cdu[number]], cdu)
            yield Edge("cools", cdu, loop)
            for rack in np.flatnonzero(self.cdu_of_rack == number):
                yield Edge("cools", loop, self.racks[rack])
        for node, rack in zip(self.nodes, self.rack_of_node, strict=True):
            yield Edge("cools", self.racks[rack], node)

    def _power(self) -> Iterator[Edge]:
        for number, psu in enumerate(self.psus):
            yield Edge("powers", self.feeds[number % 2], psu)
            yield Edge("powers", psu, self.racks[number // 2])
        for node, rack in zip(self.nodes, self.rack_of_node, strict=True):
            yield Edge("powers", self.racks[rack], node)

    def _fabric(self) -> Iterator[Edge]:
        for number, link in enumerate(self.links):
            yield Edge("connects", self.spines[number % self.fleet.spines], link)
            yield Edge("connects", link, self.leaves[number // self.fleet.spines])
        for node, leaf in zip(self.nodes, self.leaf_of_node, strict=True):
            yield Edge("connects", self.leaves[leaf], node)
        for number, port in enumerate(self.ports):
            yield Edge("connects", self.rails[number % self.fleet.gpus_per_node], port)

    def _job(self, spec: JobSpec) -> Iterator[Edge]:
        job = f"job/{spec.name}"
        for node in spec.nodes:
            yield Edge("runs_on", self.nodes[node], job)
        for rank, gpu in enumerate(self.gpus_of(spec.nodes)):
            yield Edge("runs_on", self.gpus[gpu], f"{job}/rank/{rank}")
        yield Edge("checkpoints_to", f"storage/{spec.storage}", job)
        if spec.milestone:
            yield Edge("blocks", job, f"milestone/{spec.milestone}")

    def _pools(self) -> Iterator[Edge]:
        if self.serving is None:
            return
        source = f"pool/{self.serving.source}"
        for node in self.serving.source_nodes:
            yield Edge("runs_on", self.nodes[node], source)
        for number, (path, (name, nodes)) in enumerate(zip(self.serving.paths, self.serving.targets, strict=True)):
            yield Edge("feeds", source, path)
            yield Edge("feeds", path, f"pool/{name}")
            for node in nodes:
                yield Edge("runs_on", self.nodes[node], f"pool/{name}")
            for link in self.path_links(number):
                yield Edge("connects", self.links[link], path)


def _named(prefix: str, things: int, each: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{number + 1}" for number in range(-(-things // each)))


def _short(subject: str) -> str:
    return subject.partition("/")[2]
