"""First visible time of a fault: when the plant differs from its fault-free copy by more than noise."""

from dataclasses import replace

import numpy as np

from holdfast.lab.twin.plant.fault import PlantFault
from holdfast.lab.twin.plant.measure import sigma
from holdfast.lab.twin.plant.plant import Plant
from holdfast.model.panel import Panel

CLEARLY = 4.0  # in standard deviations of the sensor's noise
STUCK_SECONDS = 300.0  # equal readings of a sensor whose values usually change
FEW = 2  # failures or checkpoints needed for a rate


def without(plant: Plant, fault: PlantFault) -> Plant:
    """The same plant with the same random numbers, without this fault."""
    if fault.kind == "schedule.slow_recovery":
        left = tuple(replace(one, magnitude=1.0) if one is fault else one for one in plant.faults)
    else:
        left = tuple(one for one in plant.faults if one is not fault)
    return replace(plant, faults=left, runs=[])


def first_visible(fault: PlantFault, seen: Panel, calm: Panel) -> float | None:
    """Seconds from the start of the drill; None if the fault cannot be seen."""
    special = {
        "sensor.stuck": _stuck,
        "schedule.cadence_long": _failures,
        "software.rollout": _failures,
        "schedule.cadence_short": _checkpoints,
        "schedule.slow_recovery": _overdue,
        "schedule.degraded_kept": _beyond_replacing,
    }.get(fault.kind)
    found = special(fault, seen, calm) if special else _differs(fault, seen, calm)
    return found if found is not None and found <= seen.now else None


def _differs(fault: PlantFault, seen: Panel, calm: Panel) -> float | None:
    first = len(seen.times)
    for signal, table in seen.tables.items():
        here, there = table.values.astype(float), calm.of(signal).values.astype(float)
        odd = np.abs(here - there) > CLEARLY * sigma(signal, np.nan_to_num(there)) + 1e-9
        if fault.kind.startswith("sensor."):
            odd |= np.isnan(here) != np.isnan(there)
        columns = np.flatnonzero(odd.any(axis=0))
        if len(columns):
            first = min(first, int(columns[0]))
    happened = [at for at, _, _ in _happened(seen) - _happened(calm)]
    when = [float(seen.times[first])] if first < len(seen.times) else []
    return min([*when, *happened], default=None)


def _happened(panel: Panel) -> set[tuple[float, str, str]]:
    return {(event.at, event.kind, event.subject) for event in panel.events}


def _stuck(fault: PlantFault, seen: Panel, calm: Panel) -> float:
    return fault.start + STUCK_SECONDS


def _failures(fault: PlantFault, seen: Panel, calm: Panel) -> float | None:
    """When enough failures have happened for a rate."""
    kind = "xid" if fault.kind == "software.rollout" else "job_failed"
    mine = [one for one in seen.events_of(kind) if one.at >= fault.start]
    at = [one.at for one in mine if kind == "xid" or one.subject == fault.subject]
    return at[FEW - 1] if len(at) >= FEW else None


def _checkpoints(fault: PlantFault, seen: Panel, calm: Panel) -> float | None:
    interval = seen.row("job_checkpoint_interval_seconds", fault.subject)
    took = seen.row("job_checkpoint_seconds", fault.subject)
    if interval is None or took is None:
        return None
    return fault.start + FEW * float(interval[-1] + np.nan_to_num(took[-1]))


def _overdue(fault: PlantFault, seen: Panel, calm: Panel) -> float | None:
    usual = seen.row("job_restart_seconds", fault.subject)
    return None if usual is None else fault.start + 2 * float(usual[-1])


def _beyond_replacing(fault: PlantFault, seen: Panel, calm: Panel) -> float | None:
    """When the cost of the slow node exceeds that of a restart without it."""
    lost = np.nan_to_num(calm.of("job_throughput_ratio").values - seen.of("job_throughput_ratio").values)
    worst = lost[int(lost.sum(axis=1).argmax())] if len(lost) else np.zeros(1)
    usual = seen.of("job_restart_seconds").values
    beyond = np.flatnonzero(np.cumsum(worst) * seen.step > (float(usual[0, -1]) if len(usual) else 0.0))
    return float(seen.times[beyond[0]]) if len(beyond) else None
