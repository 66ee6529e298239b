"""Sends notifications to their channels, each with its own timeout, so that one that hangs blocks no other."""

import asyncio
import logging
import smtplib
import ssl
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.fleet.notifications.channels import Channel, Email
from holdfast.fleet.notifications.message import Notification
from holdfast.runtime import http
from holdfast.runtime.errors import NoAnswer

log = logging.getLogger("holdfast.fleet.notifications")
TRIES = 6
FIRST_PAUSE_SECONDS = 2.0
MOST_WAITING = 1_000


@dataclass(slots=True)
class _Letter:
    name: str
    channel: Channel
    note: Notification
    tries: int = 0
    due: float = 0.0


@dataclass(slots=True)
class Outbox:
    channels: Sequence[tuple[str, Channel]]
    """With the name that the log calls each by: slack[0]."""
    sent: int = 0
    failed: int = 0
    _waiting: list[_Letter] = field(default_factory=list)

    def put(self, notes: Iterable[Notification]) -> None:
        new = [_Letter(name, one, note) for note in notes for name, one in self.channels if one.wants(note)]
        room = MOST_WAITING - len(self._waiting)
        if len(new) > room:
            self.failed += len(new) - room
            log.warning("%d notifications were dropped: %d are already waiting", len(new) - room, len(self._waiting))
        self._waiting += new[: max(0, room)]

    async def run(self) -> None:
        while True:
            now = time.monotonic()
            due = [one for one in self._waiting if one.due <= now]
            if due:
                await asyncio.gather(*(self._send(one) for one in due))
            await asyncio.sleep(0.2)

    async def _send(self, letter: _Letter) -> None:
        trouble, final = await asyncio.to_thread(deliver, letter.channel, letter.note)
        letter.tries += 1
        if trouble and not final and letter.tries < TRIES:
            letter.due = time.monotonic() + FIRST_PAUSE_SECONDS * 2**letter.tries
            return
        self._waiting.remove(letter)
        if trouble:
            self.failed += 1
            log.warning("a notification was not delivered to %s: %s", letter.name, trouble)
        else:
            self.sent += 1


def deliver(channel: Channel, note: Notification) -> tuple[str, bool]:
    """Delivers a notification; returns (error, whether a retry is useless). A change without a message in the channel
    counts as delivered."""
    try:
        if isinstance(channel, Email):
            return _mail(channel, note)
        request = channel.request(note)
        if request is None:
            return "", True
        headers = {**request.headers, "User-Agent": "holdfast"}
        reply = http.send("POST", request.url, headers, request.body, channel.timeout, http.tls_for(request.url))
    except NoAnswer as error:
        return str(error), not error.retryable
    except Exception as error:  # a channel must never end the controller
        log.exception("a notification could not be written")
        return f"{type(error).__name__}: {error}", True
    if 200 <= reply.status < 300:
        return "", True
    return f"{http.shown(request.url)} answered {reply.status}: {reply.message}", not reply.retryable


def _mail(channel: Email, note: Notification) -> tuple[str, bool]:
    message = channel.message(note)
    if message is None:
        return "", True
    host, _, port = channel.server.rpartition(":")
    try:
        with smtplib.SMTP(host.strip("[]"), int(port), timeout=channel.timeout) as server:
            if channel.starttls:
                server.starttls(context=ssl.create_default_context(cafile=channel.ca_file or None))
            if channel.username:
                server.login(channel.username, channel.password.read() if channel.password else "")
            server.send_message(message)
    except smtplib.SMTPResponseException as error:
        return f"{channel.server} answered {error.smtp_code}: {error.smtp_error!r}", error.smtp_code >= 500
    except (OSError, smtplib.SMTPException) as error:
        return f"{channel.server}: {error}", False
    return "", True
