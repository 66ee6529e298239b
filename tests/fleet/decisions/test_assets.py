"""The asset record: which parts were replaced, which only moved or were lost from sight, and what counters do."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.decisions.assets import MOST_HERE, note_ticket, take_parts
from holdfast.fleet.decisions.lifecycle.machine import step
from holdfast.fleet.decisions.lifecycle.memory import OPERATOR
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.assets import AssetRecord, Part, PartTicket
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Offence, Stage, Verb

OLD = (Part("gpu/0", "A"), Part("gpu/1", "B"), Part("nic/mlx5_0", "N"))
RECORD = take_parts(AssetRecord(), OLD, 1.0)[0]


def serials(record: AssetRecord) -> dict[str, str]:
    return {one.part.place: one.part.serial for one in record.parts}


def test_the_first_inventory_replaces_nothing() -> None:
    record, swaps = take_parts(AssetRecord(), OLD, 1.0)
    assert swaps == []
    assert serials(record) == {"gpu/0": "A", "gpu/1": "B", "nic/mlx5_0": "N"}
    assert {one.since for one in record.parts} == {1.0}


def test_a_new_serial_number_in_the_place_of_an_old_one_is_a_replacement() -> None:
    record, [swap] = take_parts(RECORD, (Part("gpu/0", "A"), Part("gpu/1", "C"), OLD[2]), 5.0)
    assert (swap.before.serial, swap.after.serial, swap.after.kind) == ("B", "C", "gpu")
    assert serials(record)["gpu/1"] == "C"
    [gone] = record.earlier
    assert (gone.part.serial, gone.since, gone.until) == ("B", 1.0, 5.0)
    assert {one.part.place: one.since for one in record.parts} == {"gpu/0": 1.0, "gpu/1": 5.0, "nic/mlx5_0": 1.0}


@pytest.mark.parametrize(
    "seen",
    [
        (Part("gpu/0", "A"), OLD[2]),  # GPU 1 is lost
        (Part("gpu/0", "B"), OLD[2]),  # GPU 0 is lost, and the other is numbered anew
        (Part("gpu/0", "B"), Part("gpu/1", "A"), OLD[2]),  # numbered the other way round
        (Part("gpu/0", ""), Part("gpu/1", "B"), OLD[2]),  # it tells no serial number
        (),
    ],
)
def test_what_is_lost_from_sight_or_numbered_anew_is_not_replaced(seen: tuple[Part, ...]) -> None:
    record, swaps = take_parts(RECORD, seen, 5.0)
    assert swaps == []
    assert record.earlier == ()
    back, swaps = take_parts(record, OLD, 6.0)
    assert swaps == []
    assert serials(back) == serials(RECORD)


PARTS = st.lists(
    st.builds(Part, st.sampled_from(["gpu/0", "gpu/1", "gpu/2", "nic/a"]), st.sampled_from(["", *"ABCDEF"])),
    unique_by=lambda part: part.place,
    max_size=4,
)


@given(st.lists(PARTS, max_size=6))
def test_a_part_is_in_one_place_and_an_unchanged_inventory_changes_nothing(seen: list[list[Part]]) -> None:
    record = AssetRecord()
    for moment, parts in enumerate(seen):
        distinct = list({part.serial: part for part in parts}.values())
        record, swaps = take_parts(record, distinct, float(moment))
        here = serials(record)
        assert len(set(here.values())) == len(here)
        assert {part.place: part.serial for part in distinct if part.serial}.items() <= here.items()
        assert all(swap.before.serial not in here.values() for swap in swaps)
        assert take_parts(record, distinct, moment + 0.5) == (record, [])


def test_a_ticket_keeps_the_part_it_was_opened_for() -> None:
    record = note_ticket(RECORD, PartTicket("RMA-1", "open", "gpu/1", by="ann", at=2.0, note="ECC"))
    record = note_ticket(record, PartTicket("RMA-1", "sent", by="bob", at=3.0))
    [ticket] = record.tickets
    assert (ticket.state, ticket.place, ticket.serial, ticket.by, ticket.note) == ("sent", "gpu/1", "B", "bob", "ECC")
    record, _ = take_parts(record, (OLD[0], Part("gpu/1", "C"), OLD[2]), 9.0)
    [ticket] = record.tickets
    assert (ticket.state, ticket.serial, ticket.by, ticket.at) == ("replaced", "B", "holdfast", 9.0)
    closed = note_ticket(record, PartTicket("RMA-1", "closed", at=10.0))
    again, _ = take_parts(closed, (OLD[0], Part("gpu/1", "D"), OLD[2]), 11.0)
    assert [one.state for one in again.tickets] == ["closed"]


OFFENCES = (Offence(at=1.0, cause="gpu.xid"), Offence(at=2.0, cause="nic.link"), Offence(at=3.0, cause="gpu.lost"))
NODE = NodeState(
    name="n", stage=Stage.READY, tested_at=5.0, offences=OFFENCES, degradations=OFFENCES, repair_step=3, tests=2
)


@pytest.mark.parametrize(("kind", "left"), [("gpu", ["nic.link"]), ("nic", ["gpu.xid", "gpu.lost"]), ("node", [])])
def test_counters_restart_with_the_part(kind: str, left: list[str]) -> None:
    event = NodeEvent(kind=EventKind.PART_REPLACED, cause=kind, reason="gpu/1: B was replaced by C")
    after, actions, _ = step(NODE, event, 9.0, Policy())
    assert [one.cause for one in after.offences] == [one.cause for one in after.degradations] == left
    assert (after.repair_step, after.tests) == (0, 0)
    assert (after.stage, after.tested_at) == (Stage.TESTING, None)
    assert {action.verb for action in actions} == {Verb.CORDON, Verb.RETEST}


def test_a_repaired_node_is_tested_but_an_operators_quarantine_stays() -> None:
    event = NodeEvent(kind=EventKind.PART_REPLACED, cause="gpu")
    failed = replace(NODE, stage=Stage.QUARANTINED, tested_at=None, cause="gpu.xid")
    assert step(failed, event, 9.0, Policy())[0].stage is Stage.TESTING
    kept, actions, _ = step(replace(failed, cause=OPERATOR), event, 9.0, Policy())
    assert (kept.stage, actions, kept.repair_step) == (Stage.QUARANTINED, [], 0)


def test_a_node_in_use_is_tested_after_its_job() -> None:
    busy = replace(NODE, stage=Stage.ALLOCATED, jobs=frozenset({"1"}))
    after, _, _ = step(busy, NodeEvent(kind=EventKind.PART_REPLACED, cause="gpu"), 9.0, Policy())
    assert (after.stage, after.takes_work) == (Stage.ALLOCATED, False)


def test_a_node_that_invents_places_has_a_bounded_record() -> None:
    record = RECORD
    for number in range(12):
        invented = tuple(Part(f"gpu/{number * 256 + one}x", f"{number}-{one}") for one in range(256))
        record, _ = take_parts(record, invented, 10.0 + number)
        assert {part.place for part in invented} <= set(serials(record)), "what is there now stays"
        assert len(record.parts) <= MOST_HERE
