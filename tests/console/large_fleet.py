"""A store with as many nodes as a large fleet has, for a controller to read at its start."""

import time
from pathlib import Path

from holdfast.fleet.store import Store
from holdfast.model.lifecycle import NodeState, Stage
from tests.fleet.store.lives import arrived

BATCH = 500
STAGES = (Stage.ALLOCATED, Stage.ALLOCATED, Stage.ALLOCATED, Stage.READY)


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
        store.transit_all([arrived(life, time.time()) for life in lives[first : first + BATCH]], epoch)
    store.resign(epoch)
    store.close()
