"""Channels: payloads of Slack, PagerDuty, Opsgenie, Teams, e-mail and generic webhooks, as each documents them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from string import Template
from urllib.parse import quote

from holdfast.fleet.actions.secret import Secret
from holdfast.fleet.inbox.item import Severity
from holdfast.fleet.notifications.message import Notification, NotifiedEvent
from holdfast.runtime.http import check_url

JSON = {"Content-Type": "application/json"}
PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"
OPSGENIE = "https://api.opsgenie.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRequest:
    url: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: dict(JSON))


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Filters of a channel: some teams' items, or only critical ones."""

    owners: tuple[str, ...] = ()
    """Only items of these teams; () is all."""
    only_critical: bool = False
    timeout: float = 10.0

    def wants(self, note: Notification) -> bool:
        owned = not self.owners or any(note.owner.startswith(one) for one in self.owners)
        return note.happened is NotifiedEvent.TEST or (owned and (not self.only_critical or _critical(note)))


def _critical(note: Notification) -> bool:
    return note.severity is Severity.CRITICAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Slack(Route):
    url: Secret
    """The address of the incoming webhook; whoever has it may write, so it is a secret."""

    def request(self, note: Notification) -> ChannelRequest | None:
        """Blocks within Slack's limits: a header of 150 characters, sections of 3,000, ten fields of 2,000."""
        if note.happened is NotifiedEvent.ACKNOWLEDGED:
            return None
        fields = [{"type": "mrkdwn", "text": _mrkdwn(f"*{name}*\n", value, 2_000)} for name, value in note.facts[:10]]
        commands = "\n".join(note.commands[:6]).replace("`", "'")  # a name must not end the code block
        blocks: list[dict[str, object]] = [
            {"type": "header", "text": {"type": "plain_text", "text": _cut(note.heading, 150)}},
            {"type": "section", "text": {"type": "mrkdwn", "text": _mrkdwn("", note.text or note.title, 3_000)}},
        ]
        blocks += [{"type": "section", "fields": fields}] if fields else []
        if commands:
            text = f"```{_cut(_escape(commands), 2_900)}```"
            blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": text}})
        buttons = [
            {"type": "button", "text": {"type": "plain_text", "text": name}, "url": url}
            for name, url in (("Open in Holdfast", note.link), ("Runbook", note.runbook_url))
            if url and len(url) <= 3_000
        ]
        blocks += [{"type": "actions", "elements": buttons}] if buttons else []
        return ChannelRequest(
            url=self.url.read(), body=_encoded({"text": _cut(_escape(note.heading), 3_000), "blocks": blocks})
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerDuty(Route):
    routing_key: Secret
    url: str = PAGERDUTY

    def __post_init__(self) -> None:
        check_url("notifications.pagerduty.url", self.url)

    def request(self, note: Notification) -> ChannelRequest | None:
        """Events API v2: trigger, acknowledge and resolve share a dedup_key."""
        action = {NotifiedEvent.ACKNOWLEDGED: "acknowledge", NotifiedEvent.RESOLVED: "resolve"}.get(
            note.happened, "trigger"
        )
        event: dict[str, object] = {
            "routing_key": self.routing_key.read(),
            "event_action": action,
            "dedup_key": _cut(note.key, 255),
        }
        if action == "trigger":
            event |= {
                "client": "Holdfast",
                "payload": {
                    "summary": _cut(note.heading, 1_024),
                    "source": note.subject or "holdfast",
                    "severity": "critical" if _critical(note) else "warning",
                    "timestamp": datetime.fromtimestamp(note.since, UTC).isoformat(),
                    "group": note.owner,
                    "custom_details": {"detail": note.text, **dict(note.facts), "commands": list(note.commands)},
                },
                "links": [
                    {"href": url, "text": text}
                    for url, text in ((note.link, "Open in Holdfast"), (note.runbook_url, "Runbook"))
                    if url
                ],
            }
        return ChannelRequest(url=self.url, body=_encoded(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class Opsgenie(Route):
    api_key: Secret
    url: str = OPSGENIE

    def __post_init__(self) -> None:
        check_url("notifications.opsgenie.url", self.url)

    def request(self, note: Notification) -> ChannelRequest | None:
        """Alert API v2: the alias joins an alert with its acknowledgement and its end."""
        headers = {**JSON, "Authorization": f"GenieKey {self.api_key.read()}"}
        alias = _cut(note.key, 512)
        base = f"{self.url.rstrip('/')}/v2/alerts"
        ends = {NotifiedEvent.ACKNOWLEDGED: "acknowledge", NotifiedEvent.RESOLVED: "close"}
        if note.happened in ends:
            url = f"{base}/{quote(alias, safe='')}/{ends[note.happened]}?identifierType=alias"
            return ChannelRequest(
                url=url, headers=headers, body=_encoded({"source": "Holdfast", "note": _cut(note.heading, 25_000)})
            )
        body = {
            "message": _cut(note.heading, 130),
            "alias": alias,
            "description": _cut(note.plain, 15_000),
            "priority": "P1" if _critical(note) else "P3",
            "source": "Holdfast",
            "entity": _cut(note.subject, 512),
            "tags": ["holdfast", _cut(note.owner or "unowned", 50)],
            "details": {name: _cut(value, 1_000) for name, value in note.facts},
        }
        return ChannelRequest(url=base, headers=headers, body=_encoded(body))


@dataclass(frozen=True, slots=True, kw_only=True)
class Teams(Route):
    url: Secret
    """The address of a Workflows webhook ('when a Teams webhook request is received')."""

    def request(self, note: Notification) -> ChannelRequest | None:
        """One adaptive card; a message has at most 28 kB."""
        if note.happened is NotifiedEvent.ACKNOWLEDGED:
            return None
        colour = "good" if note.happened is NotifiedEvent.RESOLVED else "attention" if _critical(note) else "warning"
        body: list[dict[str, object]] = [
            {
                "type": "TextBlock", "text": _plain_card(note.heading, 500), "weight": "bolder", "size": "medium",
                "wrap": True, "color": colour,
            },
            {"type": "TextBlock", "text": _plain_card(note.text or note.title, 8_000), "wrap": True},
            {
                "type": "FactSet",
                "facts": [{"title": name, "value": _plain_card(value, 2_000)} for name, value in note.facts],
            },
        ]  # fmt: skip
        links = [
            {"type": "Action.OpenUrl", "title": title, "url": url}
            for title, url in (("Open in Holdfast", note.link), ("Runbook", note.runbook_url))
            if url
        ]
        card = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": body,
            "actions": links,
        }
        attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
        return ChannelRequest(url=self.url.read(), body=_encoded({"type": "message", "attachments": [attachment]}))


@dataclass(frozen=True, slots=True, kw_only=True)
class WebHook(Route):
    """A site's own receiver. `template` is JSON with $title, $text, $happened, $severity, $owner, $remedy, $price,
    $subject, $link, $runbook_url, $key and $since; values are put in as JSON strings without their quotes."""

    url: str
    template: str = (
        '{"key": "$key", "happened": "$happened", "severity": "$severity", "title": "$title", "text": "$text", '
        '"owner": "$owner", "remedy": "$remedy", "price": "$price", "subject": "$subject", "link": "$link", '
        '"runbook_url": "$runbook_url", "since": $since}'
    )
    bearer: Secret | None = None

    def __post_init__(self) -> None:
        check_url("notifications.webhook.url", self.url)
        probe = Notification(
            key="k", happened=NotifiedEvent.TEST, severity=Severity.WARNING, title="t", text="", since=0.0
        )
        try:
            json.loads(self._body(probe))
        except (KeyError, ValueError, RecursionError) as error:
            raise ValueError(f"notifications.webhook.template: expected JSON with known names: {error}") from None

    def request(self, note: Notification) -> ChannelRequest | None:
        headers = {**JSON, "Idempotency-Key": f"{note.key}:{note.happened.value}"}
        if self.bearer is not None:
            headers["Authorization"] = f"Bearer {self.bearer.read()}"
        return ChannelRequest(url=self.url, headers=headers, body=self._body(note).encode())

    def _body(self, note: Notification) -> str:
        texts = {"title": note.heading, "text": note.text, "happened": note.happened.value, "key": note.key}
        texts |= {"severity": note.severity.value, "owner": note.owner, "remedy": note.remedy, "price": note.price}
        texts |= {"subject": note.subject, "link": note.link, "runbook_url": note.runbook_url}
        values = {name: json.dumps(value)[1:-1] for name, value in texts.items()} | {"since": f"{note.since:.3f}"}
        return Template(self.template).substitute(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Email(Route):
    server: str
    """HOST:PORT of the SMTP server."""
    sender: str
    to: tuple[str, ...]
    starttls: bool = True
    username: str = ""
    password: Secret | None = None
    ca_file: str = ""

    def __post_init__(self) -> None:
        host, _, port = self.server.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"notifications.email.server: expected HOST:PORT, found {self.server!r}")
        if not self.to:
            raise ValueError("notifications.email.to: expected at least one address")

    def message(self, note: Notification) -> EmailMessage | None:
        """The e-mail; all e-mails of an item form one thread."""
        if note.happened is NotifiedEvent.ACKNOWLEDGED:
            return None
        made = EmailMessage()
        made["Subject"] = _cut(_one_line(f"[holdfast] {note.heading}"), 200)
        made["From"] = self.sender
        made["To"] = ", ".join(self.to)
        thread = f"<{re.sub(r'[^A-Za-z0-9.]+', '-', note.key)}@holdfast>"
        made["References"] = thread
        made["In-Reply-To"] = thread
        made["X-Holdfast-Key"] = _cut(_one_line(note.key), 200)
        made.set_content(note.plain + "\n")
        return made


Channel = Slack | PagerDuty | Opsgenie | Teams | WebHook | Email


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _escape(text: str) -> str:
    """Escapes the three special characters of Slack."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain_card(text: str, most: int) -> str:
    """Escapes Markdown for a card: the name of a job could be a misleading link."""
    return re.sub(r"([\\`*_\[\]()<>#~])", r"\\\1", _cut(text, most))


def _mrkdwn(head: str, text: str, most: int) -> str:
    """Slack text, cut after escaping and not within an entity."""
    return re.sub(r"&[a-z]*…$", "…", _cut(head + _escape(text), most))
