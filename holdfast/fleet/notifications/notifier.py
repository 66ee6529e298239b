"""Due notifications: grouped, throttled, repeated as reminders, and resolved. Pure."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.fleet.inbox.states import ItemState, ItemView
from holdfast.fleet.notifications.message import Notification, NotifiedEvent, of_item, of_many

HOUR = 3600.0
SILENT = (ItemState.MUTED, ItemState.RESOLVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierSettings:
    group_seconds: float = 30.0
    """New items wait so long for others that belong to the same trouble."""
    most_single: int = 3
    """More new items than this at once are one notification."""
    repeat_hours: float = 4.0
    """An open item that no one acknowledged is sent again after this; 0: never."""
    most_per_hour: int = 60
    """Beyond it, new items wait and are sent together. Ends are always sent."""

    def __post_init__(self) -> None:
        for name in ("group_seconds", "repeat_hours"):
            if getattr(self, name) < 0:
                raise ValueError(f"notifications.{name}: expected at least 0")
        for name in ("most_single", "most_per_hour"):
            if getattr(self, name) < 1:
                raise ValueError(f"notifications.{name}: expected at least 1")


@dataclass(slots=True)
class _Sent:
    item: ItemView
    at: float
    acknowledged: bool = False
    key: str = ""
    """Of the notification that has this item among others; '' of its own."""


@dataclass(slots=True)
class Notifier:
    settings: NotifierSettings
    address: str = ""
    _sent: dict[str, _Sent] = field(default_factory=dict)
    _new: dict[str, float] = field(default_factory=dict)
    """Items that wait to be sent, and since when."""
    _times: deque[float] = field(default_factory=deque)
    _batches: int = 0

    def adopt(self, items: Sequence[ItemView], now: float) -> None:
        """Takes items that were open before this controller started: their begin was sent before, their end will be
        sent."""
        for one in items:
            if one.state not in SILENT:
                self._sent[one.key] = _Sent(one, now, one.state is ItemState.ACKNOWLEDGED)

    def take(self, items: Sequence[ItemView], now: float) -> list[Notification]:
        """Notifications that are due now, with the current items."""
        loud = {one.key: one for one in items if one.state not in SILENT}
        due = self._over(loud)
        due += self._changed(loud, now)
        for key in loud.keys() - self._sent.keys() - self._new.keys():
            self._new[key] = now
        self._new = {key: since for key, since in self._new.items() if key in loud}
        return due + self._opened(loud, now)

    def _over(self, loud: dict[str, ItemView]) -> list[Notification]:
        """Ends of items that are gone, muted or resolved. A batch ends with its last item."""
        due = []
        for key in [key for key in self._sent if key not in loud]:
            sent = self._sent.pop(key)
            if not sent.key:
                due.append(of_item(sent.item, NotifiedEvent.RESOLVED, self.address))
            elif not any(other.key == sent.key for other in self._sent.values()):
                due.append(of_many([sent.item], NotifiedEvent.RESOLVED, self.address, sent.key))
        return due

    def _changed(self, loud: dict[str, ItemView], now: float) -> list[Notification]:
        due = []
        for key, sent in self._sent.items():
            sent.item = loud[key]
            acknowledged = sent.item.state is ItemState.ACKNOWLEDGED
            if acknowledged and not sent.acknowledged and not sent.key:
                due.append(of_item(sent.item, NotifiedEvent.ACKNOWLEDGED, self.address))
            sent.acknowledged = acknowledged
            late = self.settings.repeat_hours > 0 and now - sent.at >= self.settings.repeat_hours * HOUR
            if late and not acknowledged and self._allowed(now):
                sent.at = now
                due.append(of_item(sent.item, NotifiedEvent.REMINDED, self.address))
        return due

    def _opened(self, loud: dict[str, ItemView], now: float) -> list[Notification]:
        if not self._new or now - min(self._new.values()) < self.settings.group_seconds or not self._allowed(now):
            return []
        opened = [one for one in loud.values() if one.key in self._new]
        self._new.clear()
        if len(opened) <= self.settings.most_single:
            for one in opened:
                self._sent[one.key] = _Sent(one, now, one.state is ItemState.ACKNOWLEDGED)
            return [of_item(one, NotifiedEvent.OPENED, self.address) for one in opened]
        self._batches += 1
        key = f"batch/{now:.0f}-{self._batches}"
        for one in opened:
            self._sent[one.key] = _Sent(one, now, one.state is ItemState.ACKNOWLEDGED, key)
        return [of_many(opened, NotifiedEvent.OPENED, self.address, key)]

    def _allowed(self, now: float) -> bool:
        """Counts notifications per hour. Items above the limit stay new and are sent together later."""
        while self._times and now - self._times[0] >= HOUR:
            self._times.popleft()
        if len(self._times) >= self.settings.most_per_hour:
            return False
        self._times.append(now)
        return True
