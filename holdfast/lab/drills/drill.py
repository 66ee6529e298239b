"""Drill: a plant, its faults, and the prices of live incidents."""

from dataclasses import dataclass, field
from typing import Any

from holdfast.economics.costs.finding import Prices
from holdfast.lab.drills.compound import Compound
from holdfast.lab.drills.instruments import Instrument, Silence
from holdfast.lab.twin.plant.fault import Distractor, PlantFault
from holdfast.lab.twin.plant.layout import Layout
from holdfast.seams.planned import PlannedWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    name: str
    title: str
    about: str = ""
    pair: str = ""
    lasts: float = 3600.0
    step: float = 10.0
    seed: int = 1
    layout: Layout
    faults: tuple[PlantFault, ...] = ()
    distractors: tuple[Distractor, ...] = ()
    compounds: tuple[Compound, ...] = ()
    """Causes that consist of several faults or of none, and announced ones."""
    silences: tuple[Silence, ...] = ()
    """Intervals in which a subject reports nothing; these are not faults."""
    instruments: tuple[Instrument, ...] = ()
    planned: tuple[PlannedWork, ...] = ()
    prices: Prices = field(default_factory=Prices)
    day_value: float | None = None
    """Price of a day of schedule slip, in dollars; None: schedule slip has no price."""
    float_days: float = 0.0

    @property
    def began(self) -> float:
        """Start of the first fault, announced ones included; 0 without faults."""
        starts = [fault.start for fault in self.faults]
        for one in self.compounds:
            starts += [fault.start for fault in one.faults]
            starts += [each.start for each in one.distractors]
            starts += [each.start for each in one.silences]
        return min(starts, default=0.0)

    def listed(self) -> dict[str, Any]:
        """The drill's entry in a list, as JSON."""
        return {
            "name": self.name, "title": self.title, "about": self.about, "pair": self.pair,
            "kinds": [fault.kind for fault in self.faults], "nodes": self.layout.fleet.nodes,
            "lasts_seconds": self.lasts,
        }  # fmt: skip
