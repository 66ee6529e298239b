"""Jobs without progress reports: compares the GPU clocks of their nodes from digests."""

from dataclasses import dataclass, field
from typing import Any

from holdfast.fleet.jobs.hardware import REASONS, Digest, throttled
from holdfast.fleet.jobs.views import CheckpointsView, SlowView, TrainingDetail, TrainingView
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.ledger import Ledger
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import gpu as gpu_subject
from holdfast.model.verdict import Verdict
from holdfast.node import checks

CHECK = checks.BY_NAME["job.passive"]
READ = ("gpu_clock_sm_hertz", "gpu_utilization_ratio")
GOOD_FOR_SECONDS = 200.0  # a digest arrives every minute
FORGET_SECONDS = 900.0
MOST_JOBS = 2_000


@dataclass(slots=True)
class PassiveJob:
    name: str
    history: History
    nodes: dict[str, float] = field(default_factory=dict)  # arrival of its last digest
    gpus: dict[str, int] = field(default_factory=dict)
    unevaluated: int = 0
    verdict: Verdict = field(default_factory=lambda: Verdict(rows=()))

    @property
    def last_report_at(self) -> float:
        return max(self.nodes.values(), default=0.0)


class PassiveJobs:
    """Used on the writer's thread."""

    def __init__(self) -> None:
        self._jobs: dict[str, PassiveJob] = {}

    def take(self, name: str, node: str, digest: Digest, now: float) -> None:
        job = self._jobs.get(name)
        if job is None:
            self._forget(now)
            if len(self._jobs) >= MOST_JOBS:
                return
            job = self._jobs[name] = PassiveJob(name, History(name))
            job.history.expect_freshness("digest", GOOD_FOR_SECONDS)
        indexes = {index for index, _ in digest}
        job.nodes[node], job.gpus[node] = now, len(indexes)
        signals = [
            Signal(gpu_subject(node, index), signal, value)
            for (index, signal), value in digest.items()
            if signal in READ
        ]
        for index in sorted(indexes):
            words = throttled(digest.get((index, REASONS)))
            signals.append(Signal(gpu_subject(node, index), "job_rank_hardware", words))
        job.history.add(Reading(source="digest", at=now, signals=signals))
        job.unevaluated += 1
        if job.unevaluated >= len(job.nodes):  # every node sent a new one, so each digest is evaluated once
            job.unevaluated, job.verdict = 0, CHECK(job.history.window(now, CHECK.span))

    def list(self, now: float) -> list[TrainingView]:
        self._forget(now)
        return [TrainingView(**_common(job, now)) for job in self._jobs.values()]

    def show(self, name: str, now: float) -> TrainingDetail | None:
        job = self._jobs.get(name)
        if job is None:
            return None
        verdict = job.verdict
        slow = [row for row in verdict.rows if row.health is Health.DEGRADED]
        return TrainingDetail(
            **_common(job, now),
            began=None,
            elapsed_seconds=0.0,
            usual_step_seconds=None,
            ettr=None,
            checkpoint_efficiency=None,
            cluster_days=0.0,
            gpu_hours=Ledger().parts(),
            exposure=None,
            checkpoints=CheckpointsView(
                unknown="its ranks do not use holdfast.training: its checkpoints are not known"
            ),
            slow=tuple(
                SlowView(
                    subject=row.subject,
                    check=verdict.check,
                    ratio=float(row.value or 0.0),
                    since=None,
                    reason=row.reason,
                )
                for row in slow
            ),
            verdicts=(verdict.as_json(),),
            trouble="its ranks do not report progress: only the clocks of its GPUs are compared",
            unreceived_steps=0,
        )

    def _forget(self, now: float) -> None:
        for name in [name for name, job in self._jobs.items() if now - job.last_report_at > FORGET_SECONDS]:
            del self._jobs[name]


def _common(job: PassiveJob, now: float) -> dict[str, Any]:
    health = job.verdict.health
    return {
        "job": job.name,
        "owner": "",
        "reports_progress": False,
        "state": "running" if now - job.last_report_at <= GOOD_FOR_SECONDS else "silent",
        "health": health,
        "reason": "" if health is Health.PASS else job.verdict.summary(),
        "nodes": tuple(sorted(job.nodes)),
        "world": sum(job.gpus.values()),
        "ranks_reporting": 0,
        "attempt": 1,
        "last_report_at": job.last_report_at,
        "step": -1,
        "step_seconds": None,
        "tokens_per_second": None,
        "loss": None,
        "gradient_norm": None,
        "goodput": None,
        "exposure_gpu_hours": None,
    }
