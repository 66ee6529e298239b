"""What a drill's faults cost: the same plant with and without them, priced in five layers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.economics.costs.incident import Incident, layers, total
from holdfast.lab.drills.drill import Drill, Prices
from holdfast.lab.twin.plant.plant import Plant
from holdfast.model.panel import Panel, Values

HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What one job or pool lost against the plant without faults, in hours."""

    name: str
    gpus: int
    down_hours: float
    rework_hours: float
    slow_hours: float  # lost to a slower pace, as if it had stood still for so long

    @property
    def hours(self) -> float:
        return self.down_hours + self.rework_hours + self.slow_hours


def losses(drill: Drill, hurt: Plant, well: Plant, panel: Panel, calm: Panel) -> tuple[Loss, ...]:
    found = []
    for ours, theirs in zip(hurt.runs, well.runs, strict=True):
        down = _down(panel, ours.subject) - _down(calm, ours.subject)
        rework = _rework(panel, ours.subject) - _rework(calm, ours.subject)
        lost = max(0.0, theirs.progress - ours.progress) / HOUR
        down, rework = max(0.0, min(down, lost)), max(0.0, min(rework, lost))
        rework = min(rework, lost - down)
        found.append(
            Loss(name=ours.subject, gpus=len(ours.gpus), down_hours=down, rework_hours=rework,
                 slow_hours=lost - down - rework)
        )  # fmt: skip
    serving = drill.layout.serving
    if serving is not None:
        per = drill.layout.fleet.gpus_per_node
        for path, (name, nodes) in zip(serving.paths, serving.targets, strict=True):
            stalled = _hours(panel, "pool_stall_ratio", path) - _hours(calm, "pool_stall_ratio", path)
            slow = max(0.0, stalled)
            found.append(
                Loss(name=f"pool/{name}", gpus=len(nodes) * per, down_hours=0, rework_hours=0, slow_hours=slow)
            )
    return tuple(one for one in found if one.hours > 1e-3)


def incident(prices: Prices, lost: tuple[Loss, ...]) -> Incident:
    """One incident over all who lost, weighed by their GPUs."""
    gpus = sum(one.gpus for one in lost)

    def mean(name: str) -> float:
        return float(sum(one.gpus * getattr(one, name) for one in lost)) / gpus

    return Incident(
        gpus=gpus,
        price=prices.price_per_gpu_hour,
        restore_hours=mean("down_hours"),
        rework_hours=mean("rework_hours"),
        slow_share=1.0,
        slow_hours=mean("slow_hours"),
        people=prices.people,
        people_hours=prices.people_hours,
        wage=prices.wage,
        day_value=prices.day_value,
        float_days=prices.float_days,
    )


def cost_document(prices: Prices, lost: tuple[Loss, ...]) -> dict[str, Any]:
    if not lost:
        return {"total": 0.0, "lost_gpu_hours": 0.0, "delay_hours": 0.0, "layers": [], "by": []}
    reckoned = incident(prices, lost)
    parts = layers(reckoned)
    return {
        "total": round(total(parts), 2),
        "lost_gpu_hours": round(reckoned.lost_gpu_hours, 2),
        "delay_hours": round(max(one.hours for one in lost), 3),
        "layers": [
            {"name": one.name, "cost": None if one.cost is None else round(one.cost, 2), "formula": one.formula,
             "inputs": one.inputs}
            for one in parts
        ],
        "by": [{"name": one.name, "gpus": one.gpus, "lost_hours": round(one.hours, 3)} for one in lost],
    }  # fmt: skip


def _down(panel: Panel, subject: str) -> float:
    row = panel.row("job_throughput_ratio", subject)
    return 0.0 if row is None else float((row < 0.01).sum()) * panel.step / HOUR


def _rework(panel: Panel, subject: str) -> float:
    return sum(
        float(event.detail.get("lost_seconds", 0.0))
        for event in panel.events_of("job_restarted")
        if event.subject == subject
    ) / HOUR  # fmt: skip


def _hours(panel: Panel, signal: str, subject: str) -> float:
    row: Values | None = panel.row(signal, subject)
    return 0.0 if row is None else float(np.nansum(row)) * panel.step / HOUR
