"""What simulated agents say, as reports on the wire: numbered, marked as a twin's, in the controller's time."""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from holdfast.model.digest import pack
from holdfast.model.report import Report
from holdfast.twin.fleet.chance import Chance
from holdfast.twin.fleet.node import FleetNode
from holdfast.twin.fleet.progress import Teller
from holdfast.twin.fleet.simulation import Told
from holdfast.twin.fleet.training import TrainingJob

MOST_WAITING = 200  # reports of one node while nobody takes them; then heartbeats go first
_LOAD = {0: (38.0, 44.0, 78.0, 345e6, 0.0), 1: (62.0, 74.0, 640.0, 1755e6, 0.97)}  # idle, and with a job


class Agent:
    """The sending half of a simulated agent: a credential, a number per report, and what waits to be acknowledged."""

    __slots__ = ("beats", "credential", "node", "sending", "seq", "session", "teller", "waiting")

    def __init__(self, node: FleetNode) -> None:
        self.node = node
        self.credential = ""
        self.session = 0
        self.seq = 0
        self.beats = 0
        self.sending = False
        self.teller: Teller | None = None  # None where trainings tell nothing
        self.waiting: list[tuple[bool, bytes]] = []  # is it news, and the report

    def say(
        self,
        told: Told,
        run: str,
        wall: Callable[[float], float],
        chance: Chance,
        job: TrainingJob | None = None,
    ) -> None:
        """Make a report of it and let it wait. `wall` turns virtual seconds into the controller's time."""
        if told.session != self.session:
            self.session, self.seq = told.session, 0
        self.seq += 1
        self.beats += told.heartbeat
        report = Report(
            node=self.node.name,
            session=f"{run}-{told.session}",
            seq=self.seq,
            at=wall(told.at),
            heartbeat=told.heartbeat,
            changes=tuple(replace(change, at=wall(change.at)) for change in told.changes),
            events=tuple(replace(event, at=wall(event.at)) for event in told.events),
            outcomes=tuple(replace(outcome, began=wall(outcome.began)) for outcome in told.outcomes),
            jobs=tuple(replace(job, start=wall(job.start or 0.0)) for job in told.jobs),
            digest=_digest(self.node, told.at, chance) if told.heartbeat and self.beats % 2 else b"",
            progress=self.teller.windows(self.node, job, told.at, wall) if self.teller and told.heartbeat else (),
            twin=True,
        )
        self.waiting.append((not told.heartbeat, msgspec.json.encode(report)))
        if len(self.waiting) > MOST_WAITING:
            oldest = next((i for i, (news, _) in enumerate(self.waiting) if not news), 0)
            del self.waiting[oldest]

    def batch(self) -> bytes:
        return b"[" + b",".join(body for _, body in self.waiting) + b"]"


def _digest(node: FleetNode, at: float, chance: Chance) -> bytes:
    """Plausible numbers: warm under load, hot and slow where it throttles."""
    core, memory, power, clock, busy = _LOAD[1 if node.job else 0]
    warmer = 3.0 * chance.uniform("warmer", node.index, int(at))
    hot = {part for fault in node.faults if fault.kind.name == "throttle_thermal" for part in fault.parts}

    def look(subject: str, name: str) -> float | None:
        throttled = int(subject.rpartition("/")[2]) in hot
        return {
            "gpu_temperature_celsius": 89.0 if throttled else core + warmer,
            "gpu_memory_temperature_celsius": 96.0 if throttled else memory + warmer,
            "gpu_power_watts": power,
            "gpu_clock_sm_hertz": 990e6 if throttled else clock,
            "gpu_clock_event_reasons": 72.0 if throttled else 0.0,
            "gpu_utilization_ratio": busy,
        }.get(name)

    return pack(node.name, look)


def enrolment(node: FleetNode, pool: str, join_token: str) -> bytes:
    asked = {"node": node.name, "join_token": join_token, "pool": pool, "place": node.place, "twin": True}
    return msgspec.json.encode(asked)
