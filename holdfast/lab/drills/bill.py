"""What a guess would have cost: the losses of the drill until it was mended, and beyond its end at their last pace."""

from dataclasses import dataclass

import numpy as np

from holdfast.economics.costs.incident import Incident, layers, total
from holdfast.lab.drills.drill import Prices
from holdfast.lab.drills.score import first_seen
from holdfast.lab.drills.stage import Staged
from holdfast.lab.twin.plant.measure import Floats
from holdfast.model.account import Layer

MEND = 15 * 60.0  # from the right cause to its end
WRONG_TRAIL = 45 * 60.0  # until a wrong guess is given up
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Bill:
    name: str
    mended: float
    gpu_hours: float
    layers: tuple[Layer, ...]

    @property
    def total(self) -> float:
        return total(self.layers)


def bills(staged: Staged, guessed_at: float, right: bool) -> list[Bill]:
    found = first_seen(staged.judged)
    at = [found[truth.named][0] for truth in staged.truths if truth.named in found]
    made = [_bill(staged, "your guess", guessed_at + MEND + (0.0 if right else WRONG_TRAIL), not right)]
    if len(at) == len(staged.truths):
        made.append(_bill(staged, "Holdfast", max(at) + MEND, False))
    made.append(_bill(staged, "nobody looks for a day", 24 * HOUR, False))
    return made


def _bill(staged: Staged, name: str, mended: float, wrong: bool) -> Bill:
    """A wrong guess costs the people on the wrong trail, and the restart of the job without the node they blamed."""
    prices = staged.drill.prices
    gpus = max(1, sum(loss.gpus for loss in staged.losses))
    lost = lost_until(staged, mended)
    restart = max((spec.restart_seconds for spec in staged.drill.layout.jobs), default=0.0) / HOUR if wrong else 0.0
    reckoned = Incident(
        gpus=gpus,
        price=prices.price_per_gpu_hour,
        restore_hours=restart,
        slow_share=1.0,
        slow_hours=lost / gpus,
        people=prices.people,
        people_hours=_people_hours(prices, wrong),
        wage=prices.wage,
        day_value=prices.day_value,
        float_days=prices.float_days,
    )
    return Bill(name, mended, reckoned.lost_gpu_hours, layers(reckoned))


def _people_hours(prices: Prices, wrong: bool) -> float:
    return prices.people_hours + (WRONG_TRAIL / HOUR if wrong else 0.0)


def lost_until(staged: Staged, moment: float) -> float:
    """GPU-hours; beyond the drill at the pace of its last ten minutes."""
    curve, times = lost_curve(staged), staged.panel.times
    if moment <= staged.panel.now:
        return float(np.interp(moment, times, curve))
    few = max(1, int(600 / staged.panel.step))
    pace = max(0.0, float(curve[-1] - curve[-1 - few])) / (few * staged.panel.step)
    return float(curve[-1]) + pace * (moment - staged.panel.now)


def lost_curve(staged: Staged) -> Floats:
    """GPU-hours lost so far, column by column, against the same drill without its faults."""
    lost = np.zeros(len(staged.panel.times))
    per = staged.drill.layout.fleet.gpus_per_node
    step = staged.panel.step / HOUR
    for spec in staged.drill.layout.jobs:
        subject = f"job/{spec.name}"
        seen, calm = (panel.row("job_throughput_ratio", subject) for panel in (staged.panel, staged.calm))
        if seen is not None and calm is not None:
            lost += (np.nan_to_num(calm) - np.nan_to_num(seen)) * len(spec.nodes) * per * step
    serving = staged.drill.layout.serving
    for number, path in enumerate(serving.paths if serving else ()):
        seen, calm = (panel.row("pool_stall_ratio", path) for panel in (staged.panel, staged.calm))
        if serving is not None and seen is not None and calm is not None:
            lost += (np.nan_to_num(seen) - np.nan_to_num(calm)) * len(serving.targets[number][1]) * per * step
    rolled_back = np.zeros(len(lost))
    for panel, sign in ((staged.panel, 1.0), (staged.calm, -1.0)):
        for event in panel.events_of("job_restarted"):
            gpus = next(len(one.nodes) * per for one in staged.drill.layout.jobs if f"job/{one.name}" == event.subject)
            place = min(len(lost) - 1, int(np.searchsorted(staged.panel.times, event.at)))
            rolled_back[place] += sign * gpus * float(event.detail.get("lost_seconds", 0.0)) / HOUR
    return np.maximum.accumulate(np.maximum(0.0, np.cumsum(lost + rolled_back)))
