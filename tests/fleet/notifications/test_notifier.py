"""Which notifications are due: grouped, throttled, reminded, and ended when over."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.inbox.item import Item, Sources
from holdfast.fleet.inbox.items import items
from holdfast.fleet.inbox.states import ItemState, ItemView, joined
from holdfast.fleet.notifications.message import NotifiedEvent
from holdfast.fleet.notifications.notifier import Notifier, NotifierSettings
from holdfast.model.incident import Incident

SETTINGS = NotifierSettings(group_seconds=30.0, most_single=3, repeat_hours=4.0, most_per_hour=5)


def views(*names: str, state: ItemState = ItemState.OPEN) -> list[ItemView]:
    found: list[Item] = items(
        Sources(incidents=[Incident(id=f"{name}@1", opened=1.0, subject=name, cause=f"own.{name}") for name in names])
    )
    return [replace(one, state=state) for one in joined(found, {}, 0.0)]


def happened(notifier: Notifier, shown: list[ItemView], now: float) -> list[tuple[NotifiedEvent, str]]:
    return [(one.happened, one.key) for one in notifier.take(shown, now)]


def test_a_new_item_is_sent_once_after_it_waited_for_others() -> None:
    notifier = Notifier(SETTINGS)
    shown = views("node/a")
    assert happened(notifier, shown, 0.0) == []
    assert happened(notifier, shown, 29.9) == []
    assert happened(notifier, shown, 30.0) == [(NotifiedEvent.OPENED, "incident/node/a@1")]
    assert happened(notifier, shown, 60.0) == []


def test_what_is_over_before_it_was_sent_is_never_sent() -> None:
    notifier = Notifier(SETTINGS)
    assert happened(notifier, views("node/a"), 0.0) == []
    assert happened(notifier, [], 10.0) == []
    assert happened(notifier, [], 100.0) == []


def test_three_are_sent_one_by_one_and_four_as_one_that_ends_with_the_last() -> None:
    for many, expected in ((3, 3), (4, 1)):
        notifier = Notifier(SETTINGS)
        shown = views(*(f"node/n{number}" for number in range(many)))
        notifier.take(shown, 0.0)
        assert len(notifier.take(shown, 30.0)) == expected
        over = notifier.take(shown[:1], 40.0)
        assert len(over) == (many - 1 if many == 3 else 0)
        assert [one.happened for one in notifier.take([], 50.0)] == [NotifiedEvent.RESOLVED]


def test_88_silent_sensors_are_one_notification_and_one_end() -> None:
    sensors = [
        Incident(
            id=f"node/n{n // 8}/gpu/{n % 8}@1", opened=1.0, subject=f"node/n{n // 8}/gpu/{n % 8}", cause="sensor.lost"
        )
        for n in range(88)
    ]
    shown = joined(items(Sources(incidents=sensors)), {}, 0.0)
    notifier = Notifier(SETTINGS)
    notifier.take(shown, 0.0)
    (sent,) = notifier.take(shown, 30.0)
    assert sent.title.startswith("88 times: a sensor is silent")
    fewer = joined(items(Sources(incidents=sensors[:40])), {}, 0.0)
    assert notifier.take(fewer, 60.0) == []
    assert [one.happened for one in notifier.take([], 90.0)] == [NotifiedEvent.RESOLVED]


def test_an_item_no_one_acknowledged_is_sent_again_and_an_acknowledged_one_is_not() -> None:
    notifier = Notifier(SETTINGS)
    shown = views("node/a", "node/b")
    notifier.take(shown, 0.0)
    notifier.take(shown, 30.0)
    known = [replace(shown[0], state=ItemState.ACKNOWLEDGED), shown[1]]
    assert happened(notifier, known, 60.0) == [(NotifiedEvent.ACKNOWLEDGED, shown[0].key)]
    assert happened(notifier, known, 30.0 + 4 * 3600 - 1) == []
    assert happened(notifier, known, 30.0 + 4 * 3600) == [(NotifiedEvent.REMINDED, shown[1].key)]


def test_muted_and_resolved_items_are_not_sent_and_a_mute_ends_what_was() -> None:
    notifier = Notifier(SETTINGS)
    for state in (ItemState.MUTED, ItemState.RESOLVED):
        notifier.take(views("node/a", state=state), 0.0)
        assert notifier.take(views("node/a", state=state), 100.0) == []
    shown = views("node/b")
    notifier.take(shown, 200.0)
    notifier.take(shown, 230.0)
    assert happened(notifier, views("node/b", state=ItemState.MUTED), 240.0) == [(NotifiedEvent.RESOLVED, shown[0].key)]


def test_beyond_the_hours_number_items_wait_and_come_together() -> None:
    notifier = Notifier(SETTINGS)
    names: list[str] = []
    sent = 0
    for number in range(12):
        names.append(f"node/n{number}")
        notifier.take(views(*names), number * 100.0)
        sent += len(notifier.take(views(*names), number * 100.0 + 30))
    assert sent == 5
    late = notifier.take(views(*names), 3_700.0)
    assert len(late) == 1 and late[0].title.startswith("7 items")


def test_what_was_open_before_the_start_is_not_sent_again_but_its_end_is() -> None:
    notifier = Notifier(SETTINGS)
    shown = views("node/a")
    notifier.adopt(shown, 0.0)
    assert notifier.take(shown, 100.0) == []
    assert happened(notifier, [], 110.0) == [(NotifiedEvent.RESOLVED, shown[0].key)]


@given(st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=8), max_size=30))
def test_every_item_that_was_sent_ends_exactly_once_and_nothing_else_does(rounds: list[set[str]]) -> None:
    notifier = Notifier(NotifierSettings(group_seconds=0.0, repeat_hours=0.0, most_per_hour=1_000))
    opened: list[str] = []
    ended: list[str] = []
    for number, names in enumerate([*rounds, set[str]()]):
        for one in notifier.take(views(*(f"node/{name}" for name in sorted(names))), number * 60.0):
            (opened if one.happened is NotifiedEvent.OPENED else ended).append(one.key)
    assert sorted(opened) == sorted(ended)
