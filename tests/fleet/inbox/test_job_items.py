"""Every death of a job is an item: open while it lasts, over when the job went on."""

from dataclasses import replace

from holdfast.economics.costs.finding import Prices
from holdfast.fleet.inbox.item import Severity, Sources
from holdfast.fleet.inbox.items import items
from holdfast.fleet.inbox.job_items import restarted
from holdfast.fleet.jobs.views import RestartView, TrainingView
from holdfast.model.health import Health
from holdfast.model.job import Job, JobState

NOW = 10_000.0


def training(**more: object) -> TrainingView:
    facts: dict[str, object] = {
        "job": "llama", "owner": "ada", "reports_progress": True, "state": "running", "health": Health.PASS,
        "reason": "", "nodes": ("n1", "n2"), "world": 16, "ranks_reporting": 16, "attempt": 3,
        "last_report_at": NOW - 5, "step": 500, "step_seconds": 1.0, "tokens_per_second": None, "loss": None,
        "gradient_norm": None, "goodput": None, "exposure_gpu_hours": 2.0,
    }  # fmt: skip
    return TrainingView(**(facts | more))  # type: ignore[arg-type]


def restart(at: float, down: float = 60.0, attempt: int = 2) -> RestartView:
    return RestartView(
        at=at, down_seconds=down, from_step=400, lost_steps=50, rework_seconds=50.0, gpu_hours=0.5, nodes=("n3",),
        attempt=attempt,
    )  # fmt: skip


def test_each_restart_is_a_death_that_is_over() -> None:
    job = training(restarts=(restart(8_000.0, attempt=1), restart(9_000.0)))
    sources = Sources(trainings=[job], prices=Prices(gpu_hour=2.0), now=NOW, time_factor=2.0)
    assert items(sources) == [], "it runs: nothing to do"
    second, first = restarted(sources)
    (new,) = restarted(Sources(trainings=[training(restarts=(replace(restart(8_000.0), from_step=-1),))], now=NOW))
    assert new.outcome.startswith("the job went on from the beginning; ")
    assert (first.key, second.key) == ("job/ada:llama#1", "job/ada:llama#2")
    assert (second.since, second.ended_at, second.lasted_seconds) == (8_970.0, 9_000.0, 60.0)
    assert second.title == "llama died at step 450" and second.members == ("n3",)
    assert second.outcome == "the job went on from step 400; 50 steps were made again"
    assert second.cost_so_far == 1.0 and second.severity is Severity.WARNING and second.remedy and second.runbook


def test_a_death_names_what_happened_to_its_nodes_and_then_no_runbook_for_an_unknown_cause() -> None:
    notes = ("n3: fabric.port_down fails", "n4: fabric.port_down fails")
    told = training(restarts=(replace(restart(9_000.0), notes=notes),))
    (over,) = restarted(Sources(trainings=[told], now=NOW))
    assert over.detail == "attempt 2 ended; 16 ranks; shortly before: n3: fabric.port_down fails and 1 more"
    assert over.runbook == ""
    (unknown,) = restarted(Sources(trainings=[training(restarts=(restart(9_000.0),))], now=NOW))
    assert (unknown.detail, unknown.runbook) == ("attempt 2 ended; 16 ranks", "job.unknown")


def test_a_death_has_one_key_while_it_lasts_and_afterwards() -> None:
    dead = training(state="gone", attempt=2)
    (open_,) = items(Sources(trainings=[dead], now=NOW))
    (over,) = restarted(Sources(trainings=[training(attempt=3, restarts=(restart(9_000.0),))], now=NOW))
    assert open_.key == over.key == "job/ada:llama#2"
    assert open_.severity is Severity.CRITICAL and open_.ended_at is None


def test_a_new_attempt_without_a_step_does_not_rename_the_death_before() -> None:
    """The attempt is known when its first rank starts, its restart when its first step is made. The death of the first
    attempt was stored again as that of the second, and the second was never shown."""
    died = restart(8_000.0, attempt=1)
    for attempt in (2, 3):
        (over,) = restarted(Sources(trainings=[training(attempt=attempt, restarts=(died,))], now=NOW))
        assert over.key == "job/ada:llama#1"


def test_a_job_of_the_scheduler_whose_training_runs_again_is_over() -> None:
    died = Job(id="llama.2", source="slurm", state=JobState.FAILED, end=9_500.0, nodes=("n1",))
    quiet = training(reports_progress=False)
    sources = Sources(trainings=[quiet], jobs=[died], now=NOW)
    assert items(sources) == []
    (over,) = restarted(sources)
    assert over.outcome == "the job runs again" and over.ended_at == 9_500.0
    gone = Sources(trainings=[training(state="gone")], jobs=[died], now=NOW)
    assert len(items(gone)) == 2 and restarted(gone) == []
    telling = Sources(trainings=[training()], jobs=[died], now=NOW)
    assert restarted(telling) == [], "its ranks report each death themselves: one death is one item"


def test_a_job_that_ended_well_is_no_death() -> None:
    ended = Job(id="llama.2", source="slurm", state=JobState.COMPLETED, end=9_500.0)
    assert restarted(Sources(trainings=[training()], jobs=[ended], now=NOW)) == []
    assert restarted(Sources(trainings=[replace(training(), restarts=())], now=NOW)) == []
