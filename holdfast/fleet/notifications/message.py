"""Notification message of an inbox item, shared by all channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

from holdfast.fleet.inbox.item import Item, Severity

MOST_LISTED = 10


class NotifiedEvent(StrEnum):
    OPENED = "opened"
    REMINDED = "reminded"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    key: str
    """The same from opened to resolved: channels join what belongs together by it."""
    happened: NotifiedEvent
    severity: Severity
    title: str
    text: str
    since: float
    subject: str = ""
    owner: str = ""
    remedy: str = ""
    commands: tuple[str, ...] = ()
    price: str = ""
    link: str = ""
    runbook_url: str = ""

    @property
    def heading(self) -> str:
        marks = {
            NotifiedEvent.RESOLVED: "Over: ",
            NotifiedEvent.REMINDED: "Still open: ",
            NotifiedEvent.ACKNOWLEDGED: "Acknowledged: ",
        }
        return f"{marks.get(self.happened, '')}{self.title}"

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Names and values, without unknown ones."""
        rows = (("Next step", self.remedy), ("Owner", self.owner), ("Price", self.price), ("Subject", self.subject))
        return tuple(row for row in rows if row[1])

    @property
    def plain(self) -> str:
        lines = [self.text, "", *(f"{name}: {value}" for name, value in self.facts)]
        lines += ["", *(f"$ {one}" for one in self.commands)] if self.commands else []
        lines += ["", f"Runbook: {self.runbook_url}"] if self.runbook_url else []
        lines += [f"Open: {self.link}"] if self.link else []
        return "\n".join(lines)


def of_item(item: Item, happened: NotifiedEvent, address: str) -> Notification:
    """The message of an item. `address`: that of the page; '' sends no links."""
    base = address.rstrip("/")
    return Notification(
        key=item.key,
        happened=happened,
        severity=item.severity,
        title=item.title,
        text=item.detail,
        since=item.since,
        subject=item.subject,
        owner=item.owner + (f" ({item.on_call})" if item.on_call else ""),
        remedy=item.remedy,
        commands=item.commands,
        price=_price(item),
        link=f"{base}/#/inbox/{quote(item.key, safe='')}" if base else "",
        runbook_url=f"{base}/#/runbook/{quote(item.runbook, safe='')}" if base and item.runbook else "",
    )


def of_many(items: Sequence[Item], happened: NotifiedEvent, address: str, key: str) -> Notification:
    """One notification for many items that appeared together."""
    base = address.rstrip("/")
    worst = min(items, key=lambda one: (one.severity is not Severity.CRITICAL, -(one.cost_per_hour or 0.0)))
    listed = [f"- {one.title} ({one.owner})" for one in items[:MOST_LISTED]]
    listed += [f"and {len(items) - MOST_LISTED} more"] if len(items) > MOST_LISTED else []
    return Notification(
        key=key,
        happened=happened,
        severity=worst.severity,
        title=f"{len(items)} items need attention; the worst: {worst.title}",
        text="\n".join(listed),
        since=min(one.since for one in items),
        owner=", ".join(sorted({one.owner for one in items if one.owner})),
        remedy=worst.remedy,
        link=f"{base}/#/inbox" if base else "",
    )


def _price(item: Item) -> str:
    parts = [f"{item.cost_so_far:,.0f} {item.currency} so far"] if item.cost_so_far is not None else []
    parts += [f"{item.cost_per_hour:,.1f} {item.currency} an hour"] if item.cost_per_hour else []
    parts += [f"the work of {item.gpus_lost:,.1f} GPUs is lost"] if item.gpus_lost else []
    return ", ".join(parts)
