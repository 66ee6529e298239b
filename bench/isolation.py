"""Naming the bad part among 1,024 nodes: how often right, how often an innocent is blamed, in how many rounds.

Noise as measured on real hosts: a run of a healthy pair lies anywhere within a factor of two of another run.
Beside it dlrover's pre-flight pairing on the same trials: pair neighbours, then the fastest with the slowest.
`--draw` makes docs/isolation.svg of what is kept in bench/results.
"""

import argparse
import json
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import median

import numpy as np
from plot import Panel, draw

from holdfast.probes.isolation import Limits, Measured, doubts, leaf_parts, learn, suspects
from holdfast.probes.pairing import Pair, next_round, pair

COUNT, PER_LEAF, SPINES = 1024, 32, 8
NODES = [f"n{number:04d}" for number in range(COUNT)]
LEAVES = {name: f"l{number // PER_LEAF:02d}" for number, name in enumerate(NODES)}
REPEATS = 5  # runs of a pair within one round; the middle three count
ROUNDS = 3
LASTING = 0.10  # spread of what stays different between healthy pairs
LIMITS = Limits()
CASES = (
    "node:0.5,node:0.9,link:0.5,link:0.9,healthy:0,node:0.2,two_nodes:0.5,link:0.2,two_nodes:0.2,two_nodes:0.9,"
    "node_and_link:0.5,node:0.35,link:0.35"
)
RESULT = Path(__file__).parent / "results" / "isolation.json"
PLOT = Path(__file__).parents[1] / "docs" / "isolation.svg"


@cache
def links(here: str, there: str) -> tuple[str, ...]:
    """Static: the two leaves choose the spine."""
    if here == there:
        return ()
    spine = (int(here[1:]) + int(there[1:])) % SPINES
    return (f"link/{here}-s{spine}", f"link/{there}-s{spine}")


def route(one: str, other: str) -> tuple[str, ...]:
    return links(LEAVES[one], LEAVES[other])


class Cluster:
    """One trial: what is bad, what stays different between pairs, and the noise of every run."""

    def __init__(self, seed: int, case: str, loss: float) -> None:
        self._chance = np.random.default_rng((seed, *case.encode()))
        self.bad: dict[str, float] = {}
        if "link" in case:
            leaf, spine = self._chance.integers(COUNT // PER_LEAF), self._chance.integers(SPINES)
            self.bad[f"link/l{leaf:02d}-s{spine}"] = math.log(1 - loss)
        count = {"healthy": 0, "link": 0, "two_nodes": 2}.get(case, 1)
        for number in self._chance.choice(COUNT, count, replace=False):
            self.bad[f"node/{NODES[number]}"] = math.log(1 - loss)
        self._lasting: dict[Pair, float] = {}
        self._lost = {part.partition("/")[2]: loss for part, loss in self.bad.items()}
        self._bad_link = next((part for part in self.bad if part.startswith("link/")), "")

    def runs(self, pairs: list[Pair]) -> list[float]:
        """The logarithm of what each pair reached."""
        noise = np.sort(self._chance.uniform(-math.log(2) / 2, math.log(2) / 2, (len(pairs), REPEATS)))[:, 1:-1]
        fresh = self._chance.normal(0.0, LASTING, len(pairs)).tolist()
        return [
            own + self._lasting.setdefault(met, new) + self._loss(met)
            for met, own, new in zip(pairs, noise.mean(axis=1).tolist(), fresh, strict=True)
        ]

    def _loss(self, met: Pair) -> float:
        lost = self._lost.get(met[0], 0.0) + self._lost.get(met[1], 0.0)
        return lost + self.bad[self._bad_link] if self._bad_link and self._bad_link in route(*met) else lost


def ours(cluster: Cluster, rounds: int) -> set[str]:
    measured: list[Measured] = []
    met: set[Pair] = set()
    for number in range(rounds):
        doubtful, trusted = doubts(measured, learn(measured))
        pairs = next_round(NODES, number, leaves=LEAVES, suspects=doubtful, trusted=trusted, met=met)
        met.update(pairs)
        measured += [Measured(*two, math.exp(log)) for two, log in zip(pairs, cluster.runs(pairs), strict=True)]
    known = route if any(part.startswith("link/") for part in cluster.bad) else leaf_parts(LEAVES)
    return {one.part for one in suspects(measured, known, learn(measured), LIMITS) if one.confirmed}


def dlrover(cluster: Cluster) -> set[str]:
    """Two rounds; a node's time is the better of both; a straggler takes more than twice the median."""
    neighbours = [pair(*two) for two in zip(NODES[::2], NODES[1::2], strict=True)]
    times = {name: -log for two, log in zip(neighbours, cluster.runs(neighbours), strict=True) for name in two}
    order = sorted(NODES, key=lambda name: times[name])
    opposite = [pair(*two) for two in zip(order[: COUNT // 2], reversed(order[COUNT // 2 :]), strict=True)]
    for two, log in zip(opposite, cluster.runs(opposite), strict=True):
        for name in two:
            times[name] = min(times[name], -log)
    middle = median(times.values())
    return {f"node/{name}" for name, took in times.items() if took > middle + math.log(2)}


@dataclass
class Score:
    trials: int = 0
    right: int = 0  # named what is bad, all of it and nothing else
    partly: int = 0  # named some of what is bad
    blamed: int = 0  # named somebody innocent

    def add(self, named: set[str], truth: set[str]) -> None:
        self.trials += 1
        self.right += named == truth
        self.partly += bool(named & truth)
        self.blamed += bool(named - truth)

    def row(self) -> dict[str, float]:
        return {
            "right": self.right / self.trials,
            "named_some": self.partly / self.trials,
            "false_blame": self.blamed / self.trials,
            "false_blame_upper_95": _upper(self.blamed, self.trials),
        }


def _upper(count: int, trials: int) -> float:
    """Wilson's upper bound."""
    share, z = count / trials, 1.96
    centre = share + z * z / (2 * trials)
    return (centre + z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))) / (1 + z * z / trials)


@dataclass
class Scores:
    holdfast: Score = field(default_factory=Score)
    dlrover: Score = field(default_factory=Score)


def some_trials(case: str, loss: float, seeds: range, rounds: int) -> Scores:
    scores = Scores()
    for seed in seeds:
        cluster = Cluster(seed, case, loss)
        truth = set(cluster.bad)
        scores.holdfast.add(ours(cluster, rounds), truth)
        scores.dlrover.add(dlrover(cluster), truth)
    return scores


def measure(pool: ProcessPoolExecutor, case: str, loss: float, trials: int, rounds: int) -> dict[str, object]:
    seeds = range(trials)
    pieces = [seeds[start : start + 250] for start in range(0, trials, 250)]
    whole = Scores()
    for scores in pool.map(some_trials, *zip(*((case, loss, piece, rounds) for piece in pieces), strict=True)):
        for mine, theirs in ((whole.holdfast, scores.holdfast), (whole.dlrover, scores.dlrover)):
            for name in ("trials", "right", "partly", "blamed"):
                setattr(mine, name, getattr(mine, name) + getattr(theirs, name))
    row: dict[str, object] = {"case": case, "loss": loss, "rounds": rounds}
    return row | {"holdfast": whole.holdfast.row(), "dlrover": whole.dlrover.row()}


def plot(rows: list[dict[str, object]]) -> str:
    """A panel a case: the share of right answers over the loss, at three rounds."""
    panels = []
    for case, same in groupby((row for row in rows if row["case"] != "healthy"), key=lambda row: row["case"]):
        kept = list(same)
        losses = [100 * float(str(row["loss"])) for row in kept]
        panels.append(Panel(f"{str(case).replace('_', ' ')}: % right", losses, [100 * _right(row) for row in kept]))
    return draw("One fault (or two) among 1,024 nodes: right answers over % of bandwidth lost, 3 rounds", panels)


def _right(row: dict[str, object]) -> float:
    score = row["holdfast"]
    assert isinstance(score, dict)
    return float(score["right"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--draw", action="store_true", help="draw what is kept, measure nothing")
    options = parser.parse_args()
    if options.draw:
        PLOT.write_text(plot(json.loads(options.out.read_text())["rows"]))
        return
    rows = []
    with ProcessPoolExecutor(options.processes) as pool:
        for words in options.cases.split(","):
            case, _, loss = words.partition(":")
            rows.append(measure(pool, case, float(loss), options.trials, options.rounds))
            result = {"bench": "isolation", "nodes": COUNT, "trials": options.trials, "rows": rows}
            options.out.write_text(json.dumps(result, indent=1) + "\n")  # each case is worth keeping
            print(json.dumps(rows[-1]), flush=True)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
