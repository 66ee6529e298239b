"""A live view of the fleet: a thread follows the controller's stream; the last view survives a lost connection."""

import json
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

from holdfast.client.client import Client
from holdfast.model.refusal import Refusal

REFRESH_SECONDS = 30.0  # events do not contain the time of a node's last report
RETRY_SECONDS = 2.0
MOST_INCIDENTS = 100

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LiveFleet:
    """The fleet as last received. `error` says why it is no longer live; '' while the stream is open."""

    fleet: dict[str, Any]
    nodes: dict[str, Node]
    incidents: tuple[dict[str, Any], ...]
    received_at: float
    error: str = ""


class FleetWatch:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.view = LiveFleet({}, {}, (), 0.0)
        self._stopped = threading.Event()
        self._read_at = float("-inf")  # on the monotonic clock

    def start(self) -> None:
        threading.Thread(target=self._follow_until_stopped, name="fleet-watch", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def read_all(self) -> None:
        """Raises Refusal when the controller does not answer or refuses the token."""
        fleet = self.client.get("/v1/fleet")
        nodes = self.client.get("/v1/nodes")["nodes"]
        self._read_incidents()
        now, self._read_at = time.time(), time.monotonic()
        known = {node["name"]: {**node, "read_at": now} for node in nodes}
        self.view = replace(self.view, fleet=fleet, nodes=known, received_at=now, error="")

    def _read_incidents(self) -> None:
        found = self.client.get("/v1/incidents", only="open", limit=MOST_INCIDENTS)
        self.view = replace(self.view, incidents=tuple(found["incidents"]))

    def _follow_until_stopped(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow()
            except (Refusal, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                self.view = replace(self.view, error=str(error) or "the stream ended")
            self._stopped.wait(RETRY_SECONDS)

    def _follow(self) -> None:
        """Opens the stream before it reads everything, so that no change is lost between the two."""
        for kind, data in self.client.stream():
            if self._stopped.is_set():
                return
            now = time.time()
            if time.monotonic() - self._read_at > REFRESH_SECONDS or self.view.error:
                self.read_all()
            self._apply(kind, data, now)

    def _apply(self, kind: str, data: str, now: float) -> None:
        if kind == "fleet":
            self.view = replace(self.view, fleet=json.loads(data))
        elif kind == "node":
            node = json.loads(data)
            self.view.nodes[node["name"]] = {**node, "read_at": now}  # in place: there may be 12,500, and many events
        elif kind == "incident":
            self._read_incidents()
        self.view = replace(self.view, received_at=now)
