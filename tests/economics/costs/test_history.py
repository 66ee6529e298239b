"""What a fleet's transitions say of failures, service and repairs."""

import pytest

from holdfast.economics.costs.history import NodeStageChange, read
from holdfast.model.lifecycle import EventKind as H
from holdfast.model.lifecycle import Stage as S


def change(at: float, before: S, after: S, event: H, node: str = "n1") -> NodeStageChange:
    return NodeStageChange(node=node, at=at, before=before, after=after, event=event)


BORN = [
    change(0, S.PROVISIONING, S.TESTING, H.ENROLLED),
    change(10, S.TESTING, S.READY, H.TEST_PASSED),
]
FAILED = [
    *BORN,
    change(110, S.READY, S.DRAINING, H.FAILED),
    change(111, S.DRAINING, S.QUARANTINED, H.EMPTIED),
    change(120, S.QUARANTINED, S.RESETTING, H.NEXT_REPAIR),
    change(130, S.RESETTING, S.TESTING, H.RESET_DONE),
    change(140, S.TESTING, S.QUARANTINED, H.TEST_FAILED),  # the same failure, not another
    change(150, S.QUARANTINED, S.RESETTING, H.NEXT_REPAIR),
    change(160, S.RESETTING, S.TESTING, H.RESET_DONE),
    change(170, S.TESTING, S.READY, H.TEST_PASSED),
]


def test_one_failure_is_counted_once_with_its_repair() -> None:
    found = read(FAILED, now=270)
    assert (found.failures, found.service_seconds, found.repairs, found.still_out) == (1, 200, (60,), 0)
    assert found.mean_repair_seconds == 60


def test_a_node_that_is_still_out_counts_as_failed_and_not_as_repaired() -> None:
    found = read(FAILED[:4], now=1000)
    assert (found.failures, found.repairs, found.still_out, found.service_seconds) == (1, (), 1, 100)
    assert found.mean_repair_seconds is None


def test_an_operators_word_and_work_between_workloads_are_no_failures() -> None:
    result = [
        *BORN,
        change(20, S.READY, S.ALLOCATED, H.JOB_STARTED),
        change(50, S.ALLOCATED, S.CLEANING, H.JOB_ENDED),
        change(55, S.CLEANING, S.TESTING, H.CLEANED),
        change(60, S.TESTING, S.READY, H.TEST_PASSED),
        change(80, S.READY, S.DRAINING, H.QUARANTINE),
    ]
    found = read(result, now=100)
    assert (found.failures, found.service_seconds) == (0, 60)


def test_a_test_after_work_that_fails_is_a_failure() -> None:
    result = [*BORN, change(30, S.READY, S.TESTING, H.RETEST), change(40, S.TESTING, S.QUARANTINED, H.TEST_FAILED)]
    assert read(result, now=50).failures == 1


def test_nodes_are_apart_and_order_does_not_matter() -> None:
    other = [NodeStageChange(node="n2", at=c.at, before=c.before, after=c.after, event=c.event) for c in FAILED]
    both = read([*reversed(FAILED), *other], now=270)
    assert (both.failures, both.service_seconds) == (2, pytest.approx(400))
    assert read([], now=5).failures == 0


def test_a_new_node_that_never_passed_is_no_failure_of_the_fleet_but_a_failed_test_is() -> None:
    stillborn = [change(0, S.PROVISIONING, S.QUARANTINED, H.FAILED)]
    assert read(stillborn, now=50).failures == 0
    for stage in (S.READY, S.ALLOCATED, S.CLEANING, S.TESTING):
        assert read([change(0, stage, S.DRAINING, H.FAILED)], now=50).failures == 1
    assert read([change(0, S.RESETTING, S.QUARANTINED, H.TEST_FAILED)], now=50).failures == 0


def test_a_second_failure_after_the_repair_is_another() -> None:
    again = [*FAILED, change(270, S.READY, S.DRAINING, H.FAILED), change(300, S.TESTING, S.READY, H.TEST_PASSED)]
    found = read(again, now=310)
    assert (found.failures, found.repairs, found.mean_repair_seconds, found.still_out) == (2, (60, 30), 45, 0)
    assert found.service_seconds == 100 + 100 + 10


def test_nothing_is_service_after_now_and_a_clock_behind_takes_nothing_away() -> None:
    assert read(BORN, now=10).service_seconds == 0
    assert read(BORN, now=5).service_seconds == 0
    assert read(BORN, now=12).service_seconds == 2
