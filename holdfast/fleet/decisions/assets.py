"""Finds replaced parts of a node from two inventories, and updates tickets."""

from collections.abc import Sequence

import msgspec

from holdfast.model.assets import AssetRecord, Part, PartTicket, PartTime

MOST_EARLIER = 64
MOST_TICKETS = 64
MOST_HERE = 1_024  # most parts of one node; a report names at most 256


class Swap(msgspec.Struct, frozen=True):
    before: Part
    after: Part

    @property
    def text(self) -> str:
        return f"{self.after.place}: {self.before.serial} was replaced by {self.after.serial}"


def take_parts(record: AssetRecord, seen: Sequence[Part], now: float) -> tuple[AssetRecord, list[Swap]]:
    """Takes an inventory. A missing part stays in the record, because a lost GPU shows no serial number. A part that
    moved within the node is not a replacement, because GPUs are renumbered when one is lost."""
    known = {one.part.place: one for one in record.parts}
    serials = {one.part.serial for one in record.parts}
    arrived = {part.place: part for part in seen if part.serial}
    swaps = [
        Swap(known[place].part, part)
        for place, part in arrived.items()
        if place in known and part.serial not in serials
    ]
    gone = {swap.before.serial for swap in swaps} - {part.serial for part in arrived.values()}
    ended = [msgspec.structs.replace(one, until=now) for one in record.parts if one.part.serial in gone]
    since = {one.part.serial: one.since for one in record.parts}
    here = {
        **{place: one for place, one in known.items() if one.part.serial not in gone},
        **{place: PartTime(part, since.get(part.serial, now)) for place, part in arrived.items()},
    }
    seen_now = {part.serial for part in arrived.values()}
    here = {place: one for place, one in here.items() if place in arrived or one.part.serial not in seen_now}
    # Too many parts in a report: keep the ones that were seen now.
    kept = sorted(here, key=lambda place: place not in arrived)[:MOST_HERE]
    after = AssetRecord(
        parts=tuple(here[place] for place in sorted(kept)),
        earlier=(*record.earlier, *ended)[-MOST_EARLIER:],
        tickets=tuple(_replaced(ticket, gone, now) for ticket in record.tickets),
    )
    return after, [swap for swap in swaps if swap.before.serial in gone]


def _replaced(ticket: PartTicket, gone: set[str], now: float) -> PartTicket:
    if ticket.serial in gone and ticket.state in ("open", "sent"):
        return msgspec.structs.replace(ticket, state="replaced", at=now, by="holdfast")
    return ticket


def note_ticket(record: AssetRecord, ticket: PartTicket) -> AssetRecord:
    """Update the ticket with this id; empty fields keep their value."""
    serials = {one.part.place: one.part.serial for one in record.parts}
    before = next((one for one in record.tickets if one.id == ticket.id), ticket)
    place = ticket.place or before.place
    made = msgspec.structs.replace(
        ticket,
        place=place,
        serial=before.serial or serials.get(place, ""),
        note=ticket.note or before.note,
    )
    others = [one for one in record.tickets if one.id != ticket.id]
    return msgspec.structs.replace(record, tickets=(*others, made)[-MOST_TICKETS:])
