"""An incident as a seam finds it and a training as its ranks tell it, in the API's own words."""

import time
from typing import Any

import msgspec

from holdfast.fleet.jobs.views import (
    CheckpointsView,
    ExposureView,
    PlacesView,
    RankView,
    RestartView,
    SlowView,
    TrainingDetail,
)
from holdfast.model.account import Account, Bill, Chart, Layer, Moment
from holdfast.model.finding import Rival
from holdfast.model.health import Health


def account() -> dict[str, Any]:
    now = time.time()
    layers = tuple(
        Layer(name=name, so_far=so_far, if_it_goes_on=later, formula="GPU-hours x price", inputs="2.5 USD an hour")
        for name, so_far, later in (
            ("direct compute", 102.5, 2_460.0),
            ("reserved capacity", 12.0, 288.0),
            ("rollback", 0.0, 0.0),
            ("labour", 90.0, 180.0),
            ("schedule slip", None, None),
        )
    )
    bill = Bill(layers=layers, gpu_hours=41.0, gpu_hours_per_hour=41.0, unpriced=("schedule slip: no value per day",))
    flow = tuple(200.0 - max(0, at - 20) * 4 for at in range(40))
    heat = tuple(None if at == 5 else 61.0 + max(0, at - 24) for at in range(40))
    return msgspec.to_builtins(  # type: ignore[no-any-return]
        Account(
            kind="cooling.flow_low",
            confidence=0.93,
            since=now - 200,
            lasted_seconds=200,
            sentence="cdu/c2 is costing job llama 41 GPU-hours an hour",
            path=("cdu/c2 > rack/r1 > node/n001 > job/llama",),
            evidence=("cdu/c2 flow fell from 200 to 120 l/min", "<script>alert(1)</script>"),
            rivals=(Rival(cause="node/n001", kind="cooling.fan", why="its neighbours warm as well"),),
            owners=("facilities", "ml"),
            on_call={"facilities": "Ada"},
            runbook="cooling.flow_low",
            bill=bill,
            timeline=(Moment(at=now - 200, domain="cooling", text="flow began to fall"),),
            charts=(
                Chart(subject="cdu/c2", signal="cdu_flow_litres_per_minute", start=now - 400, step=10, values=flow),
                Chart(
                    subject="node/n001/gpu/0", signal="gpu_temperature_celsius", start=now - 400, step=10, values=heat
                ),
            ),
        )
    )


def training() -> dict[str, Any]:
    now = time.time()
    return msgspec.to_builtins(  # type: ignore[no-any-return]
        TrainingDetail(
            job="llama",
            owner="ml",
            reports_progress=True,
            state="running",
            health=Health.DEGRADED,
            reason="job llama is 11 % slow; rank 37 = node n012 GPU 5, thermal throttle",
            nodes=("n012", "n013"),
            world=16,
            ranks_reporting=16,
            attempt=2,
            last_report_at=now,
            step=8_140,
            step_seconds=2.22,
            tokens_per_second=1.9e6,
            loss=2.31,
            gradient_norm=0.4,
            goodput=0.82,
            exposure_gpu_hours=1.25,
            began=now - 7200,
            elapsed_seconds=7200.0,
            usual_step_seconds=2.0,
            ettr=0.9,
            checkpoint_efficiency=0.98,
            cluster_days=0.07,
            gpu_hours={"productive": 24.0, "degraded": 4.0, "checkpoint": 1.0, "rework": 2.0, "restart": 1.0},
            exposure=ExposureView(saved_step=8_000, steps=140, seconds=281.0, gpu_hours=1.25, tokens=5.3e8),
            checkpoints=CheckpointsView(
                kept_as="llama",
                world=16,
                replicas=2,
                keepers=2,
                committed_step=8_000,
                stored_step=7_000,
                unsaved_step=8_000,
                used_bytes=96 << 30,
                budget_bytes=256 << 30,
                steps=(
                    PlacesView(step=8_140, own_memory=16, partner=3, storage=0, committed=False),
                    PlacesView(step=8_000, own_memory=16, partner=16, storage=0, committed=True),
                    PlacesView(step=7_000, own_memory=0, partner=0, storage=16, committed=False),
                ),
                troubles=("n013: partner n012: step 8140 of rank 9 is not there: it is full",),
            ),
            restarts=(
                RestartView(
                    at=now - 3600,
                    down_seconds=95,
                    from_step=5_000,
                    lost_steps=31,
                    rework_seconds=62,
                    gpu_hours=0.7,
                    notes=("n012: failed in service: gpu 5: Xid 79",),
                ),
            ),
            slow=(
                SlowView(
                    subject="job/llama/rank/37", check="job.slow_rank", ratio=0.11, since=now - 600, reason="throttled"
                ),
            ),
            verdicts=(),
            trouble="",
            unreceived_steps=0,
            ranks=tuple(
                RankView(
                    rank=rank,
                    node=f"n0{12 + rank // 8}",
                    gpu=rank % 8,
                    step=2.2,
                    compute=1.9 if rank == 5 else 1.7,
                    data=0.05,
                    wait=0.25 if rank == 5 else 0.45,
                    checkpoint=0.0,
                    saved_step=8_000,
                )
                for rank in range(16)
            ),
        )
    )
