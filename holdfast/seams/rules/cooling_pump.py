"""Does a pump oscillate or cavitate? Its speed, pressure or flow swings to both sides of what is usual."""

from collections.abc import Iterator

import numpy as np

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Symptom
from holdfast.model.panel import Values
from holdfast.model.subject import Subject
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLING, COOLS
from holdfast.seams.moved import baseline_columns, cadence, median, resolution
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

SIGNALS = ("cdu_flow_litres_per_minute", "cdu_pump_speed_ratio", "cdu_differential_pressure_pascals")
SPAN_SECONDS = 300.0
REVERSALS_SECONDS = 600.0
LEAST_REVERSALS = (
    3  # from one side to the other; a load that rises and falls turns once or twice, a hunting pump more often
)
LEAST_COLUMNS = 2  # on either side
STEPS = 1.5  # times the meter's resolution; less may be rounding
ONE_METER = 0.0  # maximum score of one meter: a hunting pump shows in its speed and in flow or pressure
LEAST_SWING = 0.05  # share of the usual value


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    found: dict[Subject, list[Symptom]] = {}
    for signal in SIGNALS:
        for swing in swings(scene, signal):
            found.setdefault(swing.subject, []).append(swing)
    for cdu, signs in found.items():
        one = CauseCandidate(
            cause=cdu,
            kind="cooling.pump_oscillation",
            signs=signs,
            reach=scene.reach(cdu, COOLS),
            explains=COOLING,
            proven=len(signs) > 1,
        )
        if len(signs) < 2:
            one.most = ONE_METER
        for sign in signs:
            one.supported_by(2.5, f"{cdu} {sign.signal} swings between {sign.before:.4g} and {sign.now:.4g}")
        yield one


def swings(scene: Scene, signal: str) -> Iterator[Symptom]:
    """Rows that left their usual range on both sides within some minutes.

    `before` and `now` are the low and the high.
    """
    table, times = scene.panel.of(signal), scene.panel.times
    first = baseline_columns(times)
    center = scene.moves(signal).center[:, None]
    noise = 1.4826 * median(np.abs(table.values[:, :first] - center))[:, None]
    edge = np.maximum(np.maximum(5 * noise, LEAST_SWING * np.abs(center)), signals()[signal].least_absolute / 2)
    edge = np.maximum(edge, STEPS * resolution(table.values)[:, None])
    every = cadence(table)
    columns = max(4 * LEAST_COLUMNS * every, round(SPAN_SECONDS / scene.panel.step))
    late = table.values[:, max(first, len(times) - columns) :]
    above, below = late > center + edge, late < center - edge
    least = LEAST_COLUMNS * every  # one outlier that is held for several columns is one reading
    swinging = (above.sum(axis=1) >= least) & (below.sum(axis=1) >= least)
    turning = max(columns, round(REVERSALS_SECONDS / scene.panel.step))
    outside = np.abs(table.values - center) > edge
    for row in np.flatnonzero(swinging):
        subject = table.subjects[row]
        if (signal, subject) not in scene.distrusted and _reversals(table.values[row], center[row], edge[row], turning):
            begin = first + int(np.argmax(outside[row, first:]))
            yield Symptom(
                subject, signal, float(times[begin]), float(np.nanmin(late[row])), float(np.nanmax(late[row]))
            )


def _reversals(values: Values, center: Values, edge: Values, columns: int) -> bool:
    late = values[-columns:] - center
    sides = np.sign(late[np.abs(late) > edge])
    return int((sides[1:] != sides[:-1]).sum()) >= LEAST_REVERSALS


SEAM = Seam(
    name="cooling.pump",
    asks="Does a pump oscillate or cavitate, so that flow and GPU temperatures swing with it?",
    kinds=("cooling.pump_oscillation",),
    reads=(*SIGNALS, "gpu_temperature_celsius"),
    domains=("cooling", "accelerators"),
    explain=explain,
)
