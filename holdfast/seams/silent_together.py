"""Sensors all over a site that stop reporting together: one finding on their common parent, not one per sensor.

Readings of many nodes all over a site stop in the same minutes when the system that reads or carries them is late:
the network of the site, a gateway, or the controller itself.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from holdfast.model.subject import Subject, kind
from holdfast.model.topology import whole_or_self
from holdfast.seams.instruments import BadReading
from holdfast.seams.scene import Scene

MANY = 5  # this many places do not stop reporting within a minute by coincidence
APART_SECONDS = 60.0  # longest time between one place and the next
SHARED = ("cools", "powers", "connects")
PARENTS = ("rack", "cdu", "loop", "room", "switch", "psu", "feed")  # most likely first


def merged(scene: Scene, groups: Mapping[Subject, list[BadReading]]) -> dict[Subject, list[BadReading]]:
    """The groups, with many of one kind that stopped reporting one after the other merged into one."""
    found = dict(groups)
    by_kind: dict[str, list[Subject]] = defaultdict(list)
    for place, mine in groups.items():
        by_kind[kind(whole_or_self(mine[0].subject))].append(place)
    for of, places in by_kind.items():
        for run in _runs(places, groups):
            if len(run) >= MANY:
                lost = [bad for place in run for bad in found.pop(place)]
                found.setdefault(_above(scene, run) or of, []).extend(lost)
    return found


def _runs(places: Sequence[Subject], groups: Mapping[Subject, Sequence[BadReading]]) -> list[list[Subject]]:
    """Places in the order in which they stopped reporting, split at long pauses."""
    began = {place: min(bad.since for bad in groups[place]) for place in places}
    runs: list[list[Subject]] = []
    last = float("-inf")
    for place in sorted(places, key=lambda one: (began[one], one)):
        if began[place] - last > APART_SECONDS:
            runs.append([])
        runs[-1].append(place)
        last = began[place]
    return runs


def _above(scene: Scene, places: Sequence[Subject]) -> Subject | None:
    """The nearest parent of all of them; None if the topology has none."""
    common = set.intersection(*({place, *scene.topology.up(place, SHARED)} for place in places))
    parents = [one for one in common if kind(one) in PARENTS]
    return min(parents, key=lambda one: (PARENTS.index(kind(one)), len(scene.down(one, SHARED)), one), default=None)
