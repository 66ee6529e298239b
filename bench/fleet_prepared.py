"""A fleet that has enrolled and was tested, written into the store at once: what follows is measured without it."""

from dataclasses import replace
from pathlib import Path

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.policy import file as policy_file
from holdfast.fleet.store import Store
from holdfast.fleet.store.credentials import token_hash
from holdfast.model.lifecycle import Verb
from holdfast.model.records import Credential, LifecycleStep, Role
from holdfast.model.wire.report import OrderOutcome, Report
from holdfast.runtime import clock

RACK, LEAF, LOOP = 8, 32, 64  # nodes behind one
AT_ONCE = 500
DAY = 86_400.0


def name(number: int) -> str:
    return f"n{number:05d}"


def place(number: int) -> dict[str, str]:
    return {"rack": f"r{number // RACK}", "leaf": f"l{number // LEAF}", "loop": f"c{number // LOOP}"}


def credential(secret: str, node: str) -> str:
    return f"{secret}.{node}"


def enrolled(fleet: Fleet, node: str, number: int, now: float) -> list[LifecycleStep]:
    """Without the actions: they are done."""
    steps = fleet.enrol(node, "train", place(number), now)
    passed = OrderOutcome(order=1, verb=Verb.RETEST.value, ok=True, health="pass", suite=fleet.policy.suite, began=now)
    steps += fleet.take(Report(node=node, session="s0", seq=1, at=now, outcomes=(passed,)), now)
    return [replace(step, actions=()) for step in steps]


def prepare(store_url: str, policy: Path, nodes: int, secret: str) -> None:
    """As after enrolment and the first test: every node is ready, and its agent has a credential."""
    store, now = Store.open(store_url), clock.now()
    epoch = store.lead("bench", 60.0)
    if epoch is None:
        raise SystemExit("a controller uses the store that is to be prepared")
    fleet = Fleet(policy_file.load(str(policy)))
    for start in range(0, nodes, AT_ONCE):
        some = range(start, min(nodes, start + AT_ONCE))
        steps = [step for number in some for step in enrolled(fleet, name(number), number, now)]
        hashes = {name(number): token_hash(credential(secret, name(number))) for number in some}
        with store.together():
            store.transit_all(steps, epoch)
            for node, hashed in hashes.items():
                store.add_credential(
                    Credential(token_hash=hashed, name=node, role=Role.AGENT, created=now, expires=now + DAY)
                )
    store.resign(epoch)
    store.close()
