"""A random site: layout, constants and work. Shares no code with the twin's plant."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from holdfast.lab.drills.wide.laws import Laws, constants, draw_laws, works
from holdfast.model.topology import Edge, Topology

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
PER_NODE = {"tuned": [4, 8], "other": [4, 8], "third": [2, 4, 6], "fourth": [2, 3, 8, 16], "fifth": [1, 4, 8, 10],
            "sixth": [2, 4, 5, 8], "seventh": [1, 2, 6, 8], "unseen": [2, 4, 4, 8]}  # fmt: skip
PER_RACK = {"fourth": [2, 5, 9, 12], "fifth": [3, 4, 7, 10], "sixth": [2, 4, 6, 11], "seventh": [2, 3, 8, 16],
            "unseen": [4, 4, 8, 16]}  # fmt: skip
RACKS = {"unseen": (4, 17)}
MOST_NODES = {"unseen": 128}
MOST_GPUS = 512  # number of nodes of a site of the family `unseen`
STEPS = {"fourth": [15, 20, 30, 60], "fifth": [10, 12, 30, 40], "sixth": [10, 15, 20, 60], "seventh": [10, 20, 30, 45],
         "unseen": [10, 15, 30, 30]}  # fmt: skip
SALT = {"tuned": 17, "other": 7331, "third": 90217, "fourth": 551_003, "fifth": 660_091,
        "sixth": 702_377, "seventh": 813_049, "unseen": 924_781}  # fmt: skip
UNEVEN = ("fifth",)  # racks with more and with fewer nodes
IN_TURN = ("sixth",)  # racks go to units, and nodes to leaves, in turn, so that neighbours share neither
AT_RANDOM = ("seventh",)  # racks on any unit; leaves of different size with nodes from anywhere
BY_SLOT = ("unseen",)  # a leaf has the same slots of every rack; each unit cools one to four rows
SEEN_SAVING = ("seventh", "unseen")
OWNERS = {
    "room": "facilities", "cdu": "facilities", "rack": "facilities", "feed": "facilities", "psu": "facilities",
    "node": "hardware", "switch": "network", "link": "network", "storage": "storage", "job": "training",
    "path": "serving", "pool": "serving",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteJob:
    """A training job of the site."""

    name: str
    nodes: Places
    compute: float
    collective: float
    interval: float
    takes: float
    phase: float
    restart: float
    use: float  # GPU utilization while the job computes
    draw: float  # share of a GPU's full power
    jitter: float  # jitter of the whole step, and of one rank
    rank_jitter: float
    begins: float = -1e12
    ends: float = 1e12

    @property
    def subject(self) -> str:
        return f"job/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Site:
    seed: int
    family: str
    """One of `laws.FAMILIES`."""
    rng: np.random.Generator
    step: float
    nodes: int
    per_node: int
    rack_of: Places
    cdu_of: Places  # power of a rack
    room_of: Places  # power of a unit
    leaf_of: Places
    spines: int
    works: tuple[SiteJob, ...]
    pools: tuple[str, ...]
    pool_nodes: Places
    constants: dict[str, float] = field(default_factory=dict)
    laws: Laws = field(default_factory=Laws)

    @property
    def node_names(self) -> list[str]:
        return [f"node/gpu-{number:03d}" for number in range(self.nodes)]

    @property
    def gpu_names(self) -> list[str]:
        return [f"{node}/gpu/{index}" for node in self.node_names for index in range(self.per_node)]

    @property
    def port_names(self) -> list[str]:
        return [f"{node}/nic/mlx5_{index}/1" for node in self.node_names for index in range(self.per_node)]

    @property
    def racks(self) -> list[str]:
        return [f"rack/{chr(65 + number // 10)}{number % 10}" for number in range(int(self.rack_of.max()) + 1)]

    @property
    def cdus(self) -> list[str]:
        return [f"cdu/u{number}" for number in range(int(self.cdu_of.max()) + 1)]

    @property
    def rooms(self) -> list[str]:
        return [f"room/h{number}" for number in range(int(self.room_of.max()) + 1)]

    @property
    def leaves(self) -> list[str]:
        return [f"switch/l{number}" for number in range(int(self.leaf_of.max()) + 1)]

    @property
    def links(self) -> list[str]:
        return [f"link/l{leaf}-s{spine}" for leaf in range(len(self.leaves)) for spine in range(self.spines)]

    @property
    def psus(self) -> list[str]:
        return [f"psu/{rack.partition('/')[2]}-{side}" for rack in self.racks for side in ("x", "y")]

    @property
    def paths(self) -> list[str]:
        return [f"path/{self.pools[0]}-{name}" for name in self.pools[1:]] if self.pools else []

    @property
    def node_of_gpu(self) -> Places:
        return np.repeat(np.arange(self.nodes), self.per_node)

    def gpus_of(self, nodes: Places) -> Places:
        return (np.asarray(nodes)[:, None] * self.per_node + np.arange(self.per_node)).ravel()

    def path_links(self, number: int) -> list[int]:
        parts = np.array_split(self.pool_nodes, len(self.pools))
        ends = {int(self.leaf_of[parts[0][0]]), int(self.leaf_of[parts[number + 1][0]])}
        return [leaf * self.spines + number % self.spines for leaf in sorted(ends)] if len(ends) > 1 else []

    def topology(self) -> Topology:
        edges = [Edge("cools", self.rooms[self.room_of[number]], cdu) for number, cdu in enumerate(self.cdus)]
        edges += [Edge("cools", self.cdus[self.cdu_of[number]], rack) for number, rack in enumerate(self.racks)]
        for number, psu in enumerate(self.psus):
            edges += [Edge("powers", f"feed/{'xy'[number % 2]}", psu), Edge("powers", psu, self.racks[number // 2])]
        for number, link in enumerate(self.links):
            edges.append(Edge("connects", f"switch/s{number % self.spines}", link))
            edges.append(Edge("connects", link, self.leaves[number // self.spines]))
        edges += self._above_the_spines()
        for number, node in enumerate(self.node_names):
            rack = self.racks[self.rack_of[number]]
            edges += [Edge("cools", rack, node), Edge("powers", rack, node)]
            edges.append(Edge("connects", self.leaves[self.leaf_of[number]], node))
        edges += [
            Edge("connects", f"switch/rail{number % self.per_node}", port)
            for number, port in enumerate(self.port_names)
        ]
        for work in self.works:
            edges += [Edge("runs_on", self.node_names[node], work.subject) for node in work.nodes]
            edges += [
                Edge("runs_on", self.gpu_names[gpu], f"{work.subject}/rank/{rank}")
                for rank, gpu in enumerate(self.gpus_of(work.nodes))
            ]
            edges.append(Edge("checkpoints_to", "storage/scratch", work.subject))
        return Topology((*edges, *self._serving()), OWNERS)

    def _above_the_spines(self) -> list[Edge]:
        spines = [f"switch/s{number}" for number in range(self.spines)]
        if self.laws.fabric == "three_tier":
            links = [(f"link/{spine[7:]}-core{core}", core, spine) for spine in spines for core in range(2)]
            return [
                edge for link, core, spine in links
                for edge in (Edge("connects", f"switch/core{core}", link), Edge("connects", link, spine))
            ]  # fmt: skip
        if self.laws.fabric == "dual_plane":
            return [Edge("connects", f"switch/plane{number % 2}", spine) for number, spine in enumerate(spines)]
        if self.laws.fabric == "dragonfly":
            pairs = [(one, other) for one in range(self.spines) for other in range(one)]
            return [Edge("connects", spines[one], f"link/s{one}-s{other}") for one, other in pairs]
        return []

    def _serving(self) -> list[Edge]:
        if not self.pools:
            return []
        edges = []
        parts = np.array_split(self.pool_nodes, len(self.pools))
        for pool, nodes in zip(self.pools, parts, strict=True):
            edges += [Edge("runs_on", self.node_names[node], f"pool/{pool}") for node in nodes]
        for number, path in enumerate(self.paths):
            edges += [
                Edge("feeds", f"pool/{self.pools[0]}", path),
                Edge("feeds", path, f"pool/{self.pools[number + 1]}"),
            ]
            edges += [Edge("connects", self.links[link], path) for link in self.path_links(number)]
        return edges


def draw_site(seed: int, *, family: str, serving: bool, kind: str, lasts: float = 3600.0) -> Site:
    """Draws a site; the same seed, family and kind always give the same site."""
    rng = np.random.default_rng([seed, SALT[family], *kind.encode()])
    laws, wide = draw_laws(rng, family, seed), family != "tuned"
    per_rack, racks = (
        int(rng.choice(PER_RACK.get(family, [2, 3, 4, 6, 8]))),
        int(rng.integers(*RACKS.get(family, (3, 9)))),
    )
    nodes = min(per_rack * racks, MOST_NODES.get(family, 40))
    rack_of = np.arange(nodes) // per_rack
    if rng.random() < 0.25:  # cabled by hand: the nodes of a rack are not consecutive
        rack_of = np.sort(rack_of)[np.argsort(np.arange(nodes) % (rack_of.max() + 1), kind="stable")]
    if family in UNEVEN and nodes > 8:  # every third rack gives a node to the one before it
        ends = np.flatnonzero(np.diff(np.sort(rack_of), prepend=-1)[1:] > 0) + 1
        rack_of = np.sort(rack_of)
        rack_of[ends[::3]] -= 1
    cdu_of = np.arange(rack_of.max() + 1) // (1 if laws.cooling == "rear_door" else int(rng.integers(1, 5)))
    room_of = np.arange(cdu_of.max() + 1) // int(rng.integers(1, 5))
    per_leaf = int(rng.choice([2, 4, 6, 8]))
    leaf_of = np.arange(nodes) // max(1, min(per_leaf, nodes // 3))
    if family in IN_TURN:
        cdu_of, leaf_of = _in_turn(cdu_of), _in_turn(leaf_of)
    if family in AT_RANDOM:
        cdu_of = rng.permutation(cdu_of)
        leaf_of = np.unique(rng.integers(0, leaf_of.max() + 1, nodes), return_inverse=True)[1]
    if family in BY_SLOT:
        cdu_of, leaf_of = _rows(rng, len(cdu_of)), _by_slot(rng, rack_of)
        room_of = np.arange(cdu_of.max() + 1) // int(rng.integers(1, 5))
    split = nodes if not serving and rng.random() < 0.2 else max(3, int(nodes * rng.uniform(0.4, 0.7)))
    split = max(3, int(0.4 * nodes)) if laws.mix in ("inference", "many_small") else split
    split = min(split, nodes - 4) if serving else split  # a small site has pools too if its situation needs them
    order = rng.permutation(nodes) if laws.mix == "scattered" else np.arange(nodes)
    if laws.mix == "interleaved":  # every rack has nodes of both jobs
        order = np.concatenate([np.arange(0, nodes, 2), np.arange(1, nodes, 2)])
    jobs = [_work(rng, "pretrain", order[:split], wide)]
    rest = order[split:]
    pools: tuple[str, ...] = ()
    if len(rest) >= 4 and (serving or laws.mix == "inference" or rng.random() < 0.25):
        pools = ("prefill", *(f"decode{number}" for number in range(1, min(4, len(rest) - 1))))
    elif len(rest) >= 2:
        jobs.append(_work(rng, "finetune", rest[: max(2, int(len(rest) * rng.uniform(0.5, 1.0)))], wide))
    return Site(
        seed=seed, family=family, rng=rng, nodes=nodes,
        step=float(rng.choice(STEPS.get(family, [10, 10, 10, 15, 20, 30]))),
        per_node=_per_node(rng, family, nodes), rack_of=rack_of, cdu_of=cdu_of, room_of=room_of, leaf_of=leaf_of,
        spines=int(rng.integers(2, 5)), works=works(laws, _seen_saving(family, jobs), lasts, rng), pools=pools,
        pool_nodes=rest if pools else np.arange(0), laws=laws,
        constants=constants(laws, draw_constants(rng, wide=wide), rng),
    )  # fmt: skip


def _per_node(rng: np.random.Generator, family: str, nodes: int) -> int:
    found = int(rng.choice(PER_NODE[family]))
    return 4 if family in MOST_NODES and found * nodes > MOST_GPUS else found


def _rows(rng: np.random.Generator, racks: int) -> Places:
    return np.repeat(np.arange(racks), rng.integers(1, 5, racks))[:racks]


def _by_slot(rng: np.random.Generator, rack_of: Places) -> Places:
    slots = np.array([int((rack_of[:place] == rack).sum()) for place, rack in enumerate(rack_of)])
    return slots // max(1, int(slots.max() + 1) // int(rng.choice([2, 3, 4, 8])))


def _in_turn(of: Places) -> Places:
    return np.arange(len(of)) % (int(of.max()) + 1)


def _seen_saving(family: str, jobs: list[SiteJob]) -> tuple[SiteJob, ...]:
    """In these families a job saves every 20 minutes, because a fault that no checkpoint shows before the end tests
    nothing."""
    return tuple(replace(one, interval=one.interval / 2) if family in SEEN_SAVING else one for one in jobs)


def _work(rng: np.random.Generator, name: str, nodes: Places, wide: bool) -> SiteJob:
    compute = float(np.exp(rng.uniform(np.log(0.3), np.log(15))))
    takes = float(rng.uniform(5, 60))
    return SiteJob(
        name=name, nodes=nodes, compute=compute, collective=compute * float(rng.uniform(0.08, 0.7)),
        interval=float(rng.uniform(300, 2400)), takes=takes, phase=float(rng.uniform(0, 1)),
        restart=float(rng.uniform(60, 500)), use=float(rng.uniform(0.6, 1.0)), draw=float(rng.uniform(0.5, 0.95)),
        jitter=float(rng.uniform(0.001, 0.02 if wide else 0.015)),
        rank_jitter=float(rng.uniform(0.002, 0.04 if wide else 0.03)),
    )  # fmt: skip


def draw_constants(rng: np.random.Generator, *, wide: bool) -> dict[str, float]:
    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    return {
        "ambient": between(18, 32), "setpoint": between(18, 42), "flow_per_node": between(2, 14),
        "pump": between(0.4, 0.85), "pressure": between(60e3, 300e3), "ambient_to_supply": between(0.2, 0.9),
        "rise": between(18, 42),  # degrees above the coolant at full power
        "rise_spread": between(0.02, 0.1), "flow_power": between(0.3, 0.9), "fan_power": between(0.15, 0.6),
        "air_share": between(0.1, 0.5), "throttle": between(76, 90), "throttle_slope": between(0.01, 0.05),
        "inertia": between(40, 260 if wide else 200), "coolant_inertia": between(20, 180),
        "full_watts": float(rng.choice([300, 400, 700, 1000])), "idle_watts": between(40, 120),
        "clock": float(rng.choice([1.41e9, 1.755e9, 1.98e9])), "clock_power": between(1.6, 3.0),
        "host_watts": between(500, 2500), "volts": float(rng.choice([230, 400, 415, 480])),
        "fan": between(0.25, 0.8), "fan_follows": between(0.0, 0.015), "link_load": between(0.1, 0.6),
        "port_wait": between(0.0, 0.04), "transfer": float(np.exp(rng.uniform(np.log(0.003), np.log(0.2)))),
        "latency": between(0.1, 2.0), "stall": between(0.0, 0.03), "queue_power": between(1.0, 2.2),
        "headroom": between(1.3, 2.0), "store_latency": float(np.exp(rng.uniform(np.log(0.001), np.log(0.05)))),
        "metadata": float(np.exp(rng.uniform(np.log(0.0008), np.log(0.02)))), "queue": between(0.1, 0.6),
        "ambient_trend": between(-1.2, 1.2), "request_trend": between(-0.3, 0.3), "clocked": between(0.5, 1.0),
        "noise": float(np.exp(rng.uniform(np.log(0.4), np.log(2.5)))), "slow_noise": between(0.0, 0.8),
        "outliers": float(rng.choice([0.0, 0.0, 0.001, 0.003])),
    }  # fmt: skip
