"""The event log: what says the same is one, what is told of one device pushes out nothing of another."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import event_log
from holdfast.model.event_log import CLEARED, FOLD_SECONDS, MAX_ALIKE, MAX_EVENTS, EventLog
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event

INVENTORY = Inventory(node="n1", by_device={"0000:9b:00": "node/n1/gpu/1"})
FATAL = Event(kind="xid", at=10.0, text="Xid 95", device="0000:9b:00", code=95, severity="fatal")
WARNING = Event(kind="xid", at=20.0, text="Xid 13", device="0000:1b:00", code=13, severity="warning")


def log(*events: Event) -> EventLog:
    kept = EventLog()
    for event in events:
        kept.add(event, INVENTORY)
    return kept


def fault(pid: int, at: float = 20.0, where: str = "SM 1") -> Event:
    return replace(WARNING, at=at, text=f"Xid 13, pid={pid}, name=p{pid}, {where}", detail={"pid": str(pid)})


def test_what_differs_in_its_process_alone_is_one_event_that_names_them() -> None:
    (event,) = log(fault(71), fault(72, 30.0), fault(73, 25.0)).since(0.0, ["xid"])
    assert (event.count, event.at, event.detail["pids"]) == (3, 30.0, "71,72,73")


def test_repeats_within_an_hour_are_one_event_and_later_ones_another() -> None:
    events = log(*(fault(1, hour * FOLD_SECONDS / 2) for hour in range(6))).since(0.0, ["xid"])
    assert [(event.at, event.count) for event in events] == [(FOLD_SECONDS, 3), (2.5 * FOLD_SECONDS, 3)]


def test_places_on_a_chip_stay_apart_until_there_are_too_many_and_then_nothing_is_lost_but_words() -> None:
    kept = log(*(fault(number % 20, float(number), f"SM {number}") for number in range(MAX_ALIKE + 40)))
    events = kept.since(0.0, ["xid"])
    assert len(events) == MAX_ALIKE
    assert sum(event.count for event in events) == MAX_ALIKE + 40
    assert events[-1].text.endswith(f"SM {MAX_ALIKE + 39}")


def test_a_storm_of_one_code_pushes_out_no_other() -> None:
    kept = log(FATAL, *(fault(number, 20.0 + number, f"SM {number}") for number in range(900)))
    assert kept.since(0.0, ["xid"])[0].code == 95


def test_from_a_full_log_the_oldest_of_what_is_not_fatal_goes_first() -> None:
    many = [replace(WARNING, at=100.0 + n, device=f"0000:{n:04x}:00") for n in range(MAX_EVENTS + 1)]
    events = log(FATAL, *many).since(0.0, ["xid"])
    assert len(events) <= MAX_EVENTS
    assert (events[0].code, events[-1].device) == (95, many[-1].device)


def test_from_a_full_log_what_no_one_asks_for_any_more_goes_before_all() -> None:
    day = 100_000.0
    many = [replace(WARNING, at=day + n / 100, device=f"0000:{n:04x}:00") for n in range(MAX_EVENTS)]
    assert 95 not in [event.code for event in log(FATAL, *many).since(0.0, ["xid"])]


def test_events_of_one_moment_keep_the_order_they_came_in() -> None:
    states = [Event(kind="link", at=5.0, text=code, device="eth0", code=code) for code in ("down", "up", "down")]
    assert [event.code for event in log(*states).since(0.0, ["link"])] == ["up", "down"]


def test_a_repair_settles_what_came_before_it_on_its_subject_alone() -> None:
    mark = Event(kind=CLEARED, at=15.0, subject="node/n1/gpu/1", text="reset")
    again = replace(FATAL, at=20.0)
    assert log(FATAL, WARNING, mark).since(0.0, ["xid"]) == [WARNING]
    assert log(FATAL, mark, again).since(0.0, ["xid"]) == [again]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.floats(0, 1e5), st.text(max_size=3)), max_size=80))
def test_its_size_is_what_it_holds_and_no_count_is_lost(expected: list[tuple[int, int, float, str]]) -> None:
    kept = log(
        *(Event(kind="xid", at=at, text=text, device=str(device), code=code) for device, code, at, text in expected)
    )
    events = kept.since(0.0, ["xid"])
    assert sum(event.count for event in events) == len(expected)
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert len(events) <= min(len(expected), event_log.MAX_EVENTS)
