"""What speaks against a candidate: its time, an outage that ended in time, storage that came back."""

from dataclasses import replace

import pytest

from holdfast.catalog import nccl
from holdfast.diagnosis.rules.weighing import weigh
from holdfast.model.evidence import Evidence
from tests.diagnosis.telling import NOON, candidate, kernel, reported, wait, watchdog

FIRED = watchdog(0, at=NOON, ran_ms="600000")
SINCE = NOON - 600.0
SKEW = 120.0


def factor(cause: str, own: list[Evidence], *others: Evidence, waiting: bool = False, **more: object) -> float:
    one = candidate(cause, *own, **more)
    weigh([one], [*own, *others], wait(*others) if waiting else None)
    return one.factor


@pytest.mark.parametrize(("late", "left"), [(SKEW, 1.0), (SKEW + 1, 0.3)])
def test_what_is_reported_after_the_watchdog_fired_is_no_cause_of_the_wait(late: float, left: float) -> None:
    own = reported("exception", "strong", "job.exception", at=NOON + late, rank=1)
    assert factor("job.exception", [own], FIRED, waiting=True) == left


SAID = watchdog(0, at=0.0, line=50)


@pytest.mark.parametrize(
    ("why", "own", "left"),
    [
        ("above the watchdog's message", reported("cuda", "weak", rank=0, line=49), 1.0),
        ("below it, of the rank that gave up", reported("cuda", "weak", rank=0, line=51), 0.3),
        ("below it, of another rank", reported("cuda", "weak", rank=1, line=51), 0.5),
        ("in another file", reported("cuda", "weak", rank=1, line=51, file="b.log"), 1.0),
        ("the watchdog's own word", reported("watchdog", "strong", rank=0, line=51), 1.0),
    ],
)
def test_where_no_time_is_reported_the_order_of_lines_counts(why: str, own: Evidence, left: float) -> None:
    assert factor("job.illegal_access", [own], SAID, waiting=True) == left, why


def test_the_first_word_of_the_watchdog_counts_and_all_of_the_evidence() -> None:
    again = watchdog(1, at=0.0, line=80)
    below, above = reported("cuda", "weak", rank=3, line=60), reported("cuda", "weak", rank=3, line=10)
    assert factor("job.illegal_access", [below], again, SAID, waiting=True) == 0.5
    assert factor("job.illegal_access", [above, below], again, SAID, waiting=True) == 1.0


def test_what_comes_from_comparing_watchdogs_does_not_come_after_them() -> None:
    own = watchdog(2, at=NOON + 900.0, line=70)
    assert factor("job.rank_missing", [own], FIRED, waiting=True, base=0.7) == 1.0
    assert factor("job.rank_missing", [own], FIRED, waiting=True) == 0.3


FAILED = reported("exception", "effect", at=NOON, rank=1)


@pytest.mark.parametrize(
    ("why", "at", "left"),
    [
        ("long before", NOON - 901.0, 0.25),
        ("a quarter of an hour before", NOON - 900.0, 1.0),
        ("clocks differ", NOON + SKEW, 1.0),
        ("after the job had failed", NOON + SKEW + 1, 0.3),
    ],
)
def test_what_a_kernel_reports_must_fit_the_end_of_the_job(why: str, at: float, left: float) -> None:
    assert factor("gpu.gsp", [kernel("xid", "gpu.gsp", at)], FAILED) == left, why


@pytest.mark.parametrize(("at", "left"), [(SINCE - 900.0, 1.0), (SINCE - 901.0, 0.25), (NOON + SKEW + 1, 0.3 * 0.3)])
def test_where_ranks_waited_the_wait_is_the_trouble(at: float, left: float) -> None:
    assert factor("gpu.gsp", [kernel("xid", "gpu.gsp", at)], FIRED, waiting=True) == pytest.approx(left)


@pytest.mark.parametrize(("at", "left"), [(NOON - 2700.0, 1.0), (NOON - 2701.0, 0.25)])
def test_a_scheduler_may_report_half_an_hour_late_that_a_job_failed(at: float, left: float) -> None:
    ended = reported("job", "exit", at=NOON, exit="1")
    assert factor("gpu.gsp", [kernel("xid", "gpu.gsp", at)], ended) == left


def test_what_went_on_until_the_end_is_not_long_before_it() -> None:
    old, young = kernel("xid", "gpu.gsp", NOON - 5000.0), kernel("xid", "gpu.gsp", NOON - 10.0)
    assert factor("gpu.gsp", [old, young], FAILED) == 1.0
    assert factor("gpu.gsp", [old], FAILED) == 0.25
    lasting = kernel("xid", "gpu.gsp", NOON - 5000.0, last_at=NOON - 10.0)
    assert factor("gpu.gsp", [lasting], FAILED) == 1.0


def test_what_the_job_itself_says_is_not_weighed_by_its_end() -> None:
    own = reported("cuda", "weak", at=NOON - 5000.0, rank=3)
    assert factor("job.illegal_access", [own], FAILED) == 1.0
    both = [kernel("xid", "gpu.gsp", NOON - 5000.0), own]
    assert factor("gpu.gsp", both, FAILED) == 1.0


def test_notes_and_hints_are_no_end_and_kernels_no_job() -> None:
    for other in (
        reported("steps", "note", at=NOON),
        reported("save", "hint", at=NOON),
        kernel("xid", "gpu.gsp", NOON),
    ):
        assert factor("gpu.gsp", [kernel("xid", "gpu.gsp", NOON - 5000.0)], other) == 1.0


def _port(code: str, at: float, device: str = "mlx5_0", host: str = "n1") -> Evidence:
    return reported("link", "strong", "fabric.port_down", at=at, host=host, code=code, device=device, file="k.log")


def _since_start(code: str, seconds: float) -> Evidence:
    one = _port(code, 0.0)
    return replace(one, event=replace(one.event, detail={"since_boot_seconds": seconds}))


LIMIT = nccl.transport_timeout("").seconds
DOWN = _port("down", NOON)
UP = _port("up", NOON + LIMIT - 1)


@pytest.mark.parametrize(
    ("why", "own", "others", "left"),
    [
        ("back in time", [DOWN], [UP], 0.1),
        ("back too late", [DOWN], [_port("up", NOON + LIMIT + 1)], 1.0),
        ("never back", [DOWN], [], 1.0),
        ("another port is back", [DOWN], [_port("up", NOON + 1, "mlx5_1")], 1.0),
        ("the same port of another host is back", [DOWN], [_port("up", NOON + 1, host="n2")], 1.0),
        ("it was up before", [DOWN], [_port("up", NOON - 1)], 1.0),
        ("the first return counts", [DOWN], [UP, _port("up", NOON + 900)], 0.1),
        ("the longest of two outages counts", [DOWN, _port("down", NOON + 60)], [UP, _port("up", NOON + 500)], 1.0),
        ("two short ones", [DOWN, _port("down", NOON + 60)], [UP, _port("up", NOON + 61)], 0.1),
        ("a completion says that it ended the job", [DOWN], [UP, reported("nccl.completion", status="12")], 1.0),
        ("flushed ones say nothing", [DOWN], [UP, reported("nccl.completion", status="5")], 0.1),
        ("something else speaks for it", [DOWN, reported("mlx5", "weak", at=NOON)], [UP], 1.0),
        ("a patient version", [DOWN], [_port("up", NOON + LIMIT + 1), reported("nccl.about", version="2.27.3")], 0.1),
        ("no time is reported", [_port("down", 0.0)], [UP], 1.0),
        ("a process lost a peer meanwhile", [DOWN], [UP, reported("closed", "effect")], 0.25),
        ("an exception came meanwhile", [DOWN], [UP, reported("exception", "hint")], 0.25),
        ("only its host's own clock is known", [_since_start("down", 9.0)], [_since_start("up", 11.0)], 0.1),
        ("by that clock it stayed away", [_since_start("down", 9.0)], [_since_start("up", 10.0 + LIMIT)], 1.0),
    ],
)
def test_a_port_that_was_back_before_the_transport_gave_up(
    why: str, own: list[Evidence], others: list[Evidence], left: float
) -> None:
    assert factor("fabric.port_down", own, *others) == left, why


def test_only_ports_are_forgiven_a_short_outage() -> None:
    assert factor("fabric.hca", [DOWN], UP) == 1.0


def _storage(code: str, at: float) -> Evidence:
    return reported("storage", "strong", "storage.stall", at=at, host="n1", code=code, file="k.log")


GONE = _storage("not_responding", SINCE - 400)


@pytest.mark.parametrize(
    ("why", "own", "others", "left"),
    [
        ("it answered well before the wait began", [GONE], [_storage("ok", SINCE - SKEW - 1)], 0.3),
        ("about when the wait began", [GONE], [_storage("ok", SINCE - SKEW)], 1.0),
        ("it never answered", [GONE], [], 1.0),
        (
            "it answered twice, the last time too late",
            [GONE],
            [_storage("ok", SINCE - 300), _storage("ok", SINCE)],
            1.0,
        ),
        ("it said something else", [GONE], [_storage("slow", SINCE - 300)], 1.0),
        (
            "a write failed as well",
            [GONE, reported("exception", "strong", "storage.stall", rank=1, at=SINCE)],
            [_storage("ok", SINCE - 300)],
            1.0,
        ),
        ("it was never away", [_storage("error", SINCE - 400)], [_storage("ok", SINCE - 300)], 1.0),
    ],
)
def test_storage_that_came_back_before_the_job_waited(
    why: str, own: list[Evidence], others: list[Evidence], left: float
) -> None:
    one = candidate("storage.stall", *own)
    weigh([one], [*own, *others, FIRED], wait(FIRED))
    assert one.factor == left, why


def test_without_a_wait_no_one_knows_whether_storage_came_back_in_time() -> None:
    assert factor("storage.stall", [GONE], _storage("ok", SINCE - 300)) == 1.0
    one = candidate("storage.stall", GONE)
    weigh([one], [GONE, _storage("ok", SINCE - 300), SAID], wait(SAID))
    assert one.factor == 1.0
    other = candidate("storage.full", GONE)
    weigh([other], [GONE, _storage("ok", SINCE - 300), FIRED], wait(FIRED))
    assert other.factor == 1.0


@pytest.mark.parametrize(
    ("why", "kind", "code", "at", "left"),
    [
        ("storage answered before the wait", "storage", "ok", SINCE - SKEW - 1, 0.3),
        ("clocks differ", "storage", "ok", SINCE - SKEW, 1.0),
        ("something else was well again", "link", "ok", SINCE - SKEW - 1, 1.0),
        ("storage said something else", "storage", "slow", SINCE - SKEW - 1, 1.0),
    ],
)
def test_only_storage_that_answers_is_back(why: str, kind: str, code: str, at: float, left: float) -> None:
    gone = reported("storage", "strong", "storage.stall", at=SINCE - 300, code="not_responding")
    back = reported(kind, at=at, code=code)
    assert factor("storage.stall", [gone], back, FIRED, waiting=True) == left, why


def raised(**more: object) -> Evidence:
    """A line that three lines of its program follow."""
    return reported("exception", **{"role": "strong", "quiet_end": "3", **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("why", "own", "others", "doubted"),
    [
        ("the log continues below it", [raised()], [], True),
        ("it ends soon", [raised(quiet_end="1")], [], False),
        ("below one of two lines it ends", [raised(), raised(quiet_end="1")], [], False),
        ("the line itself is of the end of its process", [raised(where="train.py:3")], [], False),
        ("a program that logs where it was goes on", [raised(where="train.py:3", logged="yes")], [], True),
        ("a kernel's word", [raised(action="restart_node")], [], False),
        ("a weak word claims little anyway", [raised(role="weak")], [], False),
        ("a process ended", [raised()], [reported("exit", "exit")], False),
        ("a watchdog fired", [raised()], [watchdog(3)], False),
        ("something else failed as an effect", [raised()], [reported("nccl", "effect")], False),
        ("a note is no end", [raised()], [reported("x", "note")], True),
    ],
)
def test_what_the_log_goes_on_below_is_no_more_than_a_hint_unless_an_end_is_shown(
    why: str, own: list[Evidence], others: list[Evidence], doubted: bool
) -> None:
    one = candidate("job.exception", *own)
    sure = one.confidence
    weigh([one], [*own, *others], None)
    assert one.confidence == (min(sure, 0.78) if doubted else sure), why
    assert bool(one.contradicts) is doubted


@pytest.mark.parametrize(("answered", "left"), [(("a.log",), 1.0), (("a.log", "b.log"), 0.1)])
def test_storage_only_paused_if_it_answered_again_wherever_it_was_lost(answered: tuple[str, ...], left: float) -> None:
    lost = [
        reported("storage", "strong", "storage.stall", code="not_responding", file=name) for name in ("a.log", "b.log")
    ]
    back = [reported("storage", "note", code="ok", file=name, line=2) for name in answered]
    assert factor("storage.stall", lost, *back) == pytest.approx(left)
    slow = reported("files", "weak", "storage.stall", file="a.log")
    assert factor("storage.stall", [*lost, slow], *back) == 1.0, "a slow read is no pause"
