"""Converts views of jobs to the fleet's own time: a simulated fleet runs `factor` times as fast as the clock."""

from dataclasses import replace
from typing import TypeVar, cast

from holdfast.fleet.jobs.views import TrainingDetail, TrainingView

View = TypeVar("View", bound=TrainingView)


def in_fleet_time(view: View, factor: float) -> View:
    """The same job with durations, hours and rates in fleet time. Moments and shares stay."""
    if factor == 1.0:
        return view
    shown = replace(
        view,
        step_seconds=_times(view.step_seconds, factor),
        tokens_per_second=_times(view.tokens_per_second, 1 / factor),
        exposure_gpu_hours=_times(view.exposure_gpu_hours, factor),
        restarts=tuple(
            replace(
                one,
                down_seconds=one.down_seconds * factor,
                rework_seconds=one.rework_seconds * factor,
                gpu_hours=one.gpu_hours * factor,
            )
            for one in view.restarts
        ),
    )
    return cast(View, _detail(shown, factor)) if isinstance(shown, TrainingDetail) else shown


def _detail(view: TrainingDetail, factor: float) -> TrainingDetail:
    lost = view.exposure
    return replace(
        view,
        elapsed_seconds=view.elapsed_seconds * factor,
        usual_step_seconds=_times(view.usual_step_seconds, factor),
        cluster_days=view.cluster_days * factor,
        gpu_hours={name: hours * factor for name, hours in view.gpu_hours.items()},
        exposure=lost and replace(lost, seconds=lost.seconds * factor, gpu_hours=lost.gpu_hours * factor),
        ranks=tuple(
            replace(
                one,
                step=one.step * factor,
                compute=_times(one.compute, factor),
                data=one.data * factor,
                wait=_times(one.wait, factor),
                checkpoint=one.checkpoint * factor,
            )
            for one in view.ranks
        ),
    )


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
