"""Fifty of 64 nodes fail one by one within a minute behind one cooling loop: who is drained, with the wait and without.

Virtual time, 200 drawn orders each. Also what a tick of the judgement costs with 12,500 nodes, as a ratio to merely
looking at each of them, in the same run.
"""

import json
import random
import time
from pathlib import Path

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.incident import IncidentState
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.wire.report import Report, VerdictChange

RESULT = Path(__file__).parent / "results" / "shared_cause.json"
ORDERS = 200
NODES = 64
BEHIND = 50
BIG = 12_500
PLACES = {"rack": 8, "leaf": 16, "loop": BEHIND, "feed": 32}


def fleet(count: int, policy: Policy) -> Fleet:
    lives = [
        NodeState(
            name=f"n{number}",
            stage=Stage.READY,
            tested_at=0.0,
            tested_suite=policy.suite,
            place={kind: f"{kind}{number // size}" for kind, size in PLACES.items()},
        )
        for number in range(count)
    ]
    made = Fleet(policy, lives)
    made.heard.update(dict.fromkeys(made.nodes, 0.0))
    return made


def fail(made: Fleet, name: str, now: float) -> None:
    change = VerdictChange(at=now, check="gpu.throttle", before="pass", after="fail", reason="hot")
    made.take(Report(node=name, session="s", seq=1, at=now, changes=(change,)), now)


def storm(chance: random.Random, policy: Policy) -> tuple[int, list[str]]:
    """How many left service, and on what incidents are open at the end."""
    made = fleet(NODES, policy)
    arrivals = sorted((chance.uniform(0, 60), f"n{number}") for number in range(BEHIND))
    second = 0.0
    for at, name in arrivals:
        while second < at:
            made.heard.update(dict.fromkeys(made.nodes, second))
            made.tick(second)
            second += 1.0
        fail(made, name, at)
    made.tick(61.0)
    opened = [one.subject for one in made.incidents.take_changed() if one.state is IncidentState.OPEN]
    return sum(node.out for node in made.nodes.values()), opened


def storms(policy: Policy) -> dict[str, float | int]:
    chance = random.Random(7)
    found = [storm(chance, policy) for _ in range(ORDERS)]
    left = [out for out, _ in found]
    return {
        "drained_mean": sum(left) / ORDERS,
        "drained_most": max(left),
        "one_incident_on_the_loop": sum(opened == ["loop/loop0"] for _, opened in found),
    }


def best_of(times: int, do: object) -> float:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        do()  # type: ignore[operator]
        taken.append(time.perf_counter() - begin)
    return min(taken)


def main() -> None:
    waiting, at_once = Policy(dry_run=False), Policy(dry_run=False, shared_first_seconds=0.0, shared_wait_seconds=0.0)
    big = fleet(BIG, waiting)
    for number in range(BEHIND):
        fail(big, f"n{number}", 1.0)
    big.heard.update(dict.fromkeys(big.nodes, 1.0))
    tick = best_of(10, lambda: big.tick(2.0))
    floor = best_of(10, lambda: [node for node in big.nodes.values() if node.stage is Stage.TESTING])
    result = {
        "bench": "shared_cause",
        "orders": ORDERS,
        "cap": 6,
        "with_wait": storms(waiting),
        "without_wait": storms(at_once),
        "tick_of_12500_nodes_seconds": round(tick, 4),
        "tick_to_a_bare_look_ratio": round(tick / floor, 1),
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
