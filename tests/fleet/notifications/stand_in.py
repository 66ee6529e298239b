"""A server that stands in for Slack, PagerDuty, Opsgenie and Teams: it takes only what each documents."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

SLACK_BLOCKS = {"header", "section", "actions", "divider", "context"}
SEVERITIES = {"critical", "error", "warning", "info"}


def slack(path: str, headers: Any, body: Any) -> str:
    """https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and the Block Kit reference."""
    if not isinstance(body.get("text"), str) or not body["text"]:
        return "no_text"
    blocks = body.get("blocks", [])
    if len(blocks) > 50:
        return "invalid_blocks: more than 50"
    return next((why for one in blocks if (why := _slack_block(one))), "")


def _slack_block(block: Any) -> str:
    if block["type"] not in SLACK_BLOCKS:
        return "invalid_blocks: type"
    text = block.get("text")
    if block["type"] == "header" and (text["type"] != "plain_text" or not 0 < len(text["text"]) <= 150):
        return "invalid_blocks: header"
    if block["type"] == "section":
        if text is None and not 0 < len(block.get("fields", [])) <= 10:
            return "invalid_blocks: section without text or fields"
        if text is not None and not 0 < len(text["text"]) <= 3000:
            return "invalid_blocks: section text"
        if any(not 0 < len(one["text"]) <= 2000 for one in block.get("fields", [])):
            return "invalid_blocks: field"
    if block["type"] == "actions":
        for one in block["elements"]:
            if one["type"] != "button" or len(one["text"]["text"]) > 75 or not one["url"].startswith("http"):
                return "invalid_blocks: button"
    return ""


def pagerduty(path: str, headers: Any, body: Any) -> str:
    """https://developer.pagerduty.com/docs/events-api-v2/trigger-events"""
    if path != "/v2/enqueue" or body.get("routing_key") != "R" * 32:
        return "invalid routing key"
    if body["event_action"] not in ("trigger", "acknowledge", "resolve") or not 0 < len(body["dedup_key"]) <= 255:
        return "invalid event"
    if body["event_action"] != "trigger":
        return ""
    payload = body["payload"]
    if not 0 < len(payload["summary"]) <= 1024 or not payload["source"] or payload["severity"] not in SEVERITIES:
        return "invalid payload"
    return "" if all(one["href"].startswith("http") for one in body.get("links", [])) else "invalid links"


def opsgenie(path: str, headers: Any, body: Any) -> str:
    """https://docs.opsgenie.com/docs/alert-api"""
    if headers.get("Authorization") != "GenieKey secret-key":
        return "Could not authenticate"
    url = urlsplit(path)
    parts = url.path.split("/")
    if len(parts) == 5 and parts[4] in ("close", "acknowledge"):
        good = parse_qs(url.query) == {"identifierType": ["alias"]} and 0 < len(unquote(parts[3])) <= 512
        return "" if good and len(body.get("source", "")) <= 100 else "invalid identifier"
    if url.path != "/v2/alerts" or not 0 < len(body["message"]) <= 130 or len(body["alias"]) > 512:
        return "invalid alert"
    if body["priority"] not in ("P1", "P2", "P3", "P4", "P5") or len(body["tags"]) > 20:
        return "invalid priority or tags"
    if len(body["description"]) > 15_000 or any(len(tag) > 50 for tag in body["tags"]):
        return "too long"
    return "" if all(isinstance(value, str) for value in body["details"].values()) else "details are text"


def teams(path: str, headers: Any, body: Any) -> str:
    """https://learn.microsoft.com/power-automate/teams/send-a-message-in-teams and the Adaptive Card schema 1.4."""
    if body.get("type") != "message" or len(json.dumps(body)) > 28_000:
        return "bad message"
    (attachment,) = body["attachments"]
    card = attachment["content"]
    if attachment["contentType"] != "application/vnd.microsoft.card.adaptive" or card["type"] != "AdaptiveCard":
        return "bad attachment"
    known = {"TextBlock", "FactSet"}
    if card["version"] != "1.4" or any(one["type"] not in known for one in card["body"]):
        return "bad card"
    return "" if all(one["type"] == "Action.OpenUrl" for one in card["actions"]) else "bad action"


class StandIn:
    """`taken` has (channel, path, body) of every message that was accepted; others are answered with 400."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str, Any]] = []
        self.refused: list[str] = []
        self.url = ""

    def take(self, path: str, headers: Any, body: Any) -> str:
        for prefix, name, check in (
            ("/services/", "slack", slack),
            ("/v2/enqueue", "pagerduty", pagerduty),
            ("/v2/alerts", "opsgenie", opsgenie),
            ("/workflows/", "teams", teams),
        ):
            if path.startswith(prefix):
                why = check(path, headers, body)
                (self.refused.append(why) if why else self.taken.append((name, path, body)))
                return why
        self.taken.append(("webhook", path, (dict(headers), body)))
        return ""


@contextmanager
def serving_in() -> Iterator[StandIn]:
    made = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                json_typed = self.headers["Content-Type"] == "application/json"
                why = made.take(self.path, self.headers, json.loads(raw)) if json_typed else "not JSON"
            except (KeyError, TypeError, ValueError) as error:
                why = f"malformed: {error!r}"
                made.refused.append(why)
            self.send_response(400 if why else 202)
            self.send_header("Content-Length", str(len(why)))
            self.end_headers()
            self.wfile.write(why.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Tests look at what was taken."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
