"""A drill: a plant, what goes wrong in it and what it is priced with."""

from dataclasses import dataclass, field

from holdfast.lab.twin.plant.fault import Distractor, Fault
from holdfast.lab.twin.plant.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What the drill's cost is reckoned with; economics of a fleet that nobody told of."""

    price_per_gpu_hour: float = 2.35
    people: float = 4.0
    people_hours: float = 3.0
    wage: float = 140.0
    day_value: float | None = None
    float_days: float = 0.0


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
