"""Stops of jobs: what a controller knows from reported steps alone, and who says that a job is still there."""

from dataclasses import replace

import pytest

from holdfast.fleet.incidents.stops import JobStops, StopWatch
from holdfast.model.job import Job, JobState
from holdfast.model.wire.progress import RankWindow

JOB, PAUSE = "job/llama", 300.0


def window(
    at: float, step: int, *, rank: int = 0, session: str = "a", began: float = 0.0, **more: object
) -> RankWindow:
    """Ten seconds, five steps of two seconds."""
    known: dict[str, object] = {"steps": 5, "seconds": 10.0}
    return RankWindow(
        job="llama", owner="uid-1", rank=rank, world=8, session=session, began=began, at=at, step=step,
        **{**known, **more},  # type: ignore[arg-type]
    )  # fmt: skip


def working(until: float = 1000.0) -> StopWatch:
    watch = StopWatch()
    for number in range(1, int(until) // 10 + 1):
        watch.take_window(JOB, "n1", window(10.0 * number, 5 * number))
    return watch


def slurm(job_id: str = "4711", start: float = 0.0, nodes: tuple[str, ...] = ("n1",)) -> Job:
    return Job(id=job_id, source="slurm", start=start, nodes=nodes, state=JobState.RUNNING)


def look(watch: StopWatch, now: float, *running: Job, alive: bool = False, heard: float | None = None) -> JobStops:
    places = {JOB: {"n1"}} if alive or heard is not None else {}
    return watch.look(now, running, {"n1": now if heard is None else heard}, places)[JOB]


def test_silence_within_a_pause_is_not_settled_and_no_stop() -> None:
    found = look(working(), 1000.0 + PAUSE, slurm())
    assert (found.since, found.spans, found.settled) == (None, (), 1000.0)
    found = look(working(), 1001.0 + PAUSE, slurm())
    assert (found.since, found.goes_on, found.spans) == (1000.0, True, ((1000.0, 1301.0),))
    assert found.settled == pytest.approx(1301.0 - 60.0 - 2.0), "a step may be on its way"


@pytest.mark.parametrize(
    ("why", "jobs", "alive", "heard", "since", "known"),
    [
        ("the scheduler has a job on its node since before", [slurm()], False, None, 1000.0, True),
        ("the scheduler knows it by its name", [slurm("llama", 0.0, ("n9",))], False, None, 1000.0, True),
        ("another job began on its node since", [slurm(start=1500.0)], False, None, None, False),
        ("its ranks live, by the word of their agent", [], True, None, 1000.0, True),
        ("its agent has been silent for a while", [], False, 1500.0, 1000.0, False),
        ("nobody speaks of it", [], False, None, None, False),
    ],
)
def test_a_job_stands_still_as_long_as_it_is_there(
    why: str, jobs: list[Job], alive: bool, heard: float | None, since: float | None, known: bool
) -> None:
    found = look(working(), 2000.0, *jobs, alive=alive, heard=heard)
    assert (found.since, found.known) == (since, known), why
    if heard is not None:
        assert found.spans == ((1000.0, heard),), "no longer than is known"


def test_a_hang_that_ends_by_itself_is_a_stop_up_to_its_first_usual_step() -> None:
    watch = working()
    watch.take_window(JOB, "n1", window(22_600.0, 505, seconds=21_600.0))
    found = look(watch, 22_610.0, slurm())
    assert found.spans == ((1000.0, 22_600.0 - 5 * 2.0),)
    assert (found.since, found.goes_on, found.redone) == (1000.0, False, ())


def test_a_checkpoint_that_is_reported_is_no_stop() -> None:
    watch = working()
    watch.take_window(JOB, "n1", window(1410.0, 505, seconds=410.0, checkpoint_seconds=400.0))
    assert look(watch, 1420.0, slurm()).spans == ()


@pytest.mark.parametrize("down", [30.0, 720.0])
def test_a_restart_is_a_stop_however_short_with_the_steps_that_are_made_again(down: float) -> None:
    watch = working()
    watch.take_window(JOB, "n1", window(1000.0, 500, steps=0, seconds=0.0, ended="gone"))
    first = window(1000.0 + down + 10.0, 305, session="b", began=1000.0 + down)
    watch.take_window(JOB, "n1", first)
    found = look(watch, first.at + 1, slurm())
    assert found.spans == ((1000.0, 1000.0 + down),)
    assert found.redone == ((1000.0 + down, 200 * 2.0 / 3600),)
    assert found.since == 1000.0, "with 400 s of work lost it cost more than a pause"
    watch.take_window(JOB, "n1", replace(first, at=first.at + 300, step=450, steps=145, seconds=300.0))
    assert look(watch, first.at + PAUSE + 1, slurm()).since is None


def test_steps_that_are_made_a_third_time_count_by_how_far_the_second_came() -> None:
    watch = working()
    for session, began, steps in (("b", 1100.0, 305), ("c", 1200.0, 303)):
        watch.take_window(JOB, "n1", window(began + 10, steps, session=session, began=began))
    assert [round(hours * 3600 / 2) for _, hours in look(watch, 1220.0, slurm()).redone] == [200, 7]


def test_a_job_that_closed_and_runs_again_did_not_stop() -> None:
    watch = working()
    watch.take_window(JOB, "n1", window(1000.0, 500, steps=0, seconds=0.0, ended="closed"))
    watch.take_window(JOB, "n1", window(1400.0, 5, session="b", began=1390.0))
    found = look(watch, 1400.0, slurm())
    assert (found.spans, found.redone, found.since) == ((), (), None)


def test_a_night_between_two_runs_is_no_stop() -> None:
    watch = working()
    watch.take_window(JOB, "n1", window(1000.0, 500, steps=0, seconds=0.0, ended="gone"))
    found = look(watch, 2000.0)
    assert (found.since, found.settled, found.ended) == (None, 1000.0, True), "it may be on its way back"
    assert look(watch, 2801.0).settled == 2801.0
    watch.take_window(JOB, "n1", window(37_000.0, 505, session="b", began=36_990.0))
    assert look(watch, 37_000.0).spans == ()


def test_one_rank_speaks_until_it_is_silent() -> None:
    watch = working()
    watch.take_window(JOB, "n2", window(1015.0, 499, rank=3, session="z"))
    assert look(watch, 1020.0).settled == 1000.0
    watch.take_window(JOB, "n2", window(1060.0, 530, rank=3, session="z"))
    assert look(watch, 1070.0).settled == 1060.0


def test_slow_reporters_and_long_steps_have_longer_pauses() -> None:
    watch = StopWatch()
    for number in range(5):
        watch.take_signal(JOB, 600.0 * number, 2.0, 600.0)
    assert look(watch, 2400.0 + 1800.0).since is None
    assert look(watch, 2401.0 + 1800.0).goes_on
    long = StopWatch()
    for number in range(5):
        long.take_signal(JOB, 200.0 * number, 200.0, 10.0)
    assert look(long, 800.0 + 600.0).since is None
    assert look(long, 801.0 + 600.0).goes_on


def test_what_only_signals_report_is_there_but_nobody_says_so() -> None:
    watch = StopWatch()
    for number in range(100):
        watch.take_signal(JOB, 10.0 * number, 2.0, 10.0)
    found = look(watch, 2000.0)
    assert (found.since, found.known, found.spans) == (990.0, False, ((990.0, 2000.0),))
    assert look(watch, 2000.0, slurm("other", 0.0, ("n9",))).since is None, "the scheduler lists others, not this one"
    watch.take_signal(JOB, 2000.0, 2.0, 10.0)
    assert look(watch, 2000.0).spans == ((990.0, 1990.0),)


def test_a_stop_goes_on_after_a_restart_of_the_controller_until_its_end_is_reported() -> None:
    watch = StopWatch()
    watch.restore(JOB, 1000.0, 500, 2.0)
    found = look(watch, 9000.0, slurm("other", 0.0, ("n9",)))
    assert (found.since, found.known, found.step, found.usual) == (1000.0, True, 500, 2.0)
    watch.take_window(JOB, "n1", window(8000.0, 500, steps=0, seconds=0.0, ended="gone"))
    assert look(watch, 9000.0).since is None
    back = StopWatch()
    back.restore(JOB, 1000.0, 500, 2.0)
    back.take_window(JOB, "n1", window(9010.0, 405, session="b", began=9000.0))
    found = look(back, 9011.0, replace(slurm(), start=0.0))
    assert (found.spans, found.redone) == (((1000.0, 9000.0),), ((9000.0, 100 * 2.0 / 3600),))


def test_a_simulated_fleet_lives_faster() -> None:
    watch = StopWatch(lambda at: 60.0 * at, 60.0)
    watch.take_window(JOB, "n1", window(10.0, 5, seconds=10.0))
    found = watch.look(1200.0, [slurm()], {}, {})[JOB]
    assert (found.since, found.usual) == (600.0, 120.0)
