"""Scheduled faults of a simulated fleet: time, place, duration and repetition."""

from functools import partial
from typing import TYPE_CHECKING

from holdfast.lab.twin.fleet.kinds import Strike, kinds
from holdfast.lab.twin.fleet.node import GPUS

if TYPE_CHECKING:
    from holdfast.lab.twin.fleet.simulation import Simulation


def plan(fleet: "Simulation", number: int, strike: Strike) -> None:
    """Schedules a strike, with times counted from now."""
    fleet.clock.after(strike.at, partial(_happen, fleet, number, strike))


def _happen(fleet: "Simulation", number: int, strike: Strike) -> None:
    if strike.every:
        fleet.clock.after(strike.every, partial(_happen, fleet, number, strike))
    if strike.subject:
        if fleet.plant is not None:
            fleet.plant.strike(strike, fleet.now)
    elif kinds()[strike.kind].on == "trunk":
        _slow_trunk(fleet, strike)
    else:
        _strike_nodes(fleet, number, strike)


def _slow_trunk(fleet: "Simulation", strike: Strike) -> None:
    first, last = (fleet.nodes[min(one, len(fleet.nodes)) - 1] for one in (strike.of, strike.to))
    trunk = frozenset((first.place["leaf"], last.place["leaf"]))
    fleet.slow_trunks[trunk] = kinds()[strike.kind].fabric_share
    if strike.lasts:
        fleet.clock.after(strike.lasts, partial(_repair_trunk, fleet, trunk))


def _repair_trunk(fleet: "Simulation", trunk: frozenset[str]) -> None:
    fleet.slow_trunks.pop(trunk, None)


def _strike_nodes(fleet: "Simulation", number: int, strike: Strike) -> None:
    first = fleet.nodes[min(strike.of, len(fleet.nodes)) - 1]
    hit = [first]
    if strike.behind:
        hit = [node for node in fleet.nodes if node.place[strike.behind] == first.place[strike.behind]]
    parts = tuple(range(GPUS)) if strike.parts == "all" else (0,)
    for node in hit:
        late = strike.within * fleet.rng.uniform("late", number, node.index)
        action = partial(fleet.strike, node, kinds()[strike.kind], parts, strike.lasts, strike.cured_by)
        fleet.clock.after(late, action)
