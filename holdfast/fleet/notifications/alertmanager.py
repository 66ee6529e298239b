"""Seam alerts to Alertmanager and webhooks: one per root cause.

Alertmanager gets an alert repeatedly while it lasts, as it expects. A webhook gets it once when the incident opens,
when its cause changes, and when it ends. After a restart a webhook may get it again, with the same key.
"""

import asyncio
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from holdfast.fleet.actions.secret import Secret
from holdfast.model.account import Account
from holdfast.model.incident import Incident, IncidentState
from holdfast.runtime import http
from holdfast.runtime.components import Components, described, in_thread
from holdfast.runtime.errors import NoAnswer

log = logging.getLogger("holdfast.fleet.controller")
LASTS_REPEATS = 4  # an alert expires in Alertmanager after this many missing repeats
TRIES = 6
COMPONENT = "alert texts"
FIRST_PAUSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertHook:
    url: str
    timeout: float = 10.0
    bearer: Secret | None = None
    signing_key: Secret | None = None
    """X-Holdfast-Signature is then sha256= and the HMAC of the body."""
    ca_file: str = ""

    def __post_init__(self) -> None:
        http.check_url("alerts.webhook.url", self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSettings:
    alertmanagers: tuple[str, ...] = ()
    """Addresses such as http://alertmanager:9093; every one of a cluster gets each alert."""
    repeat_seconds: float = 60.0
    runbooks: str = ""
    """Where the runbooks are to be read: runbooks/KIND.md stands under it."""
    webhook: tuple[AlertHook, ...] = ()

    def __post_init__(self) -> None:
        for url in self.alertmanagers:
            http.check_url("alerts.alertmanagers", url)
        if self.repeat_seconds <= 0:
            raise ValueError("alerts.repeat_seconds: expected more than 0")


@dataclass(slots=True)
class _Post:
    """One message to one address, kept until it is delivered or dropped."""

    hook: AlertHook
    key: str
    body: bytes
    ends: int = 0  # number of alerts that it ends under old labels
    tries: int = 0
    due: float = 0.0


@dataclass(slots=True)
class Alerts:
    settings: AlertSettings
    components: Components = field(default_factory=Components)
    _reported: dict[str, tuple[tuple[str, str], Incident]] = field(default_factory=dict)
    """By root: kind and severity as they were reported, and of what."""
    _repeated: dict[str, float] = field(default_factory=dict)
    _posts: list[_Post] = field(default_factory=list)

    def stand(self, open_: Sequence[Incident]) -> None:
        """Takes the seams' current incidents and queues the changes. An incident that cannot be reported does not block
        the others or the caller."""
        now = time.time()  # Alertmanager compares times with its own clock
        current = {one.subject: one for one in open_}
        reports = [(root, partial(self._over, root, now)) for root in self._reported.keys() - current.keys()]
        reports += [(root, partial(self._stands, root, incident, now)) for root, incident in current.items()]
        failed = False
        for root, report in reports:
            try:
                report()
            except Exception as error:
                failed = True
                log.exception("the alert of %r could not be written", root)
                self.components.failed(COMPONENT, described(error))
        if not failed:
            self.components.succeeded(COMPONENT)

    def _over(self, root: str, now: float) -> None:
        (_, severity), known = self._reported.pop(root)
        self._repeated.pop(root, None)
        self._alertmanagers(root, [alert(known, severity, now, self.settings.runbooks)])
        self._hooks("closed", known)

    def _stands(self, root: str, incident: Incident, now: float) -> None:
        before = self._reported.get(root)
        called = (incident.cause, _severity(incident, before[0] if before else ("", "")))
        repeated = self._repeated.get(root)
        due = repeated is None or time.monotonic() - repeated >= self.settings.repeat_seconds
        another = before is not None and before[0] != called
        self._reported[root] = (called, incident)
        if before is None or another:
            self._hooks("changed" if another else "opened", incident)
        if not (due or another):
            return
        self._repeated[root] = time.monotonic()
        runbooks = self.settings.runbooks
        reported = [alert(incident, called[1], now + LASTS_REPEATS * self.settings.repeat_seconds, runbooks)]
        if another and before is not None:  # the alert with the old labels ends in the same message
            reported.append(alert(before[1], before[0][1], now, runbooks))
        self._alertmanagers(root, reported)

    def _hooks(self, happened: str, incident: Incident) -> None:
        body = json.dumps(message(happened, incident, self.settings.runbooks)).encode()
        state = happened if happened == "closed" else self._reported[incident.subject][0][1]
        key = f"{incident.id}:{incident.cause}:{state}"
        self._posts += [_Post(hook, key, body) for hook in self.settings.webhook]

    def _alertmanagers(self, root: str, reported: list[dict[str, Any]]) -> None:
        """Queues messages to Alertmanagers.

        An older queued message of the same root is dropped unless it ends an alert.
        """
        body = json.dumps(reported).encode()
        for url in self.settings.alertmanagers:
            hook = AlertHook(url=url.rstrip("/") + "/api/v2/alerts")
            stale = (one for one in self._posts if one.hook.url == hook.url and one.key == root and one.ends == 0)
            for one in list(stale):
                self._posts.remove(one)
            self._posts.append(_Post(hook, root, body, ends=len(reported) - 1))

    async def run(self) -> None:
        """Sends queued messages; an address that does not answer blocks no other."""
        while True:
            due = [one for one in self._posts if one.due <= time.monotonic()]
            if due:
                await asyncio.gather(*(self._send(one) for one in due))
            await asyncio.sleep(0.2)

    async def _send(self, post: _Post) -> None:
        """Sends one message to one address; an error does not affect the others."""
        try:
            trouble, final = await asyncio.to_thread(in_thread, _deliver, post)
        except Exception as error:
            log.exception("an alert to %s could not be sent", http.shown(post.hook.url))
            trouble, final = described(error), False
        post.tries += 1
        name = f"alerts {http.shown(post.hook.url)}"
        if trouble:
            self.components.failed(name, trouble)
        else:
            self.components.succeeded(name)
        if trouble and not final and post.tries < TRIES:
            post.due = time.monotonic() + FIRST_PAUSE_SECONDS * 2**post.tries
            return
        if trouble:
            log.warning("an alert was not delivered: %s", trouble)
        if post in self._posts:
            self._posts.remove(post)


def _deliver(post: _Post) -> tuple[str, bool]:
    """Delivers a message; returns (error, whether a retry is useless)."""
    headers = {"Content-Type": "application/json", "User-Agent": "holdfast", "Idempotency-Key": http.header(post.key)}
    try:
        if post.hook.bearer is not None:
            headers["Authorization"] = f"Bearer {post.hook.bearer.read()}"
        if post.hook.signing_key is not None:
            key = post.hook.signing_key.read().encode()
            headers["X-Holdfast-Signature"] = f"sha256={hmac.new(key, post.body, hashlib.sha256).hexdigest()}"
        tls = http.tls_for(post.hook.url, post.hook.ca_file)
        reply = http.send("POST", post.hook.url, headers, post.body, post.hook.timeout, tls)
    except NoAnswer as error:
        return str(error), not error.retryable
    if 200 <= reply.status < 300:
        return "", True
    return f"{http.shown(post.hook.url)} answered {reply.status}: {reply.message}", not reply.retryable


def _severity(incident: Incident, before: tuple[str, str]) -> str:
    """The severity: critical once a run loses work by the incident, and then as long as its kind is the same."""
    losing = incident.account is not None and incident.account.bill.gpu_hours_per_hour > 0
    return "critical" if losing or before == (incident.cause, "critical") else "warning"


def alert(incident: Incident, severity: str, ends: float, runbooks: str) -> dict[str, Any]:
    """The alert in Alertmanager's format. Labels contain only the root, so that it stays one alert."""
    account = incident.account or Account(kind=incident.cause, confidence=0.0, since=incident.opened, lasted_seconds=0)
    reported = message("firing", incident, runbooks)
    return {
        "labels": {
            "alertname": "HoldfastSeam",
            "root": incident.subject,
            "kind": incident.cause,
            "severity": severity,
            "owner": account.owners[0] if account.owners else "unowned",
        },
        "annotations": {
            "summary": reported["sentence"],
            "runbook_url": reported["runbook"],
            "path": "\n".join(account.path[:10]),
            "cost_so_far": _priced(reported["cost_so_far"], account.bill.currency),
            "cost_if_it_goes_on": _priced(reported["cost_if_it_goes_on"], account.bill.currency),
            "incident": incident.id,
        },
        "startsAt": _time(min(incident.opened, ends)),
        "endsAt": _time(ends),
    }


def _priced(cost: float | None, currency: str) -> str:
    return "not measured" if cost is None else f"{cost:.0f} {currency}"


def message(happened: str, incident: Incident, runbooks: str) -> dict[str, Any]:
    account = incident.account or Account(kind=incident.cause, confidence=0.0, since=incident.opened, lasted_seconds=0)
    bill = account.bill
    state = IncidentState.CLOSED.value if happened == "closed" else IncidentState.OPEN.value
    return {
        "happened": happened,
        "incident": incident.id,
        "state": state,
        "root": incident.subject,
        "kind": account.kind,
        "confidence": round(account.confidence, 3),
        "since": account.since,
        "sentence": account.sentence or incident.reason,
        "gpu_hours_per_hour": bill.gpu_hours_per_hour if bill.measured else None,
        "gpu_hours_so_far": bill.gpu_hours if bill.measured else None,
        "cost_so_far": bill.total_so_far if bill.measured else None,
        "cost_if_it_goes_on": bill.total_if_it_goes_on if bill.measured else None,
        "currency": account.bill.currency,
        "owners": list(account.owners),
        "on_call": dict(account.on_call),
        "runbook": f"{runbooks.rstrip('/')}/{account.runbook}.md" if runbooks else f"runbooks/{account.runbook}.md",
        "path": list(account.path),
        "nodes_left_in_service": list(incident.evidence),
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
