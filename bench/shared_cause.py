"""Fifty of 64 nodes fail one by one within a minute behind one cooling loop: who is drained, with the wait and without.

Virtual time, 200 drawn orders each. Then 256 nodes of which 40 % fail, behind shared parents or at random, 20 seeds of
each: who is drained, which incidents on parents are false, and who is tested again when all of it heals. Also what a
tick of the decisions costs with 12,500 nodes, as a ratio to merely looking at each of them, in the same run.
"""

import argparse
import json
import random
import time
from pathlib import Path

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.incident import IncidentState
from holdfast.model.lifecycle import NodeState, Stage, Verb
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange

RESULT = Path(__file__).parent / "results" / "shared_cause.json"
ORDERS = 200
NODES = 64
BEHIND = 50
BIG = 12_500
SEEDS, SITE_NODES, SITE_SHARE, TEST_SECONDS = 20, 256, 0.4, 20.0
QUIET_TICK_SECONDS = 5.0  # nothing is reported then
SITE_PLACES = {"rack": 8, "leaf": 16, "loop": 32, "feed": 128}
PLACES = {"rack": 8, "leaf": 16, "loop": BEHIND, "feed": 32}


def fleet(count: int, policy: Policy, places: dict[str, int] | None = None) -> Fleet:
    lives = [
        NodeState(
            name=f"n{number}",
            stage=Stage.READY,
            tested_at=0.0,
            tested_suite=policy.suite,
            place={kind: f"{kind}{number // size}" for kind, size in (places or PLACES).items()},
        )
        for number in range(count)
    ]
    made = Fleet(policy, lives)
    made.last_report_at.update(dict.fromkeys(made.nodes, 0.0))
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
            made.last_report_at.update(dict.fromkeys(made.nodes, second))
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


class Site:
    """256 nodes over several minutes of virtual time, with agents that answer every test they are asked for."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.fleet = fleet(SITE_NODES, Policy(dry_run=False), SITE_PLACES)
        self.now = 0.0
        self.tick_seconds = 1.0  # seconds from tick to tick
        self.opened: set[str] = set()  # parents with an incident
        self.drained: set[str] = set()
        self.tested: set[str] = set()
        self._asked: list[tuple[float, str]] = []
        self._sent = 1

    def shared(self) -> set[str]:
        """All nodes behind some parents of one kind, about 40 % of the fleet."""
        kind = self.chance.choice(("rack", "leaf", "loop"))
        size = SITE_PLACES[kind]
        parents = self.chance.sample(range(SITE_NODES // size), round(SITE_SHARE * SITE_NODES / size))
        return {f"n{number}" for number in range(SITE_NODES) if number // size in parents}

    def scattered(self) -> set[str]:
        return {f"n{number}" for number in self.chance.sample(range(SITE_NODES), round(SITE_SHARE * SITE_NODES))}

    def fail(self, names: set[str], seconds: float = 60.0) -> None:
        for at, name in sorted((self.now + self.chance.uniform(0, seconds), name) for name in sorted(names)):
            self.until(at)
            self._report(name, "pass", "fail")

    def heal(self, names: set[str]) -> None:
        for name in self.chance.sample(sorted(names), len(names)):
            self.until(self.now + self.chance.uniform(0.0, 0.5))
            self._report(name, "fail", "pass")

    def until(self, then: float) -> None:
        while self.now + self.tick_seconds <= then:
            self.now += self.tick_seconds
            for _, name in [one for one in self._asked if one[0] <= self.now]:
                self._answer(name)
            self._asked = [one for one in self._asked if one[0] > self.now]
            self.fleet.last_report_at.update(dict.fromkeys(self.fleet.nodes, self.now))
            self._take(self.fleet.tick(self.now))

    def _report(self, name: str, before: str, after: str) -> None:
        change = VerdictChange(at=self.now, check="gpu.throttle", before=before, after=after, reason="hot")
        self._send(name, changes=(change,))

    def _answer(self, name: str) -> None:
        self.tested.add(name)
        began = self.now - TEST_SECONDS
        self._send(name, outcomes=(OrderOutcome(order=1, verb="retest", ok=True, health="pass", began=began),))

    def _send(self, name: str, **facts: object) -> None:
        self._sent += 1
        report = Report(node=name, session="s", seq=self._sent, at=self.now, **facts)  # type: ignore[arg-type]
        self._take(self.fleet.take(report, self.now))

    def _take(self, steps: list[LifecycleStep]) -> None:
        for action in (action for step in steps for action in step.actions):
            if action.verb is Verb.DRAIN:
                self.drained.add(action.node)
            if action.verb is Verb.RETEST:
                self._asked.append((self.now + TEST_SECONDS, action.node))
        parents = (one.subject for one in self.fleet.incidents.take_changed())
        self.opened.update(one for one in parents if one.partition("/")[0] in SITE_PLACES)


def sites() -> dict[str, int]:
    """Sums over the seeds; each storm alone, then healed."""
    found = dict.fromkeys(("shared_failed", "shared_drained", "shared_not_retested", "shared_not_ready"), 0)
    found |= dict.fromkeys(("random_failed", "random_false_incidents", "random_drained"), 0)
    for seed in range(SEEDS):
        site = Site(seed)
        names = site.shared()
        site.fail(names)
        site.tick_seconds = QUIET_TICK_SECONDS
        site.until(site.now + 300.0)
        found["shared_failed"] += len(names)
        found["shared_drained"] += len(site.drained)
        site.heal(names)
        site.until(site.now + 900.0)
        found["shared_not_retested"] += len(names - site.tested)
        found["shared_not_ready"] += sum(node.stage is not Stage.READY for node in site.fleet.nodes.values())
        site = Site(SEEDS + seed)
        names = site.scattered()
        site.fail(names)
        site.tick_seconds = QUIET_TICK_SECONDS
        site.until(site.now + 300.0)
        found["random_failed"] += len(names)
        found["random_false_incidents"] += len(site.opened)
        found["random_drained"] += len(site.drained)
    return found


def best_of(times: int, do: object) -> float:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        do()  # type: ignore[operator]
        taken.append(time.perf_counter() - begin)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only-site", action="store_true", help="the 256 nodes alone; the rest stays as it was kept")
    site = {"nodes": SITE_NODES, "share": SITE_SHARE, "seeds": SEEDS}
    result = json.loads(RESULT.read_text()) if parser.parse_args().only_site else measured()
    result["site"] = site | sites()
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))


def measured() -> dict[str, object]:
    waiting, at_once = Policy(dry_run=False), Policy(dry_run=False, shared_first_seconds=0.0, shared_wait_seconds=0.0)
    big = fleet(BIG, waiting)
    for number in range(BEHIND):
        fail(big, f"n{number}", 1.0)
    big.last_report_at.update(dict.fromkeys(big.nodes, 1.0))
    tick = best_of(10, lambda: big.tick(2.0))
    floor = best_of(10, lambda: [node for node in big.nodes.values() if node.stage is Stage.TESTING])
    return {
        "bench": "shared_cause",
        "orders": ORDERS,
        "cap": 6,
        "with_wait": storms(waiting),
        "without_wait": storms(at_once),
        "tick_of_12500_nodes_seconds": round(tick, 4),
        "tick_to_a_bare_look_ratio": round(tick / floor, 1),
    }


if __name__ == "__main__":
    main()
