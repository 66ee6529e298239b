"""Naming the bad part among 1,024 nodes: how often right, how often an innocent is blamed, in how many rounds.

Noise as measured on real hosts: a run of a healthy pair lies anywhere within a factor of two of another run.
Beside it dlrover's pre-flight pairing on the same trials: pair neighbours, then the fastest with the slowest.
The first trials of every case are judged by the product too; a single other answer ends the bench.
`--draw` makes docs/isolation.svg of what is kept in bench/results.
"""

import argparse
import json
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import isolation_columns as columns
import numpy as np
from plot import Panel, draw

from holdfast.node.probes.isolation import isolation
from holdfast.node.probes.isolation.isolation import Limits, Measured, leaf_parts
from holdfast.node.probes.isolation.pairing import next_round

Column = columns.Column
COUNT, PER_LEAF, SPINES = 1024, 32, 8
NODES = [f"n{number:04d}" for number in range(COUNT)]
LEAVES = {name: f"l{number // PER_LEAF:02d}" for number, name in enumerate(NODES)}
REPEATS = 5  # runs of a pair within one round; the middle three count
ROUNDS = 3
LASTING = np.random.default_rng(1).normal(0.0, 0.10, 1 << 20)  # what stays different between healthy pairs
NOISE = math.log(2) / 2
LIMITS = Limits()
CHECKED = 50  # trials of a case that the product judges too
CASES = (
    "node:0.5,node:0.9,node:0.2,node:0.35,link:0.5,link:0.9,link:0.2,two_nodes:0.5,two_nodes:0.9,two_nodes:0.2,"
    "node_and_link:0.5,node_and_link:0.9,node_and_link:0.2,healthy:0"
)
RESULT = Path(__file__).parent / "results" / "isolation.json"
PLOT = Path(__file__).parents[1] / "docs" / "isolation.svg"


def links(here: Column, there: Column) -> list[Column]:
    """Static: the two leaves choose the spine."""
    spine = (here + there) % SPINES
    return [here * SPINES + spine, there * SPINES + spine]


LAYOUTS = {
    "link" in case: columns.layout(NODES, LEAVES, links if "link" in case else None) for case in ("link", "node")
}


class Cluster:
    """One trial: what is bad, what stays different between pairs, and the noise of every run."""

    def __init__(self, seed: int, case: str, loss: float) -> None:
        self._chance = np.random.default_rng((seed, *case.encode()))
        self.layout = LAYOUTS["link" in case]
        self._mixed = int(self._chance.integers(1 << 40))
        self._lost = math.log(1 - loss)
        self._bad_link = int(self._chance.integers(COUNT // PER_LEAF * SPINES)) if "link" in case else -1
        count = {"healthy": 0, "link": 0, "two_nodes": 2}.get(case, 1)
        self._bad_nodes = self._chance.choice(COUNT, count, replace=False)
        self.bad = {("node", int(number)) for number in self._bad_nodes}
        self.bad |= {("link", self._bad_link)} if self._bad_link >= 0 else set()

    def runs(self, pairs: Column) -> Column:
        """The logarithm of what each pair reached."""
        noise = np.sort(self._chance.uniform(-NOISE, NOISE, (len(pairs), REPEATS)))[:, 1:-1].mean(axis=1)
        key = (pairs[:, 0] * COUNT + pairs[:, 1]) * 2654435761 + self._mixed
        reached: Column = noise + LASTING[key & (len(LASTING) - 1)]
        for number in self._bad_nodes:
            reached += self._lost * (pairs == number).any(axis=1)
        if self._bad_link >= 0:
            here, there = np.sort(pairs // PER_LEAF, axis=1).T
            over = np.stack(links(here, there)) == self._bad_link
            reached += self._lost * (over.any(axis=0) & (here != there))
        return reached


def ours(cluster: Cluster, rounds: int) -> set[tuple[str, int]]:
    ends, logs = np.empty((0, 2), dtype=int), np.empty(0)
    met: set[tuple[int, int]] = set()
    for number in range(rounds):
        doubtful, good = columns.doubts(ends, logs) if number else ([], [])
        pairs = columns.next_round(cluster.layout, number, doubtful, good, met)
        met.update(map(tuple, pairs.tolist()))
        ends, logs = np.concatenate((ends, pairs)), np.concatenate((logs, cluster.runs(pairs)))
    return columns.suspects(cluster.layout, ends, logs, LIMITS)


def product(cluster: Cluster, rounds: int) -> set[tuple[str, int]]:
    """The same by the code that users run."""
    measured: list[Measured] = []
    for number in range(rounds):
        doubtful, good = isolation.doubts(measured, isolation.learn(measured))
        met = {(one.one, one.other) for one in measured}
        pairs = next_round(NODES, number, leaves=LEAVES, suspects=doubtful, trusted=good, met=met)
        logs = cluster.runs(np.array([[int(end[1:]) for end in two] for two in pairs]))
        measured += [Measured(*two, math.exp(log)) for two, log in zip(pairs, logs.tolist(), strict=True)]
    known = leaf_parts(LEAVES) if cluster.layout.links is None else _routes
    found = isolation.suspects(measured, known, isolation.learn(measured), LIMITS)
    return {_number(one.part) for one in found if one.confirmed}


def _routes(one: str, other: str) -> list[str]:
    here, there = (np.array([int(LEAVES[end][1:])]) for end in sorted((one, other)))
    return [] if here == there else [f"link/{int(link[0])}" for link in links(here, there)]


def _number(part: str) -> tuple[str, int]:
    kind, _, name = part.partition("/")
    numbers = [int(word.lstrip("nl")) for word in name.split("+")]
    return kind, numbers[0] if len(numbers) == 1 else numbers[0] * 65536 + numbers[1]


def dlrover(cluster: Cluster) -> set[tuple[str, int]]:
    """Two rounds; a node's time is the better of both; a straggler takes more than twice the median."""
    times = np.empty(COUNT)
    for pairs in (np.arange(COUNT).reshape(-1, 2), None):
        if pairs is None:
            order = np.argsort(times, kind="stable")
            pairs = np.sort(np.stack((order[: COUNT // 2], order[COUNT // 2 :][::-1]), axis=1), axis=1)
            took = -cluster.runs(pairs)
            np.minimum.at(times, pairs.ravel(), np.repeat(took, 2))
        else:
            times[pairs.ravel()] = np.repeat(-cluster.runs(pairs), 2)
    slow = np.flatnonzero(times > np.median(times) + math.log(2))
    return {("node", int(number)) for number in slow}


@dataclass
class Score:
    trials: int = 0
    right: int = 0  # named what is bad, all of it and nothing else
    partly: int = 0  # named some of what is bad
    blamed: int = 0  # named somebody innocent

    def add(self, named: set[tuple[str, int]], truth: set[tuple[str, int]]) -> None:
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
        named = ours(cluster, rounds)
        if seed < CHECKED and named != (result := product(Cluster(seed, case, loss), rounds)):
            raise SystemExit(f"{case} {loss} trial {seed}: the columns name {named}, the product {result}")
        scores.holdfast.add(named, cluster.bad)
        scores.dlrover.add(dlrover(cluster), cluster.bad)
    return scores


def measure(pool: ProcessPoolExecutor, case: str, loss: float, trials: int, rounds: int) -> dict[str, Any]:
    seeds = range(trials)
    pieces = [seeds[start : start + 250] for start in range(0, trials, 250)]
    whole = Scores()
    for scores in pool.map(some_trials, *zip(*((case, loss, piece, rounds) for piece in pieces), strict=True)):
        for mine, theirs in ((whole.holdfast, scores.holdfast), (whole.dlrover, scores.dlrover)):
            for name in ("trials", "right", "partly", "blamed"):
                setattr(mine, name, getattr(mine, name) + getattr(theirs, name))
    row: dict[str, Any] = {"case": case, "loss": loss, "rounds": rounds}
    return row | {"holdfast": whole.holdfast.row(), "dlrover": whole.dlrover.row()}


def plot(rows: list[dict[str, Any]]) -> str:
    """A panel a case: the share of right answers over the loss, at three rounds."""
    panels = []
    for case, same in groupby((row for row in rows if row["case"] != "healthy"), key=lambda row: row["case"]):
        kept = sorted(same, key=lambda row: float(row["loss"]))
        losses = [100 * row["loss"] for row in kept]
        panels.append(
            Panel(f"{str(case).replace('_', ' ')}: % right", losses, [100 * row["holdfast"]["right"] for row in kept])
        )
    return draw("One fault (or two) among 1,024 nodes: right answers over % of bandwidth lost, 3 rounds", panels)


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
