"""A drill: a plant, what goes wrong in it, and the prices of a live incident."""

from dataclasses import dataclass, field
from typing import Any

from holdfast.economics.costs.finding import Prices
from holdfast.lab.twin.plant.fault import Distractor, Fault
from holdfast.lab.twin.plant.layout import Layout


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
    faults: tuple[Fault, ...] = ()
    distractors: tuple[Distractor, ...] = ()
    prices: Prices = field(default_factory=Prices)
    day_value: float | None = None
    """Of the schedule, in dollars; None: schedule slip has no price."""
    float_days: float = 0.0

    def listed(self) -> dict[str, Any]:
        """For a list of drills, as JSON."""
        return {
            "name": self.name, "title": self.title, "about": self.about, "pair": self.pair,
            "kinds": [fault.kind for fault in self.faults], "nodes": self.layout.fleet.nodes,
            "lasts_seconds": self.lasts,
        }  # fmt: skip
