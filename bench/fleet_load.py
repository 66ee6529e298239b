"""The load generator plays a fleet of agents. It reads commands as JSON lines and answers each with one."""

import asyncio
import json
import math
import random
import resource
import ssl
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import uvloop

from fleet_agents import CHECKS, HEARTBEAT_SECONDS, Agent, Connection, Tally, Wire, request, source_of
from fleet_prepared import credential, name, place
from measure import quantile

ENROLLING = 64  # connections
WARMING_SECONDS = 300.0
SETTLING_SECONDS = 5.0  # in which the last drains come in
FOLLOWING_UP_SECONDS = 12.0  # until the heartbeats after news have ended by themselves


def wire(url: str, certificate: str) -> Wire:
    parts = urlsplit(url)
    tls = ssl.create_default_context(cafile=certificate) if parts.scheme == "https" else None
    assert parts.hostname is not None and parts.port is not None
    return Wire(parts.hostname, parts.port, tls)


def spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    named = {"p50": quantile(values, 0.5), "p99": quantile(values, 0.99), "max": max(values)}
    return {f"{name}_ms": round(value * 1000, 1) for name, value in named.items()}


class Crowd:
    def __init__(self, wires: list[Wire], nodes: int, hook: "Hook") -> None:
        self._wires, self._hook = wires, hook
        self._opened = -1
        self.tally = Tally()
        self.agents = [Agent(name(number), wires, self.tally, source_of(number)) for number in range(nodes)]

    async def enrol(self, join_token: str) -> dict[str, Any]:
        """Every agent asks for its own credential, over the API that real ones use, and begins to report."""
        began = time.perf_counter()
        left = iter(enumerate(self.agents))
        await asyncio.gather(*(self._enrol_some(left, join_token) for _ in range(ENROLLING)))
        return {"enrol_seconds": round(time.perf_counter() - began, 1)}

    async def known(self, secret: str) -> dict[str, Any]:
        """Every agent has its credential already: the store was prepared (`fleet_prepared.py`)."""
        for agent in self.agents:
            agent.credential = credential(secret, agent.name)
            agent.beat_for_ever(random.uniform(0.0, HEARTBEAT_SECONDS))
        return {}

    async def _open(self, answers: "asyncio.Queue[tuple[int, bytes]]") -> Connection:
        """To one controller after the other: the lead may move while a fleet enrols."""
        self._opened += 1
        wire = self._wires[self._opened % len(self._wires)]
        return await wire.open(source_of(0), lambda status, body: answers.put_nowait((status, body)), lambda: None)

    async def _enrol_some(self, left: Any, join_token: str) -> None:
        answers: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        connection = await self._open(answers)
        for number, agent in left:
            ask = {"node": agent.name, "join_token": join_token, "pool": "train", "place": place(number)}
            connection, made = await self._ask(connection, answers, ask)
            agent.credential = made["credential"]
            agent.beat_for_ever(random.uniform(0.0, HEARTBEAT_SECONDS))
        assert connection.transport is not None
        connection.transport.close()

    async def _ask(
        self, connection: Connection, answers: "asyncio.Queue[tuple[int, bytes]]", ask: Any
    ) -> tuple[Connection, Any]:
        while True:
            assert connection.transport is not None
            connection.transport.write(request("/v1/enrol", "", json.dumps(ask).encode()))
            status, body = await answers.get()
            if status == 200:
                return connection, json.loads(body)
            if status == 307:
                connection.abandon()
                connection = await self._open(answers)
                continue
            if status != 503:
                raise SystemExit(f"enrolment was refused: {body.decode()}")
            self.tally.counts["enrolments asked to wait"] += 1
            await asyncio.sleep(1)

    async def connected(self) -> dict[str, Any]:
        """Until every agent has reported once: their connections are open."""
        began = time.perf_counter()
        while not all(agent.acknowledged for agent in self.agents):
            if time.perf_counter() - began > WARMING_SECONDS:
                missing = sum(not agent.acknowledged for agent in self.agents)
                raise SystemExit(f"{missing} agents have not reported: {dict(self.tally.counts)}")
            await asyncio.sleep(0.5)
        return {"connected_seconds": round(time.perf_counter() - began, 1)}

    async def warm(self) -> dict[str, Any]:
        """Until every node was ordered to test itself and has passed."""
        began = time.perf_counter()
        while self.tally.ready < len(self.agents):
            if time.perf_counter() - began > WARMING_SECONDS:
                raise SystemExit(f"only {self.tally.ready} nodes became ready: {dict(self.tally.counts)}")
            await asyncio.sleep(0.5)
        return {"ready_seconds": round(time.perf_counter() - began, 1), "warming": dict(self.tally.counts)}

    async def first_reports(self) -> dict[str, Any]:
        """Every agent reports all its verdicts at once, as after the restart of a whole fleet."""
        before, began = sum(agent.acknowledged for agent in self.agents), time.perf_counter()
        for agent in self.agents:
            agent.first()
        while not all(agent.first_took for agent in self.agents):
            await asyncio.sleep(0.1)
        took = time.perf_counter() - began
        result = sum(agent.acknowledged for agent in self.agents) - before
        return {
            "first_reports_seconds": round(took, 1),
            "first_reports": result,
            "first_report": spread([agent.first_took for agent in self.agents]),
            "verdicts_per_node": len(CHECKS),
        }

    async def sustain(self, seconds: float, share_per_minute: float, draining: float = 0.0) -> dict[str, Any]:
        """Heartbeats go on; beside them nodes fail, each at most once, evenly over time. Then it waits at most
        `draining` seconds until all of them are drained."""
        interval = 60 / (share_per_minute * len(self.agents))
        self.tally.counts.clear()
        self.tally.measures_from = time.perf_counter()
        failing = random.Random(7).sample(self.agents, min(len(self.agents), int(seconds / interval)))
        before, began = sum(agent.acknowledged for agent in self.agents), time.perf_counter()
        for number, agent in enumerate(failing):
            await asyncio.sleep(max(0.0, began + number * interval - time.perf_counter()))
            agent.fail()
        await asyncio.sleep(max(0.0, began + seconds - time.perf_counter()))
        took = time.perf_counter() - began
        self.tally.measures_from = math.inf
        result = sum(agent.acknowledged for agent in self.agents) - before
        await asyncio.sleep(SETTLING_SECONDS)
        called, last = self._hook.called, time.perf_counter() + draining
        while self.undrained and time.perf_counter() < last:
            await asyncio.sleep(0.5)
        drained = [(at, called[node] - at) for node, at in self.tally.failed_at.items() if node in called]
        drains = [seconds for _, seconds in drained]
        return {
            "seconds": round(took, 1),
            "reports": result,
            "reports_per_second": round(result / took, 1),
            "failures": len(failing),
            "drains": len(drains),
            "met": dict(self.tally.counts),
            "ingest": spread(self.tally.latencies),
            "drain": spread(drains),
            "drained": drained,
            "undrained": self.undrained,
        }

    @property
    def undrained(self) -> list[str]:
        return sorted(self.tally.failed_at.keys() - self._hook.called.keys())

    async def quiet(self) -> dict[str, Any]:
        """Nothing more is begun; what waits is sent. Afterwards the store must hold all of this."""
        for agent in self.agents:
            agent.rest()
        while not all(agent.quiet for agent in self.agents):
            await asyncio.sleep(0.1)
        await asyncio.sleep(FOLLOWING_UP_SECONDS)
        while not all(agent.quiet for agent in self.agents):
            await asyncio.sleep(0.1)
        return {
            "acknowledged": {agent.name: agent.acknowledged for agent in self.agents},
            "events": sum(agent.events for agent in self.agents),
            "changes": sum(agent.changes for agent in self.agents),
            "drained": len(self._hook.keys),
            "drained_twice": sum(times > 1 for times in self._hook.keys.values()),
        }

    async def saturate(self, seconds: float, connections: int) -> dict[str, Any]:
        """A closed loop: as fast as the other side acknowledges."""
        some = self.agents[:connections]
        self.tally.latencies.clear()
        self.tally.measures_from = time.perf_counter()
        before, began = sum(agent.acknowledged for agent in some), time.perf_counter()
        for agent in some:
            agent.flat_out = True
            agent.beat()
        await asyncio.sleep(seconds)
        took = time.perf_counter() - began
        result = sum(agent.acknowledged for agent in some) - before
        self.tally.measures_from = math.inf
        for agent in some:
            agent.flat_out = False
        return {"most_reports_per_second": round(result / took, 1), **spread(self.tally.latencies)}


def header(head: bytes, name: bytes) -> str:
    start = head.lower().index(name + b": ") + len(name) + 2
    return head[start : head.index(b"\r\n", start)].decode()


class Hook:
    """What the controller calls to drain a node: the moment is noted, and it is done."""

    def __init__(self) -> None:
        self.called: dict[str, float] = {}
        self.keys: Counter[str] = Counter()  # how often each action was carried out

    async def listen(self) -> dict[str, Any]:
        server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        return {"port": server.sockets[0].getsockname()[1]}

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        start = head.lower().index(b"content-length: ") + 16
        body = await reader.readexactly(int(head[start : head.index(b"\r\n", start)]))
        asked = json.loads(body)
        self.called.setdefault(asked["node"], time.time())
        self.keys[header(head, b"idempotency-key")] += 1
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()


class Stage:
    """What can be asked for, each by its name."""

    def __init__(self) -> None:
        self._hook = Hook()
        self._crowd: Crowd | None = None

    async def do(self, what: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if what == "hook":
            return await self._hook.listen()
        if what == "meet":
            wires = [wire(url, arguments["certificate"]) for url in arguments["url"].split()]
            self._crowd = Crowd(wires, arguments["nodes"], self._hook)
            return {}
        command: Callable[..., Awaitable[dict[str, Any]]] = getattr(self._crowd, what)
        return await command(**arguments)


async def main() -> None:
    stage = Stage()
    while line := await asyncio.to_thread(sys.stdin.readline):
        arguments = json.loads(line)
        print(json.dumps(await stage.do(arguments.pop("do"), arguments)), flush=True)


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(main())
