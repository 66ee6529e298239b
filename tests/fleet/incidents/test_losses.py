"""By how much each victim is slowed, measured in the window; what nobody measures is not guessed."""

from datetime import UTC, datetime

import numpy as np
import pytest

from holdfast.fleet.incidents.business_context import BusinessContext, BusinessJob, Milestone
from holdfast.fleet.incidents.losses import losses
from holdfast.model.account import Loss
from holdfast.model.finding import Finding, Symptom
from holdfast.model.job import Job, JobState
from holdfast.model.panel import Panel, table
from holdfast.model.topology import Edge, Topology

NOW, SINCE, STEP = 6000.0, 3000.0, 10.0
TIMES = np.arange(0.0, NOW + STEP, STEP)
FINDING = Finding(
    cause="cdu/c2", kind="cooling.flow_low", confidence=0.9, since=SINCE, path=("cdu/c2 > node/n1 > job/llama",)
)


def changing(before: float, after: float, lately: float | None = None) -> np.ndarray:  # type: ignore[type-arg]
    """One value until the finding begins, another from there on, and another in the last two minutes."""
    row = np.where(TIMES < SINCE, before, after)
    row[TIMES > NOW - 120.0] = after if lately is None else lately
    return row


def lost(
    finding: Finding = FINDING,
    business_context: BusinessContext | None = None,
    topology: Topology | None = None,
    before: tuple[Loss, ...] = (),
    jobs: tuple[Job, ...] = (),
    **rows: dict[str, object],
) -> tuple[Loss, ...]:
    panel = Panel(TIMES, {name: table(row) for name, row in rows.items()}, jobs=jobs)  # type: ignore[arg-type]
    return losses(finding, panel, topology or Topology(), business_context or BusinessContext(), before)


def one(**more: object) -> Loss:
    (only,) = lost(**more)  # type: ignore[arg-type]
    return only


def test_now_is_the_last_two_minutes() -> None:
    row = np.where(TIMES > NOW - 60.0, 0.6, np.where(TIMES > NOW - 120.0, 0.8, 1.0))
    assert one(job_throughput_ratio={"job/llama": row}).share_now == pytest.approx(0.3), "half of them 0.6, half 0.8"


def test_a_throughput_is_lost_by_what_is_missing_of_it() -> None:
    found = one(job_throughput_ratio={"job/llama": changing(1.0, 0.9, 0.6)})
    assert found.subject == "job/llama"
    assert found.share_now == pytest.approx(0.4)
    during = int((TIMES >= SINCE).sum())
    recent = int((TIMES > NOW - 120).sum())
    assert found.share_so_far == pytest.approx((0.1 * (during - recent) + 0.4 * recent) / during, rel=1e-5)


def test_a_throughput_above_all_is_no_gain_and_below_nothing_no_more_than_all() -> None:
    assert one(job_throughput_ratio={"job/llama": changing(1.0, 1.5)}).share_now == 0.0
    assert one(job_throughput_ratio={"job/llama": changing(1.0, -0.5)}).share_now == 1.0


def test_a_stall_is_lost_as_it_is() -> None:
    path = Finding(cause="path/a-b", kind="x", confidence=0.9, since=SINCE)
    for stall, share in ((0.3, 0.3), (0.8, 0.8), (1.5, 1.0), (-0.1, 0.0)):
        found = one(finding=path, pool_stall_ratio={"path/a-b": changing(0.0, stall)})
        assert found.share_now == pytest.approx(share)


def test_a_stall_of_which_nothing_is_known_before_is_lost_as_a_whole() -> None:
    path = Finding(cause="path/a-b", kind="x", confidence=0.9, since=SINCE)
    found = one(finding=path, pool_stall_ratio={"path/a-b": np.where(TIMES < SINCE, np.nan, 0.3)})
    assert found.share_now == pytest.approx(0.3)


@pytest.mark.parametrize("signal", ["job_step_seconds", "request_latency_seconds", "pool_transfer_seconds"])
def test_what_takes_longer_is_lost_by_how_much_longer(signal: str) -> None:
    found = one(**{signal: {"job/llama": changing(2.0, 2.5)}})
    assert (found.share_now, found.share_so_far) == (pytest.approx(0.2), pytest.approx(0.2))
    assert one(**{signal: {"job/llama": changing(0.5, 0.4)}}).share_now == 0.0
    assert one(**{signal: {"job/llama": changing(0.5, 5.0)}}).share_now == pytest.approx(0.9)


def test_the_usual_is_the_half_hour_before_it_began() -> None:
    row = changing(2.0, 2.5)
    row[TIMES < SINCE - 1800.0] = 50.0
    assert one(job_step_seconds={"job/llama": row}).share_now == pytest.approx(0.2)
    gaps = changing(2.0, 2.5)
    gaps[::2] = np.nan
    assert one(job_step_seconds={"job/llama": gaps}).share_now == pytest.approx(0.2)


def test_throughput_is_asked_before_a_stall_and_both_before_times() -> None:
    rows = {
        "job_throughput_ratio": {"job/llama": changing(1.0, 0.9)},
        "pool_stall_ratio": {"job/llama": changing(0.0, 0.5)},
        "job_step_seconds": {"job/llama": changing(1.0, 10.0)},
    }
    assert one(**rows).share_now == pytest.approx(0.1)
    del rows["job_throughput_ratio"]
    assert one(**rows).share_now == pytest.approx(0.5)


@pytest.mark.parametrize(
    "row",
    [
        np.where(TIMES < SINCE, np.nan, 2.5),  # nobody knows what was usual
        np.where(TIMES < SINCE, 0.0, 2.5),
    ],
)
def test_without_anything_usual_nothing_is_measured(row: object) -> None:
    found = one(job_step_seconds={"job/llama": row})
    assert (found.share_so_far, found.share_now) == (None, None)


def test_what_is_silent_now_is_as_it_was_reported_last() -> None:
    row = changing(1.0, 0.8)
    row[TIMES > NOW - 200] = np.nan
    before = Loss(subject="job/llama", gpus=8.0, share_so_far=0.5, share_now=0.5)
    assert one(job_throughput_ratio={"job/llama": row}, before=(before,)) == before
    assert one(job_throughput_ratio={"job/llama": row}).share_now is None
    seen = one(job_throughput_ratio={"job/llama": changing(1.0, 0.8)}, before=(before,))
    assert seen.share_now == pytest.approx(0.2)


def test_a_subject_that_it_reached_before_is_still_asked_about() -> None:
    gone = Loss(subject="job/other", gpus=8.0, share_so_far=0.5, share_now=0.5)
    assert [found.subject for found in lost(before=(gone,))] == ["job/llama", "job/other"]


def test_jobs_and_paths_are_hurt_as_wholes_and_nodes_are_not_among_them() -> None:
    symptom = Symptom("job/vit/rank/3", "job_step_seconds", SINCE, 1.0, 2.0)
    finding = Finding(
        cause="path/a-b/hop/1",
        kind="x",
        confidence=0.9,
        since=SINCE,
        symptoms=(symptom,),
        path=("x > job/llama/rank/1",),
    )
    assert [found.subject for found in lost(finding)] == ["job/llama", "job/vit", "path/a-b"]
    assert lost(Finding(cause="cdu/c2", kind="x", confidence=0.9, since=SINCE)) == ()


HEAT = {f"node/n{n}/gpu/{g}": np.full(len(TIMES), 50.0) for n in (1, 2, 3) for g in (0, 1)}
RUNS_ON = Topology(
    (
        Edge("runs_on", "node/n1", "job/llama"),
        Edge("runs_on", "node/n2", "pool/a"),
        Edge("cools", "node/n3", "job/llama"),
    )
)


def scheduled(number: str, gpus: int) -> Job:
    return Job(id=number, source="slurm", gpus=gpus, start=0.0, end=None, state=JobState.RUNNING)


def test_how_many_gpus_a_victim_holds() -> None:
    assert one(topology=RUNS_ON, gpu_temperature_celsius=HEAT).gpus == 2.0
    path = Finding(cause="path/a-b", kind="x", confidence=0.9, since=SINCE)
    assert one(finding=path, topology=RUNS_ON, gpu_temperature_celsius=HEAT).gpus == 2.0
    assert one(jobs=(scheduled("vit", 4), scheduled("llama", 16))).gpus == 16.0
    assert one(jobs=(scheduled("llama", 0),)).gpus is None
    assert one().gpus is None
    result = BusinessContext(jobs={"job/llama": BusinessJob(name="llama", gpus=99.0)})
    assert one(business_context=result, topology=RUNS_ON, gpu_temperature_celsius=HEAT).gpus == 99.0
    partly = BusinessContext(jobs={"job/llama": BusinessJob(name="llama", tokens_per_second=7.0)})
    found = one(business_context=partly, topology=RUNS_ON, gpu_temperature_celsius=HEAT)
    assert (found.gpus, found.tokens_per_second) == (2.0, 7.0)


def test_a_milestone_says_what_a_day_is_worth() -> None:
    due = Milestone(
        name="v1", due=datetime(2026, 1, 1, tzinfo=UTC), float_days=2.0, value_per_day=5e4, critical_chance=0.5
    )
    result = BusinessContext(jobs={"job/llama": BusinessJob(name="llama", milestone="v1")}, milestones={"v1": due})
    found = one(business_context=result)
    assert (found.milestone, found.day_value, found.float_days, found.critical_chance) == ("v1", 5e4, 2.0, 0.5)
    bare = one()
    assert (bare.milestone, bare.day_value, bare.float_days, bare.critical_chance) == ("", None, 0.0, 1.0)


def test_the_schedulers_name_of_a_job_that_reports_under_another() -> None:
    on_n1 = Job(id="4711", source="slurm", shown_as="4711_2", nodes=("n1",), state=JobState.RUNNING)
    elsewhere = Job(id="12", source="slurm", nodes=("n9",), state=JobState.RUNNING)
    assert one(topology=RUNS_ON, jobs=(elsewhere, on_n1)).scheduled_as == "4711_2"
    assert one(topology=RUNS_ON, jobs=(elsewhere,)).scheduled_as == ""
    own = Job(id="llama", source="slurm", nodes=("n1",), state=JobState.RUNNING)
    assert one(topology=RUNS_ON, jobs=(on_n1, own)).scheduled_as == "", "it reports under its own id"


def test_a_path_has_no_name_with_the_scheduler() -> None:
    path = Finding(cause="path/a-b", kind="x", confidence=0.9, since=SINCE)
    on_n1 = Job(id="4711", source="slurm", nodes=("n1",), state=JobState.RUNNING)
    runs = Topology((Edge("runs_on", "node/n1", "path/a-b"),))
    assert one(finding=path, topology=runs, jobs=(on_n1,)).scheduled_as == ""


@pytest.mark.parametrize(("ago", "known"), [(1800.0, True), (1810.0, False)])
def test_what_was_measured_within_half_an_hour_before_is_usual(ago: float, known: bool) -> None:
    row = changing(np.nan, 2.5)
    row[SINCE - ago == TIMES] = 2.0
    assert one(job_step_seconds={"job/llama": row}).share_now == (pytest.approx(0.2) if known else None)


@pytest.mark.parametrize(("before", "usual"), [(None, 2.0), (1.5, 1.5)])
def test_what_was_usual_at_the_beginning_stays_so_where_it_was_known(before: float | None, usual: float) -> None:
    known = Loss(subject="job/llama", gpus=8.0, share_so_far=0.1, share_now=0.1, usual=before)
    assert one(before=(known,), job_step_seconds={"job/llama": changing(2.0, 2.5)}).usual == pytest.approx(usual)
