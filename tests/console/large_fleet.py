"""A store with as many nodes as a large fleet has, for a controller to read at its start."""

import time
from pathlib import Path

from holdfast.fleet.store import Store
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.wire.report import Report, VerdictChange
from tests.fleet.store.lives import arrived

BATCH = 500
STAGES = (Stage.ALLOCATED, Stage.ALLOCATED, Stage.ALLOCATED, Stage.READY)

UNHEARD = 900  # one node in so many has never reported


def _report(number: int) -> Report:
    after, reason = "pass", "8 of 8 pass"
    if number % 200 == 0:
        after, reason = "fail", "Xid 79: The GPU stopped answering on PCIe"
    elif number % 170 == 0:
        after, reason = "degraded", "a bad row waits for a reset to be remapped"
    now = time.time()
    change = VerdictChange(at=now, check="gpu.xid", before="", after=after, reason=reason)
    return Report(node=f"n{number:05d}", session="s", seq=1, at=now, changes=(change,), heartbeat=True)


def fill(directory: Path, nodes: int) -> None:
    """What a fleet of this size has stored when its controller starts."""
    store = Store.open(f"sqlite:///{directory}/holdfast.db")
    epoch = store.lead("bench", 60.0, time.time()) or 0
    lives = [
        NodeState(
            name=f"n{number:05d}",
            pool=f"pool{number % 4}",
            stage=STAGES[number % 4] if number % 200 else Stage.QUARANTINED,
            since=time.time() - number,
            place={"rack": f"r{number // 8}", "leaf": f"leaf{number // 32}", "loop": f"loop{number // 256}"},
            reason="passed the full suite: every check passed",
        )
        for number in range(nodes)
    ]
    for first in range(0, nodes, BATCH):
        batch = range(first, min(first + BATCH, nodes))
        store.transit_all([arrived(lives[number], time.time()) for number in batch], epoch)
        store.record([_report(number) for number in batch if number % UNHEARD], time.time())
    store.resign(epoch)
    store.close()
