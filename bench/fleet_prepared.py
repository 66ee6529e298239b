"""A fleet that has enrolled already, written into the store at once: what follows enrolment is measured without it."""

from pathlib import Path

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.policy import file as policy_file
from holdfast.fleet.store import Store
from holdfast.fleet.store.credentials import token_hash
from holdfast.model.records import Credential, Role
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


def prepare(store_url: str, policy: Path, nodes: int, secret: str) -> None:
    """As after enrolment: every node waits for its first test, and its agent has a credential."""
    store, now = Store.open(store_url), clock.now()
    epoch = store.lead("bench", 60.0)
    if epoch is None:
        raise SystemExit("a controller uses the store that is to be prepared")
    fleet = Fleet(policy_file.load(str(policy)))
    for start in range(0, nodes, AT_ONCE):
        some = range(start, min(nodes, start + AT_ONCE))
        steps = [step for number in some for step in fleet.enrol(name(number), "train", place(number), now)]
        hashes = {name(number): token_hash(credential(secret, name(number))) for number in some}
        with store.together():
            store.transit_all(steps, epoch)
            for node, hashed in hashes.items():
                store.add_credential(
                    Credential(token_hash=hashed, name=node, role=Role.AGENT, created=now, expires=now + DAY)
                )
    store.resign(epoch)
    store.close()
