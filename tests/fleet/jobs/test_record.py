"""A training's attempts: a late word of an old one begins nothing, and a death remembers whose nodes it had."""

from holdfast.fleet.jobs.record import JobRecord
from holdfast.model.wire.progress import RankWindow


def window(session: str, rank: int, began: float, at: float, step: int = 10, ended: str = "") -> RankWindow:
    steps, seconds = (0, 0.0) if ended else (10, 10.0)
    return RankWindow(
        job="j", owner="uid-1", rank=rank, world=2, session=session, began=began, at=at, step=step, steps=steps,
        seconds=seconds, own_seconds=1.0, ended=ended,
    )  # fmt: skip


def restarted_elsewhere() -> JobRecord:
    record = JobRecord("j", "uid-1")
    for rank, node in enumerate(("n1", "n2")):
        record.take(node, window("first", rank, 0.0, 20.0), 20.0)
    for rank, node in enumerate(("n2", "n3")):
        record.take(node, window("second", rank, 40.0, 60.0), 60.0)
    return record


def test_an_end_that_is_reported_when_the_next_attempt_runs_already_starts_nothing() -> None:
    record = restarted_elsewhere()
    record.take("n1", window("first", 0, 0.0, 61.0, ended="gone"), 61.0)
    assert (record.attempt, record.ended) == (1, "")
    assert [rank.node for rank in record.current] == ["n2", "n3"]


def test_the_end_of_the_attempt_that_runs_is_received() -> None:
    record = restarted_elsewhere()
    for rank, node in enumerate(("n2", "n3")):
        record.take(node, window("second", rank, 40.0, 70.0, ended="gone"), 70.0)
    assert record.ended == "gone"


def test_an_ordinary_restart_is_not_two_jobs_with_one_name() -> None:
    """The new attempt says that it began when the job did, and comes while the old one was just heard."""
    record = JobRecord("j", "uid-1")
    for rank, node in enumerate(("n1", "n2")):
        record.take(node, window("first", rank, 0.0, 100.0), 100.0)
    for at in (110.0, 120.0, 135.0):
        for rank, node in enumerate(("n2", "n3")):
            record.take(node, window("second", rank, 0.0, at), at)
    assert (record.attempt, record.trouble) == (1, "")
    assert [rank.node for rank in record.current] == ["n2", "n3"]


def test_two_jobs_with_one_name_are_reported_of() -> None:
    record = JobRecord("j", "uid-1")
    for at in (100.0, 110.0, 120.0):
        record.take("n1", window("one", 0, 0.0, at), at)
        record.take("n9", window("other", 0, 0.0, at), at)
    assert record.trouble == "rank 0 is reported by n1 and by n9: two jobs with one name?"


def test_a_death_remembers_the_nodes_it_had_when_the_job_goes_on_without_one() -> None:
    [death] = restarted_elsewhere().accounts.restarts
    assert death.nodes == ("n1", "n2")
