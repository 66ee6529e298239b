"""What the writer takes first: failures and commands before heartbeats and first reports, none of them for ever."""

from holdfast.fleet.controller.transaction import ReportWork
from holdfast.fleet.controller.work_queue import (
    MOST_CHANGES_BESIDE_URGENT,
    MOST_CHANGES_IN_BATCH,
    MOST_IN_BATCH,
    WorkQueue,
)
from holdfast.model.wire.report import Report, VerdictChange


def reported(after: str = "pass", checks: int = 44) -> ReportWork:
    changes = tuple(VerdictChange(at=1.0, check=f"check.{one}", before="", after=after) for one in range(checks))
    report = Report(node="n1", session="s", seq=1, at=1.0, changes=changes, heartbeat=True)
    return ReportWork(lambda transaction, fresh: None, [report])


def command() -> ReportWork:
    return ReportWork(lambda transaction, fresh: None)


def filled(*works: ReportWork) -> WorkQueue:
    waiting = WorkQueue()
    for work in works:
        waiting.put(work)
    return waiting


def test_a_batch_is_bounded_by_its_verdicts() -> None:
    batch = filled(*(reported() for _ in range(1_000))).batch()
    assert MOST_CHANGES_IN_BATCH <= 44 * len(batch) < MOST_CHANGES_IN_BATCH + 44


def test_failures_and_commands_go_before_what_came_earlier() -> None:
    beats = [reported(checks=0) for _ in range(3)]
    failure, asked = reported("fail", checks=1), command()
    assert filled(*beats, failure, asked).batch() == [failure, asked, *beats]


def test_a_degraded_check_and_a_pass_wait_their_turn() -> None:
    works = [reported("degraded", checks=1), reported("pass", checks=1), reported("unknown", checks=1)]
    assert filled(*works).batch() == works


def test_beside_a_failure_a_batch_is_short_and_the_rest_comes_next() -> None:
    first = [reported() for _ in range(100)]
    failure = reported("fail", checks=1)
    waiting = filled(*first, failure)
    batch = waiting.batch()
    assert batch[0] is failure
    assert MOST_CHANGES_BESIDE_URGENT <= 44 * (len(batch) - 1) < MOST_CHANGES_BESIDE_URGENT + 44
    assert len(waiting) == 101 - len(batch)
    assert waiting.batch()[0] is first[len(batch) - 1]


def test_a_storm_of_failures_leaves_room_for_reports() -> None:
    beat = reported(checks=0)
    waiting = filled(beat, *(reported("fail", checks=1) for _ in range(3 * MOST_IN_BATCH)))
    batch = waiting.batch()
    assert batch[-1] is beat
    assert len(batch) == MOST_IN_BATCH + 1


def test_who_waits_for_work_learns_whether_some_came() -> None:
    waiting = filled(command())
    assert waiting.wait(0.0)
    assert waiting.wait(0.0), "it is still there"
    assert len(waiting) == 1
    waiting.batch()
    assert not waiting.wait(0.0)
