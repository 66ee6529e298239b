"""`[notifications]` of the controller's configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from holdfast.config.tables import Document
from holdfast.fleet.notifications.channels import Channel, Email, Opsgenie, PagerDuty, Slack, Teams, WebHook
from holdfast.fleet.notifications.notifier import NotifierSettings

KINDS: Mapping[str, type[Any]] = {
    "slack": Slack,
    "pagerduty": PagerDuty,
    "opsgenie": Opsgenie,
    "teams": Teams,
    "email": Email,
    "webhook": WebHook,
}
PLACE = "notifications"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationSettings:
    timing: NotifierSettings = field(default_factory=NotifierSettings)
    address: str = ""
    """Where people reach the page, for links; '' is the controller's own address."""
    channels: tuple[tuple[str, Channel], ...] = ()


def parse(document: Document) -> NotificationSettings:
    raw = document.raw.get(PLACE, {})
    own = [one.name for one in fields(NotifierSettings)]
    table = document.only(raw, [*own, "address", *KINDS], PLACE)
    channels: list[tuple[str, Channel]] = []
    for kind, made in KINDS.items():
        for number, one in enumerate(table.get(kind, ())):
            channels.append((f"{kind}[{number}]", document.fill(made, one, f"{PLACE}.{kind}[{number}]")))
    timing = {name: table[name] for name in own if name in table}
    return NotificationSettings(
        timing=document.fill(NotifierSettings, timing, PLACE),
        address=str(table.get("address", "")),
        channels=tuple(channels),
    )
