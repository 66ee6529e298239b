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
    """Causes that are made of several faults or of none, and announced ones."""
    silences: tuple[Silence, ...] = ()
    """Gaps of everything that a subject reports; no faults."""
    instruments: tuple[Instrument, ...] = ()
    planned: tuple[PlannedWork, ...] = ()
    prices: Prices = field(default_factory=Prices)
    day_value: float | None = None
    """Of the schedule, in dollars; None: schedule slip has no price."""
    float_days: float = 0.0

    @property
    def began(self) -> float:
        """When the first fault begins, announced ones with them; 0 where there is none."""
        starts = [fault.start for fault in self.faults]
        for one in self.compounds:
            starts += [fault.start for fault in one.faults]
            starts += [each.start for each in one.distractors]
            starts += [each.start for each in one.silences]
        return min(starts, default=0.0)

    def listed(self) -> dict[str, Any]:
        """For a list of drills, as JSON."""
        return {
            "name": self.name, "title": self.title, "about": self.about, "pair": self.pair,
            "kinds": [fault.kind for fault in self.faults], "nodes": self.layout.fleet.nodes,
            "lasts_seconds": self.lasts,
        }  # fmt: skip
