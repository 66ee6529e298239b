"""Causes that consist of several plant faults, or of none.

Examples: a chiller plant, a spine, a silent agent, a slowdown that no meter explains, announced work.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.lab.drills.instruments import Silence
from holdfast.lab.drills.score import Truth
from holdfast.lab.twin.plant.fault import Distractor, PlantFault
from holdfast.lab.twin.plant.layout import Layout

ALL_SIGNALS = "*"
KINDS = {
    "cooling.plant": (("room",), "degrees by which the supply of all units of the room is too warm", (1.0, 40.0), 12.0),
    "fabric.spine": (("spine",), "share of the bandwidth of all links of the spine that is lost", (0.1, 0.98), 0.6),
    "job.slowdown": (("job",), "share by which all steps take longer, with no cause in any meter", (0.05, 5.0), 0.2),
}
"""Kind: type of its subject, meaning of its magnitude, bounds, typical value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compound:
    """Faults and truth of a compound cause; `truth` is None for announced work."""

    truth: Truth | None
    faults: tuple[PlantFault, ...] = ()
    distractors: tuple[Distractor, ...] = ()
    silences: tuple[Silence, ...] = ()


def compound(fault: PlantFault, layout: Layout) -> Compound:
    """Faults of one of KINDS, or of a sensor fault that affects all signals of its subject."""
    truth = Truth(cause=fault.subject, kind=fault.kind, start=fault.start, end=fault.end)
    if fault.signal == ALL_SIGNALS:
        return Compound(truth=truth, silences=(Silence(subject=fault.subject, start=fault.start, end=fault.end),))
    made = _MADE[fault.kind](fault, layout)
    if len(made.faults) == 1:  # in a room with one unit, the plant is that unit
        truth = replace(truth, cause=made.faults[0].subject, kind=made.faults[0].kind)
    return replace(made, truth=truth)


def announced(fault: PlantFault, layout: Layout) -> Compound:
    """The same faults, announced as planned work and therefore without a truth."""
    if fault.kind in KINDS or fault.signal == ALL_SIGNALS:
        return replace(compound(fault, layout), truth=None)
    return Compound(truth=None, faults=(fault,))


def _plant(fault: PlantFault, layout: Layout) -> Compound:
    room = layout.rooms.index(fault.subject)
    units = [unit for number, unit in enumerate(layout.cdus) if layout.room_of_cdu[number] == room]
    return Compound(truth=None, faults=tuple(replace(fault, kind="cooling.supply_warm", subject=one) for one in units))


def _spine(fault: PlantFault, layout: Layout) -> Compound:
    name = fault.subject.partition("/")[2]
    links = [link for link in layout.links if link.endswith(f"-{name}")]
    return Compound(truth=None, faults=tuple(replace(fault, kind="fabric.uplink", subject=link) for link in links))


def _slowdown(fault: PlantFault, layout: Layout) -> Compound:
    seconds = min(fault.end, 1e9) - fault.start
    return Compound(
        truth=None,
        distractors=(
            Distractor(
                kind="slow_steps", subject=fault.subject, start=fault.start, seconds=seconds, magnitude=fault.magnitude
            ),
        ),
    )


_MADE: dict[str, Callable[[PlantFault, Layout], Compound]] = {
    "cooling.plant": _plant, "fabric.spine": _spine, "job.slowdown": _slowdown,
}  # fmt: skip
