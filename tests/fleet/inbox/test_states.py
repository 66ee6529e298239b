"""What operators do with items: each action, its record and its line of history."""

import pytest

from holdfast.fleet.inbox.states import BadCommand, ItemCommand, ItemState, apply, check, state_of
from holdfast.model.inbox import ItemAction, ItemRecord


def command(action: ItemAction, **more: object) -> ItemCommand:
    return ItemCommand(item="node/n1@5", action=action, **more)  # type: ignore[arg-type]


def done(*commands: ItemCommand, at: float = 100.0) -> ItemRecord:
    record: ItemRecord | None = None
    for one in commands:
        record, _ = apply(record, one, "ada", at)
    assert record is not None
    return record


@pytest.mark.parametrize(
    ("action", "state"),
    [
        (ItemAction.ACKNOWLEDGE, ItemState.ACKNOWLEDGED),
        (ItemAction.ASSIGN, ItemState.OPEN),
        (ItemAction.COMMENT, ItemState.OPEN),
        (ItemAction.RESOLVE, ItemState.RESOLVED),
        (ItemAction.MUTE, ItemState.MUTED),
    ],
)
def test_an_action_leads_to_its_state(action: ItemAction, state: ItemState) -> None:
    assert state_of(done(command(action, hours=1.0, assignee="bob", comment="c")), 101.0) is state


def test_a_mute_ends_at_its_time_and_what_was_before_holds_again() -> None:
    record = done(command(ItemAction.ACKNOWLEDGE), command(ItemAction.MUTE, hours=1.0))
    assert state_of(record, 100.0 + 3599) is ItemState.MUTED
    assert state_of(record, 100.0 + 3600) is ItemState.ACKNOWLEDGED


def test_reopening_undoes_acknowledgement_mute_and_resolution_and_keeps_the_assignee() -> None:
    record = done(
        command(ItemAction.ASSIGN, assignee="bob"),
        command(ItemAction.ACKNOWLEDGE),
        command(ItemAction.MUTE, hours=5.0),
        command(ItemAction.RESOLVE),
        command(ItemAction.REOPEN),
    )
    assert state_of(record, 101.0) is ItemState.OPEN and record.assignee == "bob"


def test_every_action_writes_who_did_what() -> None:
    for action in ItemAction:
        _, note = apply(None, command(action, hours=2.0, assignee="bob", comment="why"), "ada", 7.0)
        assert (note.who, note.action, note.at) == ("ada", action, 7.0) and "why" in note.text


@pytest.mark.parametrize(
    "bad",
    [
        command(ItemAction.MUTE),
        command(ItemAction.MUTE, hours=24 * 30 + 1.0),
        command(ItemAction.MUTE, hours=float("nan")),
        command(ItemAction.COMMENT, comment="  "),
        command(ItemAction.COMMENT, comment="x" * 4_001),
        command(ItemAction.ASSIGN, assignee="x" * 256),
    ],
)
def test_what_makes_no_sense_is_refused(bad: ItemCommand) -> None:
    with pytest.raises(BadCommand):
        check(bad)
