"""Labour hours of an incident: from its acknowledgement to its resolution, or until now."""

from collections.abc import Mapping

from holdfast.model.inbox import ItemRecord

HOUR = 3600.0


def item_key(incident_id: str) -> str:
    """The inbox's name of an incident."""
    return f"incident/{incident_id}"


def hours_worked(ids: Mapping[str, str], records: Mapping[str, ItemRecord], now: float) -> dict[str, float]:
    """By what an incident is about; `ids` has its id. Without an acknowledgement nothing is known."""
    found = {}
    for root, incident_id in ids.items():
        record = records.get(item_key(incident_id))
        if record is not None and record.acknowledged_at is not None:
            until = record.resolved_at if record.resolved_at is not None else now
            found[root] = max(0.0, until - record.acknowledged_at) / HOUR
    return found
