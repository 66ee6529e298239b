"""Runs a simulated fleet against a controller: virtual time paced by real time, bounded connections."""

import asyncio
import logging
import secrets
import time
from dataclasses import dataclass

import msgspec

from holdfast.lab.twin.fleet.connection import Connection, ControllerUnreachable
from holdfast.lab.twin.fleet.gateway import Gateway
from holdfast.lab.twin.fleet.orders import Order
from holdfast.lab.twin.fleet.progress import ProgressReporter
from holdfast.lab.twin.fleet.simulation import Simulation
from holdfast.lab.twin.fleet.technician import Technician, Tickets
from holdfast.lab.twin.fleet.wire import SimulatedAgent, enrolment
from holdfast.runtime import codec

log = logging.getLogger("holdfast.lab.twin.fleet")

TICK_SECONDS = 0.05
REPORT_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTarget:
    """Address and credentials of the controller, and the speed of the fleet's clock."""

    url: str
    join_token: str
    speed: float = 1.0
    pool: str = "twins"
    ca_file: str = ""
    connections: int = 32
    site_token: str = ""  # token of the plant's gateway and the technician; '' disables both


@dataclass(slots=True)
class Counts:
    enrolled: int = 0
    acknowledged: int = 0
    orders: int = 0
    troubles: int = 0


class _Granted(msgspec.Struct):
    credential: str


class _Acknowledged(msgspec.Struct):
    accepted: list[bool]
    orders: list[Order] = []


class FleetRun:
    def __init__(self, simulation: Simulation, target: FleetTarget) -> None:
        self.simulation, self.target = simulation, target
        self.counts = Counts()
        self._agents = [SimulatedAgent(node) for node in simulation.nodes]
        for agent in self._agents if simulation.reports_progress else ():
            agent.progress = ProgressReporter()
        self._ready: asyncio.Queue[SimulatedAgent] = asyncio.Queue()
        self._run = secrets.token_hex(6)
        self._wall = time.time()
        self._started = time.monotonic()
        self._trouble = ""

    async def run(self, seconds: float | None = None) -> None:
        """Runs until cancelled, or for this many real seconds."""
        workers = [asyncio.create_task(self._work()) for _ in range(self.target.connections)]
        tasks = [asyncio.create_task(self._tick()), *workers]
        if self.simulation.plant is not None and self.target.site_token:
            gateway = Gateway(self.simulation.plant, self.target.url, self.target.site_token, self.target.ca_file)
            tasks.append(asyncio.create_task(gateway.run(self.wall, self.target.speed)))
        if self.target.site_token:
            technician = Technician(self.simulation)
            target = self.target
            tickets = Tickets(technician, target.url, target.site_token, target.ca_file, speed=target.speed)
            tasks.append(asyncio.create_task(tickets.run()))
        try:
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def wall(self, virtual: float) -> float:
        """Converts virtual to real time: the time at which the report of that moment was sent."""
        return self._wall + virtual / self.target.speed

    async def _tick(self) -> None:
        """Enrols all nodes, then advances the fleet's clock."""
        for agent in self._agents:
            self._offer(agent)
        while self.counts.enrolled < len(self._agents):
            await asyncio.sleep(TICK_SECONDS)
        log.info("%d nodes are enrolled", self.counts.enrolled)
        self._wall, self._started = time.time(), time.monotonic()
        reported_at = self._started
        while True:
            now = time.monotonic()
            for update in self.simulation.advance((now - self._started) * self.target.speed):
                agent = self._agents[update.node]
                job = self.simulation.jobs.running.get(agent.node.job)
                agent.say(update, self._run, self.wall, self.simulation.rng, job, self.simulation.plant)
                self._offer(agent)
            if now - reported_at >= REPORT_SECONDS:
                reported_at = now
                self._report()
            await asyncio.sleep(TICK_SECONDS)

    def _report(self) -> None:
        broken = sum(bool(node.faults) for node in self.simulation.nodes)
        text = "%.0f virtual s: %d of %d nodes have a fault, %d jobs run; %d requests acknowledged, %d orders taken"
        counts, fleet = self.counts, self.simulation
        log.info(text, fleet.now, broken, len(fleet.nodes), len(fleet.jobs.running), counts.acknowledged, counts.orders)

    def _offer(self, agent: SimulatedAgent) -> None:
        if not agent.sending:
            agent.sending = True
            self._ready.put_nowait(agent)

    async def _work(self) -> None:
        """One connection: sends the reports of any node that has some. An error slows down only this connection."""
        connection = Connection(self.target.url, self.target.ca_file)
        pause = 0.0
        while True:
            agent = await self._ready.get()
            try:
                why = await (self._send(connection, agent) if agent.credential else self._enrol(connection, agent))
            except (ControllerUnreachable, msgspec.DecodeError) as error:
                why = str(error)
            agent.sending = False
            if why:
                self._note(why)
                pause = min(LONGEST_PAUSE_SECONDS, max(0.2, 2 * pause))
                await asyncio.sleep(pause)
            else:
                pause = 0.0
            if why or agent.waiting:
                self._offer(agent)

    def _note(self, why: str) -> None:
        self.counts.troubles += 1
        if why != self._trouble:
            self._trouble = why
            log.warning("%s", why)

    async def _enrol(self, connection: Connection, agent: SimulatedAgent) -> str:
        """Returns '' or the reason for the failure."""
        asked = enrolment(agent.node, self.target.pool, self.target.join_token)
        status, body = await connection.post("/v1/enrol", asked)
        if status >= 300:
            return f"enrolment refused ({status}): {body[:200].decode('utf-8', 'replace')}"
        agent.credential = codec.decode(body, _Granted).credential
        self.counts.enrolled += 1
        return ""

    async def _send(self, connection: Connection, agent: SimulatedAgent) -> str:
        count = len(agent.waiting)
        if not count:
            return ""
        status, body = await connection.post("/v1/reports", agent.batch(), agent.credential)
        if status == 401:
            agent.credential = ""
            self.counts.enrolled -= 1
            return "a credential was refused; enrolling again"
        if status != 200:
            return f"reports refused ({status}): {body[:200].decode('utf-8', 'replace')}"
        del agent.waiting[:count]
        self.counts.acknowledged += 1
        for order in codec.decode(body, _Acknowledged).orders:
            self.counts.orders += 1
            self.simulation.orders.give(agent.node, order)
        return ""
