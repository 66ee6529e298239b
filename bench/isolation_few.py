"""Naming the bad part of a few hosts, and of hosts with several rails: how often right, and how often an innocent.

Every pair of up to eight hosts meets twice, of more in three rounds, all rails at once. Noise: a moment slows all rails
of a pair alike by up to `--busy`, and each by up to a fifth more. The judge is the product's own.
"""

import argparse
import json
import random
from collections.abc import Callable
from typing import Any

from measure import RESULTS

from holdfast.node.probes.isolation.isolation import FEW_HOSTS, Measured, doubts, leaf_parts, learn, suspects
from holdfast.node.probes.isolation.pairing import every_pair, next_round, pair
from holdfast.node.probes.sweep.pairs import ROUNDS

Bad = Callable[[str, str, int], bool]
RAIL = 1
CASES: dict[str, tuple[str, Bad]] = {
    "healthy": ("", lambda one, other, rail: False),
    "node": ("node/h01", lambda one, other, rail: "h01" in (one, other)),
    "rail": (f"node/h01/rail/{RAIL}", lambda one, other, rail: "h01" in (one, other) and rail == RAIL),
    "pair": ("pair/h00+h01", lambda one, other, rail: {one, other} == {"h00", "h01"}),
}
SHAPES = ((4, 1), (8, 1), (4, 8), (8, 8), (32, 8))


def named(seed: int, hosts: int, rails: int, bad: Bad, loss: float, busy: float) -> list[str]:
    chance = random.Random(seed)
    names = [f"h{number:02d}" for number in range(hosts)]
    leaves = {f"{name}#{rail}" if rail else name: f"l{rail}" for name in names for rail in range(rails)}
    measured: list[Measured] = []
    for turn in range(2 if hosts <= FEW_HOSTS else ROUNDS):
        for one, other in _round(names, turn, leaves, measured):
            moment = chance.uniform(1 - busy, 1.0)
            for rail in range(rails):
                rate = moment * chance.uniform(0.8, 1.0) * ((1 - loss) if bad(one, other, rail) else 1.0)
                measured.append(Measured(one, other, rate, str(rail) if rails > 1 else ""))
    return [one.part for one in suspects(measured, leaf_parts(leaves), learn(measured)) if one.confirmed]


def _round(names: list[str], turn: int, leaves: dict[str, str], measured: list[Measured]) -> list[tuple[str, str]]:
    if len(names) <= FEW_HOSTS:
        return [both for some in every_pair(names) for both in some]
    doubtful, good = doubts(measured, learn(measured))
    met = {pair(one.one, one.other) for one in measured}
    return next_round(names, turn, leaves=leaves, suspects=doubtful, trusted=good, met=met)


def row(case: str, shape: tuple[int, int], loss: float, busy: float, trials: int) -> dict[str, Any]:
    truth, bad = CASES[case]
    found = [named(seed, *shape, bad, loss, busy) for seed in range(trials)]
    return {
        "case": case,
        "hosts": shape[0],
        "rails": shape[1],
        "loss": loss,
        "right": sum(one == ([truth] if truth else []) for one in found) / trials,
        "false_blame": sum(bool(set(one) - {truth}) for one in found) / trials,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--busy", type=float, default=0.5)
    options = parser.parse_args()
    rows = [
        row(case, shape, loss, options.busy, options.trials)
        for case in CASES
        for shape in SHAPES
        if not (case == "rail" and shape[1] == 1) and not (case == "pair" and shape[0] > FEW_HOSTS)
        for loss in ((0.0,) if case == "healthy" else (0.3, 0.5, 0.6, 0.7, 0.9))
    ]
    result = {"bench": "isolation_few", "trials": options.trials, "busy": options.busy, "rows": rows}
    (RESULTS / "isolation_few.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
