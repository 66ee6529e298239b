"""Jobs of a simulated fleet that lives faster than the clock: durations and rates are those of its own time."""

from dataclasses import fields, replace
from typing import Any

from holdfast.fleet.jobs.views import CheckpointsView, ExposureView, RankView, RestartView, TrainingDetail
from holdfast.fleet.jobs.views_in_fleet_time import in_fleet_time
from holdfast.model.health import Health

DETAIL = TrainingDetail(
    job="gemma", owner="", reports_progress=True, state="running", health=Health.PASS, reason="", nodes=("n1",),
    world=8,
    ranks_reporting=8, attempt=1, last_report_at=100.0, step=5, step_seconds=0.3, tokens_per_second=2e6, loss=3.0,
    gradient_norm=1.0, goodput=0.9, exposure_gpu_hours=0.5, began=10.0, elapsed_seconds=90.0, usual_step_seconds=0.2,
    ettr=0.9, checkpoint_efficiency=0.9, cluster_days=0.001, gpu_hours={"productive": 2.0, "restart": 0.0},
    exposure=ExposureView(saved_step=1, steps=4, seconds=1.2, gpu_hours=0.5, tokens=7.0), checkpoints=CheckpointsView(),
    restarts=(RestartView(at=50.0, down_seconds=3.0, from_step=1, lost_steps=2, rework_seconds=0.6, gpu_hours=0.1),),
    slow=(), verdicts=(), trouble="", unreceived_steps=0,
    ranks=(
        RankView(rank=0, node="n1", gpu=0, step=0.3, compute=0.2, data=0.1, wait=None, checkpoint=0.0, saved_step=1),
    ),
)  # fmt: skip
TIMES = {"seconds", "hours", "days", "step", "compute", "data", "wait", "checkpoint"}  # how such fields end


def _numbers(view: Any, path: str = "") -> dict[str, float]:
    found: dict[str, float] = {}
    for one in fields(view):
        value, name = getattr(view, one.name), f"{path}.{one.name}"
        for number, part in enumerate(value if isinstance(value, tuple) else (value,)):
            if hasattr(part, "__dataclass_fields__"):
                found |= _numbers(part, f"{name}.{number}")
            elif isinstance(part, float):
                found[name] = part
            elif isinstance(part, dict):
                found |= {f"{name}.{key}": hours for key, hours in part.items()}
    return found


def test_a_fleet_by_the_clock_is_reported_as_it_is() -> None:
    assert in_fleet_time(DETAIL, 1.0) is DETAIL


def test_durations_and_hours_grow_rates_fall_and_moments_and_shares_stay() -> None:
    before, after = _numbers(DETAIL), _numbers(in_fleet_time(DETAIL, 20.0))
    changed = {name: round(after[name] / before[name], 6) for name in before if after[name] != before[name]}
    assert changed.pop(".tokens_per_second") == 1 / 20
    assert set(changed.values()) == {20.0}
    lasting = {name for name, value in before.items() if value and _ending(name) in TIMES and "per_" not in name}
    assert set(changed) == lasting


def _ending(name: str) -> str:
    last = [part for part in name.split(".") if not part.isdigit()]
    return "hours" if ".gpu_hours." in name else last[-1].rpartition("_")[2]


def test_what_is_not_known_stays_so() -> None:
    blank = replace(DETAIL, step_seconds=None, tokens_per_second=None, exposure=None, usual_step_seconds=None)
    result = in_fleet_time(blank, 20.0)
    assert (result.step_seconds, result.tokens_per_second, result.exposure, result.usual_step_seconds) == (None,) * 4
