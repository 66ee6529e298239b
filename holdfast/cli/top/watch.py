"""What `holdfast top` knows of the fleet: a thread follows the controller's stream, and the last view outlives it."""

import json
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from holdfast.client.client import Client, trusted
from holdfast.model.refusal import Refusal

WHOLE_SECONDS = 30.0  # when a node was last heard travels with the whole only
SILENT_SECONDS = 40.0  # the stream says something every 15 s
RETRY_SECONDS = 2.0
MOST_INCIDENTS = 100

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """The fleet as it was last heard; `away` says what is wrong since then, '' while the stream lives."""

    fleet: dict[str, Any]
    nodes: dict[str, Node]
    incidents: tuple[dict[str, Any], ...]
    heard_at: float
    away: str = ""


class Watch:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.view = View({}, {}, (), 0.0)
        self._ended = threading.Event()
        self._whole_at = 0.0

    def start(self) -> None:
        threading.Thread(target=self._follow_for_ever, name="top", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def read_whole(self) -> None:
        """Raises Refusal when the controller does not answer or does not let us look."""
        fleet = self.client.get("/v1/fleet")
        nodes = self.client.get("/v1/nodes")["nodes"]
        self._read_incidents()
        now = self._whole_at = time.time()
        known = {node["name"]: {**node, "read_at": now} for node in nodes}
        self.view = replace(self.view, fleet=fleet, nodes=known, heard_at=now, away="")

    def _read_incidents(self) -> None:
        found = self.client.get("/v1/incidents", only="open", limit=MOST_INCIDENTS)
        self.view = replace(self.view, incidents=tuple(found["incidents"]))

    def _follow_for_ever(self) -> None:
        while not self._ended.is_set():
            try:
                self._follow()
            except (Refusal, ValueError, KeyError, TypeError) as trouble:
                self.view = replace(self.view, away=str(trouble) or "the stream ended")
            self._ended.wait(RETRY_SECONDS)

    def _follow(self) -> None:
        """The stream is opened before the whole is read, so that nothing falls between the two."""
        for kind, told in _stream(self.client):
            if self._ended.is_set():
                return
            now = time.time()
            if now - self._whole_at > WHOLE_SECONDS or self.view.away:
                self.read_whole()
            self._take(kind, told, now)

    def _take(self, kind: str, told: str, now: float) -> None:
        if kind == "fleet":
            self.view = replace(self.view, fleet=json.loads(told))
        elif kind == "node":
            node = json.loads(told)
            self.view.nodes[node["name"]] = {**node, "read_at": now}  # in place: there may be 12,500, and many events
        elif kind == "incident":
            self._read_incidents()
        self.view = replace(self.view, heard_at=now)


def _stream(client: Client) -> Iterator[tuple[str, str]]:
    """Events as (name, data); a comment is ('', '')."""
    import httpx

    headers = {"Authorization": f"Bearer {client.token}"} if client.token else {}
    patience = httpx.Timeout(15.0, read=SILENT_SECONDS)
    try:
        address = f"{client.url}/v1/stream"
        with httpx.stream(
            "GET", address, headers=headers, timeout=patience, trust_env=False, verify=trusted(address)
        ) as reply:
            if reply.status_code != 200:
                raise Refusal(f"the controller answered {reply.status_code}: {_error(reply.read())}")
            yield from events(reply.iter_lines())
    except httpx.HTTPError as error:
        raise Refusal(f"the controller does not answer: {error or type(error).__name__}") from None
    raise Refusal("the controller ended the stream")


def events(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Of a stream of server-sent events."""
    name = ""
    data: list[str] = []
    for line in lines:
        if line.startswith(":"):
            yield "", ""
        elif not line:
            if name:
                yield name, "\n".join(data)
            name, data = "", []
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())


def _error(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return "no reason given"
