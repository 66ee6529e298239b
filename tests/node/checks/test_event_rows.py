"""Which events still count, and how they are told to a person."""

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Event, Reading
from holdfast.model.window import Window
from holdfast.node.checks.event_rows import (
    Grade,
    code_and_text,
    counted,
    describe_all,
    node_verdict,
    on_devices,
    since,
    total,
)

NOW = 1_000_000.0


def event(ago: float = 5.0, text: str = "it broke", **more: object) -> Event:
    return Event(kind="edac", at=NOW - ago, text=text, **more)  # type: ignore[arg-type]


def window(*events: Event) -> Window:
    history = History("n1")
    history.add(Reading(source="kmsg", at=NOW, events=list(events)))
    return history.window(NOW, 600.0)


def test_an_event_counts_until_it_is_older_than_asked_for() -> None:
    found = since(window(event(59.0, "b"), event(61.0, "c"), event(60.0, "a")), 60.0, "edac")
    assert [NOW - one.at for one in found] == [60.0, 59.0]


def test_the_first_grade_with_events_decides() -> None:
    bad, worse = [event(count=3)], [event(count=2), event()]

    def row(*grades: Grade):  # type: ignore[no-untyped-def]
        (only,) = node_verdict(window(), [], *grades).rows
        return only.subject, only.health, only.value, only.limit, only.reason

    fail = Grade(Health.FAIL, worse, lambda events: f"{len(events)} bad")
    degraded = Grade(Health.DEGRADED, bad, lambda events: "a little")
    assert row(fail, degraded) == ("node/n1", Health.FAIL, 3, 0, "2 bad")
    assert row(fail._replace(events=[]), degraded) == ("node/n1", Health.DEGRADED, 3, 0, "a little")
    assert row(fail._replace(events=[]), degraded._replace(events=[])) == ("node/n1", Health.PASS, 0, 0, "")


def test_all_events_are_evidence_of_a_pass_too() -> None:
    assert node_verdict(window(), [event()]).evidence == ("5 s ago: it broke",)


def test_repeats_are_counted() -> None:
    assert total([event(count=3), event()]) == 4


@pytest.mark.parametrize(
    ("number", "thing", "words"),
    [(1, "lock-up", "1 lock-up"), (2, "lock-up", "2 lock-ups"), (0, "lock-up", "0 lock-ups"),
     (1, "process", "1 process"), (2, "process", "2 processes")],
)  # fmt: skip
def test_plurals(number: int, thing: str, words: str) -> None:
    assert counted(number, thing) == words


def test_a_device_is_named_once_and_a_nameless_one_as_asked() -> None:
    events = [event(device="nvme0n1"), event(device="nvme1n1"), event(device="nvme0n1"), event()]
    assert on_devices(events, "a disk") == "nvme0n1, nvme1n1, a disk"


def test_the_last_event_speaks_for_all() -> None:
    events = [event(code="first", text="one"), event(code="medium_error", text="two", device="nvme0n1")]
    assert code_and_text(events, "a disk") == "a disk, nvme0n1: medium error [two]"


@pytest.mark.parametrize(("count", "words"), [(1, "5 s ago: it broke"), (2, "5 s ago: it broke (2 times)")])
def test_how_often_is_reported_from_the_second_time(count: int, words: str) -> None:
    assert describe_all([event(count=count)], NOW) == (words,)


def test_the_ten_latest_are_reported_and_none_is_in_the_future() -> None:
    result = describe_all([event(float(20 - number), str(number)) for number in range(12)], NOW)
    assert (len(result), result[0], result[-1]) == (10, "18 s ago: 2", "9 s ago: 11")
    assert describe_all([event(-3.0)], NOW) == ("0 s ago: it broke",)
    assert len(describe_all([event()] * 5, NOW, most=3)) == 3
