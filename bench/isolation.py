"""Naming the bad part among 1,024 nodes: how often right, how often an innocent is blamed, in how many rounds.

Noise as measured on real hosts: a run of a healthy pair lies anywhere within a factor of two of another run.
Beside it dlrover's pre-flight pairing on the same trials: pair neighbours, then the fastest with the slowest.
"""

import argparse
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median

from holdfast.probes.isolation import Limits, Measured, doubts, leaf_parts, learn, suspects
from holdfast.probes.pairing import Pair, next_round, pair

NODES, PER_LEAF, SPINES = 1024, 32, 8
REPEATS = 5  # runs of a pair within one round; the middle three count
MOST_ROUNDS = 3
LIMITS = Limits()


@dataclass
class Cluster:
    chance: random.Random
    bad_nodes: dict[str, float] = field(default_factory=dict)
    bad_link: tuple[str, float] | None = None
    lasting: float = 0.10  # spread of what stays different between healthy pairs
    pairs: dict[Pair, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nodes = [f"n{i:04d}" for i in range(NODES)]
        self.leaves = {name: f"l{i // PER_LEAF:02d}" for i, name in enumerate(self.nodes)}

    def route(self, one: str, other: str) -> tuple[str, ...]:
        """Static: the two leaves choose the spine."""
        here, there = self.leaves[one], self.leaves[other]
        if here == there:
            return ()
        spine = (int(here[1:]) + int(there[1:])) % SPINES
        return (f"link/{here}-s{spine}", f"link/{there}-s{spine}")

    def run(self, one: str, other: str) -> float:
        key = pair(one, other)
        lasting = self.pairs.setdefault(key, self.chance.gauss(0, self.lasting))
        log = lasting
        for name in key:
            log += math.log(1 - self.bad_nodes.get(name, 0.0))
        if self.bad_link and self.bad_link[0] in self.route(one, other):
            log += math.log(1 - self.bad_link[1])
        runs = sorted(self.chance.uniform(-math.log(2) / 2, math.log(2) / 2) for _ in range(REPEATS))
        return math.exp(log + fmean(runs[1:-1]))


@dataclass
class Score:
    right: int = 0
    blamed: int = 0
    trials: int = 0
    rounds: list[int] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        return {
            "right": self.right / self.trials,
            "false_blame": self.blamed / self.trials,
            "false_blame_upper_95": _upper(self.blamed, self.trials),
            "rounds_mean": fmean(self.rounds),
        }


def _upper(count: int, trials: int) -> float:
    """Wilson's upper bound."""
    share, z = count / trials, 1.96
    centre = share + z * z / (2 * trials)
    return (centre + z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))) / (1 + z * z / trials)


def ours(cluster: Cluster, routes: bool, most_rounds: int) -> tuple[set[str], int]:
    parts = cluster.route if routes else leaf_parts(cluster.leaves)
    measured: list[Measured] = []
    for number in range(most_rounds):
        doubtful, trusted = doubts(measured, learn(measured))
        met = {pair(one.one, one.other) for one in measured}
        for one, other in next_round(
            cluster.nodes, number, leaves=cluster.leaves, suspects=doubtful, trusted=trusted, met=met
        ):
            measured.append(Measured(one, other, cluster.run(one, other)))
    found = suspects(measured, parts, learn(measured), LIMITS)
    return {one.part for one in found if one.confirmed}, most_rounds


def dlrover(cluster: Cluster) -> tuple[set[str], int]:
    """Two rounds; a node's time is the better of both; a straggler takes more than twice the median."""
    times: dict[str, float] = {}
    for one, other in zip(cluster.nodes[::2], cluster.nodes[1::2], strict=True):
        times[one] = times[other] = 1 / cluster.run(one, other)
    order = sorted(cluster.nodes, key=lambda name: times[name])
    for fast, slow in zip(order[: NODES // 2], reversed(order[NODES // 2 :]), strict=True):
        again = 1 / cluster.run(fast, slow)
        times[fast], times[slow] = min(times[fast], again), min(times[slow], again)
    middle = median(times.values())
    return {f"node/{name}" for name, took in times.items() if took > 2 * middle}, 2


def trial(seed: int, case: str, loss: float) -> tuple[Cluster, set[str], bool]:
    chance = random.Random(seed)
    cluster = Cluster(chance)
    if case == "link":
        leaf, spine = chance.randrange(NODES // PER_LEAF), chance.randrange(SPINES)
        cluster.bad_link = (f"link/l{leaf:02d}-s{spine}", loss)
        return cluster, {cluster.bad_link[0]}, True
    count = {"healthy": 0, "node": 1, "two_nodes": 2}[case]
    cluster.bad_nodes = dict.fromkeys(chance.sample(cluster.nodes, count), loss)
    return cluster, {f"node/{name}" for name in cluster.bad_nodes}, False


def measure(case: str, loss: float, trials: int, most_rounds: int) -> dict[str, object]:
    scores: dict[str, Score] = {"holdfast": Score(), "dlrover": Score()}
    for seed in range(trials):
        methods: dict[str, Callable[[Cluster, bool], tuple[set[str], int]]] = {
            "holdfast": lambda cluster, routes: ours(cluster, routes, most_rounds),
            "dlrover": lambda cluster, routes: dlrover(cluster),
        }
        for name, method in methods.items():
            cluster, truth, routes = trial(seed, case, loss)
            named, rounds = method(cluster, routes)
            score = scores[name]
            score.trials += 1
            score.right += named == truth
            score.blamed += bool(named - truth)
            score.rounds.append(rounds)
    return {"case": case, "loss": loss, "rounds": most_rounds} | {name: score.row() for name, score in scores.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=MOST_ROUNDS)
    parser.add_argument("--cases", default="healthy:0,node:0.2,node:0.5,node:0.9,link:0.5,link:0.9,two_nodes:0.5")
    parser.add_argument("--out", default="bench/results/isolation.json")
    options = parser.parse_args()
    rows = []
    for words in options.cases.split(","):
        case, _, loss = words.partition(":")
        rows.append(measure(case, float(loss), options.trials, options.rounds))
        print(json.dumps(rows[-1]), flush=True)
    result = {"bench": "isolation", "nodes": NODES, "trials": options.trials, "rows": rows}
    Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
