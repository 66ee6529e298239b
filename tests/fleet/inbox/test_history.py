"""History of the inbox: an item is stored when it appears and when it is over, with what operators did."""

from dataclasses import replace

import pytest

from holdfast.fleet.inbox.history import ItemChange, Known, merged, past, past_item, snapshot_of
from holdfast.fleet.inbox.item import Item, ItemKind
from holdfast.fleet.inbox.states import ItemCommand, ItemState, apply
from holdfast.model.inbox import ItemAction, ItemRecord

NOW = 5_000.0


def item(key: str = "node/n1@100", kind: ItemKind = ItemKind.NODE, **more: object) -> Item:
    facts: dict[str, object] = {
        "key": key,
        "kind": kind,
        "subject": key,
        "title": "n1 waits",
        "detail": "",
        "since": 100.0,
    }
    return Item(**(facts | more))  # type: ignore[arg-type]


def stored(*changes: ItemChange, records: dict[str, ItemRecord] | None = None) -> dict[str, ItemRecord]:
    held = dict(records or {})
    for one in changes:
        made = merged(held.pop(one.key, None), one, NOW)
        held[made.key] = made
    return held


def test_an_item_is_stored_once_when_it_appears_and_once_when_it_is_over() -> None:
    known = Known()
    first = known.changes([item()], [], NOW)
    assert [(one.key, one.ended_at) for one in first] == [("node/n1@100", None)]
    known.stored(first)
    assert known.changes([item()], [], NOW) == []
    (gone,) = known.changes([], [], NOW)
    assert (gone.key, gone.ended_at, gone.outcome) == ("node/n1@100", NOW, "the node no longer needs an operator")
    known.stored([gone])
    assert known.changes([], [], NOW) == []


def test_what_an_item_showed_last_is_kept() -> None:
    known = Known()
    known.stored(known.changes([item()], [], NOW))
    known.seen([item(title="n1 still waits")])
    (gone,) = known.changes([], [], NOW)
    assert gone.snapshot is not None and gone.snapshot.title == "n1 still waits"


def test_a_controller_that_starts_again_goes_on_with_what_is_stored() -> None:
    held = stored(*Known().changes([item(), item("node/n2@7")], [], NOW))
    known = Known.of(held.values())
    assert [one.key for one in known.changes([item()], [], NOW)] == ["node/n2@7"]
    ended = stored(*Known().changes([], [item(ended_at=9.0)], NOW))
    assert Known.of(ended.values()).changes([], [item(ended_at=9.0)], NOW) == []


def test_what_operators_did_stays_with_it() -> None:
    command = ItemCommand(item="node/n1@100", action=ItemAction.RESOLVE, comment="swapped the cable")
    resolved, _ = apply(None, command, "ada", 4_000.0)
    held = stored(ItemChange(key="node/n1@100", snapshot=snapshot_of(item())), records={"node/n1@100": resolved})
    held = stored(
        ItemChange(key="node/n1@100", snapshot=snapshot_of(item()), ended_at=4_500.0, outcome="x"), records=held
    )
    (shown,) = past(list(held.values()))
    assert (shown.resolved_by, shown.resolved_at, shown.comment) == ("ada", 4_000.0, "swapped the cable")
    assert (shown.state, shown.ended_at, shown.outcome) == (ItemState.RESOLVED, 4_500.0, "x")


def test_one_that_no_one_resolved_was_resolved_by_itself_when_it_ended() -> None:
    held = stored(*Known().changes([], [item(ended_at=9.0, outcome="it went on")], NOW))
    (shown,) = past(list(held.values()))
    assert (shown.resolved_by, shown.resolved_at, shown.outcome) == ("holdfast", 9.0, "it went on")


def test_the_last_one_is_first_and_what_is_open_is_not_past() -> None:
    ended = [item(f"node/n{number}@1", ended_at=float(number)) for number in (3, 9, 5)]
    held = stored(*Known().changes([item()], ended, NOW))
    assert [one.resolved_at for one in past(list(held.values()))] == [9.0, 5.0, 3.0]


def test_a_group_that_comes_back_is_a_new_item_with_an_empty_record() -> None:
    """Its key has no time: without this, what an operator resolved once stays resolved for ever."""
    known = Known()
    group = item("group/sensor.lost", ItemKind.INCIDENT, grouped=("a", "b"))
    known.stored(known.changes([group], [], NOW))
    (gone,) = known.changes([], [], NOW)
    held = stored(gone, records={"group/sensor.lost": ItemRecord(key="group/sensor.lost", at=1.0, resolved_by="ada")})
    assert list(held) == ["group/sensor.lost@100"]
    assert held["group/sensor.lost@100"].resolved_by == "ada"


def test_an_incident_that_becomes_part_of_a_group_has_not_ended() -> None:
    known = Known()
    known.stored(known.changes([item("incident/a", ItemKind.INCIDENT)], [], NOW))
    changes = known.changes([item("group/k", ItemKind.INCIDENT, grouped=("a",))], [], NOW)
    held = stored(*changes)
    assert past(list(held.values())) == [] and held["incident/a"].snapshot is None


@pytest.mark.parametrize(
    ("since", "outcome"), [(NOW - 60, "the job runs again"), (NOW - 86_400, "it was not resolved within a day")]
)
def test_a_dead_job_that_leaves_the_inbox(since: float, outcome: str) -> None:
    known = Known()
    known.stored(known.changes([item("job/a:b#1", ItemKind.JOB, since=since)], [], NOW))
    (gone,) = known.changes([], [], NOW)
    assert gone.outcome == outcome


def test_members_are_kept_in_small_number() -> None:
    snapshot = snapshot_of(item(members=tuple(f"n{number}" for number in range(1_000))))
    assert len(snapshot.members) == 20
    record = merged(None, ItemChange(key="k@1", snapshot=snapshot, ended_at=1.0), NOW)
    assert past_item(record) is not None and past_item(replace(record, ended_at=None)) is None
