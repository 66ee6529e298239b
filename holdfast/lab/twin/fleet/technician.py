"""Simulated staff on site: a technician who repairs nodes that wait for an operator, and planned maintenance."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from holdfast.lab.twin.fleet.connection import Connection, ControllerUnreachable
from holdfast.lab.twin.fleet.kinds import PlannedVisit
from holdfast.model.lifecycle import OUT_OF_SERVICE
from holdfast.runtime import codec

if TYPE_CHECKING:
    from holdfast.lab.twin.fleet.simulation import Simulation

log = logging.getLogger("holdfast.lab.twin.fleet")
POLL_SECONDS = 2.0
VISIT_SECONDS = 3600.0  # from the ticket to the repaired node
ANNOUNCED = 1.5  # announced duration relative to the expected one
OPERATOR = "operator"  # cause of a quarantine that an operator requested
CALLED = "a technician is on the way"
CHANGED = "a technician changed the broken parts"


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """A request of an operator to the controller."""

    verb: str  # quarantine or release
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class WorkNotice:
    """Planned work, as an operator announces it in advance."""

    name: str
    nodes: tuple[str, ...]
    seconds: float


class Technician:
    """Visits in virtual time, one per ticket."""

    def __init__(self, simulation: "Simulation") -> None:
        self._fleet = simulation
        self._nodes = {node.name: node for node in simulation.nodes}
        self._tickets: set[str] = set()
        self._requests: list[NodeRequest] = []
        self._notices: list[WorkNotice] = []
        for visit in simulation.scenario.visits:
            simulation.clock.at(visit.at, partial(self._begin, visit))

    def call(self, ticket: str, name: str, *, out: bool = True) -> bool:
        """Starts a visit and returns whether it did: not for a ticket that already had one, nor for a node of
        another fleet. `out`: the node is released afterwards."""
        if ticket in self._tickets or name not in self._nodes:
            return False
        self._tickets.add(ticket)
        spread = 0.5 + self._fleet.rng.uniform("visit", self._nodes[name].index, int(self._fleet.now))
        self._fleet.clock.after(VISIT_SECONDS * spread, partial(self._repair, name, out))
        return True

    def take_requests(self) -> list[NodeRequest]:
        """Requests that are due; each is returned once."""
        due, self._requests = self._requests, []
        return due

    def take_notices(self) -> list[WorkNotice]:
        due, self._notices = self._notices, []
        return due

    def _begin(self, visit: PlannedVisit) -> None:
        nodes = [node.name for node in self._fleet.nodes[visit.first - 1 :][: visit.count]]
        self._notices.append(WorkNotice(visit.what, tuple(nodes), visit.lasts * ANNOUNCED))
        self._ask("quarantine", nodes, f"planned maintenance: {visit.what}")
        done = partial(self._ask, "release", nodes, f"planned maintenance is done: {visit.what}")
        self._fleet.clock.after(visit.lasts, done)
        if visit.every:
            self._fleet.clock.after(visit.every, partial(self._begin, visit))

    def _ask(self, verb: str, nodes: Sequence[str], reason: str) -> None:
        self._requests += [NodeRequest(verb, node, reason) for node in nodes]

    def _repair(self, name: str, out: bool) -> None:
        node = self._nodes[name]
        broken = ", ".join(dict.fromkeys(fault.kind.name.replace("_", " ") for fault in node.faults))
        self._fleet.repair(node, list(node.faults))
        if out:
            self._ask("release", [name], f"{CHANGED}: {broken}" if broken else "a technician found nothing broken")


_OUT = frozenset(stage.value for stage in OUT_OF_SERVICE)


class _Item(msgspec.Struct):
    key: str
    kind: str
    subject: str


class _Node(msgspec.Struct):
    cause: str = ""
    stage: str = ""


class _Inbox(msgspec.Struct):
    items: list[_Item]


class Tickets:
    """Takes the technician's tickets from the controller's inbox and answers them there."""

    def __init__(self, technician: Technician, url: str, token: str, ca_file: str = "", *, speed: float = 1.0) -> None:
        self._technician, self._token, self._speed = technician, token, speed
        self._connection = Connection(url, ca_file)
        self._trouble = ""

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self._round()
                self._trouble = ""
            except (ControllerUnreachable, msgspec.DecodeError) as error:
                if str(error) != self._trouble:
                    log.warning("the technician: %s", error)
                self._trouble = str(error)

    async def _round(self) -> None:
        body = await self._request("GET", "/v1/inbox")
        for item in codec.decode(body, _Inbox).items:
            # an item about many nodes is not for one technician
            if item.kind == "node" and item.subject.startswith("node/"):
                await self._answer(item, item.subject.partition("/")[2])
        for notice in self._technician.take_notices():
            await self._announce(notice)
        for one in self._technician.take_requests():
            await self._request("POST", f"/v1/nodes/{quote(one.node)}/{one.verb}", reason=one.reason)

    async def _announce(self, notice: WorkNotice) -> None:
        start = time.time()
        subjects = [f"node/{node}" for node in notice.nodes]
        end = start + notice.seconds / self._speed
        await self._request("POST", "/v1/planned", name=notice.name, subjects=subjects, start=start, end=end)

    async def _answer(self, item: _Item, node: str) -> None:
        """Releases the repaired node, unless an operator took it out of service."""
        about = codec.decode(await self._request("GET", f"/v1/nodes/{quote(node)}"), _Node)
        out = about.stage in _OUT
        if (about.cause != OPERATOR or not out) and self._technician.call(item.key, node, out=out):
            await self._request("POST", "/v1/inbox", item=item.key, action="acknowledge", comment=CALLED)

    async def _request(self, method: str, path: str, **fields: object) -> bytes:
        body = msgspec.json.encode(fields) if fields else b""
        status, answer = await self._connection.request(method, path, body, self._token)
        if status != 200:
            raise ControllerUnreachable(f"{path}: {status}: {answer[:200].decode('utf-8', 'replace')}")
        return answer
