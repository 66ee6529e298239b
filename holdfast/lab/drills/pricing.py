"""Prices a drill with the code that prices live incidents: the losses of its jobs and pools."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.economics.costs.finding import bill
from holdfast.lab.drills.drill import Drill
from holdfast.lab.twin.plant.measure import Floats
from holdfast.model.account import Bill, Loss
from holdfast.model.panel import Panel

HOUR = 3600.0
RECENT_SECONDS = 600.0  # window for the current loss rate
REPAIR_SECONDS = 15 * 60.0  # from finding the right cause to the end of the repair
WRONG_GUESS_SECONDS = 45 * 60.0  # until an operator gives up a wrong guess
LEAST_GPU_HOURS = 1e-3


@dataclass(frozen=True, slots=True)
class Loser:
    """A job or pool, and its cumulative lost GPU-hours per column, compared with the plant without faults."""

    subject: str
    gpus: int
    lost: Floats

    def until(self, moment: float, panel: Panel) -> float:
        """GPU-hours lost until a moment; after the drill's end, the rate of its last minutes continues."""
        if moment <= panel.now:
            return float(np.interp(moment, panel.times, self.lost))
        return float(self.lost[-1]) + self.per_hour(panel) * (moment - panel.now) / HOUR

    def per_hour(self, panel: Panel) -> float:
        columns = min(len(self.lost) - 1, max(1, int(RECENT_SECONDS / panel.step)))
        return max(0.0, float(self.lost[-1] - self.lost[-1 - columns])) * HOUR / (columns * panel.step)


def losers(drill: Drill, panel: Panel, healthy: Panel) -> tuple[Loser, ...]:
    per_node, found = drill.layout.fleet.gpus_per_node, []
    for spec in drill.layout.jobs:
        gpus, subject = len(spec.nodes) * per_node, f"job/{spec.name}"
        slowed = _difference(healthy, panel, "job_throughput_ratio", subject)
        repeated = _repeated(panel, subject) - _repeated(healthy, subject)
        found.append(Loser(subject, gpus, gpus * _growing(slowed + repeated)))
    serving = drill.layout.serving
    for path, (name, nodes) in zip(serving.paths, serving.targets, strict=True) if serving else ():
        gpus = len(nodes) * per_node
        stalled = _difference(panel, healthy, "pool_stall_ratio", path)
        found.append(Loser(f"pool/{name}", gpus, gpus * _growing(stalled)))
    return tuple(one for one in found if one.lost[-1] > LEAST_GPU_HOURS * one.gpus)


def _difference(larger: Panel, smaller: Panel, signal: str, subject: str) -> Floats:
    """Hours lost in each column."""
    one, other = larger.row(signal, subject), smaller.row(signal, subject)
    if one is None or other is None:
        return np.zeros(len(larger.times))
    return np.asarray((np.nan_to_num(one) - np.nan_to_num(other)) * larger.step / HOUR)


def _repeated(panel: Panel, subject: str) -> Floats:
    """Hours of work that restarts repeat, counted in the column of the restart."""
    hours = np.zeros(len(panel.times))
    for event in panel.events_of("job_restarted"):
        if event.subject == subject:
            column = min(len(hours) - 1, int(np.searchsorted(panel.times, event.at)))
            hours[column] += float(event.detail.get("lost_seconds", 0.0)) / HOUR
    return hours


def _growing(hours: Floats) -> Floats:
    return np.asarray(np.maximum.accumulate(np.maximum(0.0, np.cumsum(hours))))


def price(drill: Drill, lost: Sequence[Loser], panel: Panel, until: float, *, wrong_guess: bool = False) -> Bill:
    """The bill of a live incident that lasts from the first fault to `until`.

    A wrong guess adds a restart of the jobs and the hours of the operators who followed it.
    """
    began = drill.began
    hours = max(panel.step, until - began) / HOUR
    restart = max((spec.restart_seconds for spec in drill.layout.jobs), default=0.0) / HOUR if wrong_guess else 0.0
    losses = [
        Loss(
            subject=one.subject,
            gpus=one.gpus,
            share_so_far=(one.until(until, panel) / one.gpus + restart) / hours,
            share_now=one.per_hour(panel) / one.gpus,
            day_value=drill.day_value,
            float_days=drill.float_days,
        )
        for one in lost
    ]
    extra = WRONG_GUESS_SECONDS / HOUR if wrong_guess else 0.0
    return bill(losses, replace(drill.prices, people_hours=drill.prices.people_hours + extra), hours)


def cost_document(drill: Drill, lost: Sequence[Loser], panel: Panel) -> dict[str, Any]:
    if not lost:
        return {"total": 0.0, "lost_gpu_hours": 0.0, "delay_hours": 0.0, "layers": [], "by": []}
    priced = price(drill, lost, panel, panel.now)
    return {
        "total": round(priced.total_so_far, 2),
        "lost_gpu_hours": round(priced.gpu_hours, 2),
        "delay_hours": round(priced.finish_shift_hours, 3),
        "layers": [
            {"name": one.name, "cost": None if one.so_far is None else round(one.so_far, 2), "formula": one.formula,
             "inputs": one.inputs}
            for one in priced.layers
        ],
        "by": [
            {"name": one.subject, "gpus": one.gpus, "lost_hours": round(float(one.lost[-1]) / one.gpus, 3)}
            for one in lost
        ],
    }  # fmt: skip


def outcomes(
    drill: Drill, lost: Sequence[Loser], panel: Panel, guessed_at: float, right: bool, found_at: float | None
) -> list[tuple[str, float, Bill]]:
    """Name, repair time and bill of three outcomes: the player's guess, Holdfast's finding, and a day without
    repair."""

    def outcome(name: str, repaired: float, wrong: bool = False) -> tuple[str, float, Bill]:
        return name, repaired, price(drill, lost, panel, repaired, wrong_guess=wrong)

    made = [outcome("your guess", guessed_at + REPAIR_SECONDS + (0.0 if right else WRONG_GUESS_SECONDS), not right)]
    if found_at is not None:
        made.append(outcome("Holdfast", found_at + REPAIR_SECONDS))
    return [*made, outcome("no repair for a day", 24 * HOUR)]
