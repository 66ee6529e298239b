"""Webhook for a verb: a JSON body with placeholders, posted with an idempotency key.

With a secret the body is signed: X-Holdfast-Signature is sha256= and the HMAC of the body. The key in the body shows
replays.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.fleet.actions import template
from holdfast.fleet.actions.backend import ActionOutcome, done, failed, refused, unanswered, would
from holdfast.fleet.actions.secret import Secret
from holdfast.model.lifecycle import Action, Verb
from holdfast.runtime import http
from holdfast.runtime.errors import NoAnswer

DEFAULT_BODY = {name: f"{{{name}}}" for name in template.PLACEHOLDERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    url: str
    verbs: frozenset[Verb]
    body: Mapping[str, object] = field(default_factory=lambda: dict(DEFAULT_BODY))
    """Sent as JSON, with {node} {verb} {reason} {cause} {key} filled in wherever text stands."""
    timeout: float = 10.0
    """Seconds for the connection and for each wait on it."""
    signing_key: Secret | None = None
    bearer: Secret | None = None
    """Sent as 'Authorization: Bearer ...'."""
    ca_file: str = ""
    idempotent: bool = False
    """The receiver carries out an Idempotency-Key once: an action that may have run is posted again."""

    def __post_init__(self) -> None:
        http.check_url("webhook.url", self.url)
        template.check("webhook.body", self.body)


class Webhook:
    def __init__(self, settings: WebhookSettings, name: str = "webhook") -> None:
        """Each webhook has its own name and threads, so that one without an answer does not block others."""
        self.name = name
        self._settings = settings
        self._where = http.shown(settings.url)
        self._tls = http.tls_for(settings.url, settings.ca_file)
        self.verbs = settings.verbs
        self.idempotent = settings.idempotent

    def did_run(self, action: Action) -> bool | None:
        return None

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        if action.verb not in self.verbs:
            return refused(f"the webhook {self._where} is not for {action.verb.value}")
        body = json.dumps(template.fill_all(self._settings.body, action)).encode()
        if dry_run:
            return would(f"post to {self._where}: {body.decode()}")
        try:
            headers = self._headers(action, body)
            reply = http.send("POST", self._settings.url, headers, body, self._settings.timeout, self._tls)
        except NoAnswer as error:
            return unanswered(error)
        return self._judge(reply)

    def _headers(self, action: Action, body: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "holdfast",
            "Idempotency-Key": http.header(template.fill("{key}", action)),
        }
        if self._settings.signing_key is not None:
            key = self._settings.signing_key.read().encode()
            headers["X-Holdfast-Signature"] = f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}"
        if self._settings.bearer is not None:
            headers["Authorization"] = f"Bearer {self._settings.bearer.read()}"
        return headers

    def _judge(self, reply: http.Reply) -> ActionOutcome:
        message = f"{self._where} answered {reply.status}{': ' + reply.message if reply.message else ''}"
        if 200 <= reply.status < 300:
            return done(message)
        if 300 <= reply.status < 400:
            return failed(f"{message}; redirects are not followed", retryable=False)
        return failed(message, retryable=reply.retryable, not_begun=reply.not_begun)
