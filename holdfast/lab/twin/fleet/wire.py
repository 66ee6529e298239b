"""Reports of simulated agents: numbered, marked as simulated, in the controller's time."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from holdfast.lab.twin.fleet.digest import digest
from holdfast.lab.twin.fleet.keeping import kept
from holdfast.lab.twin.fleet.keyed_random import KeyedRandom
from holdfast.lab.twin.fleet.node import FleetNode
from holdfast.lab.twin.fleet.progress import ProgressReporter
from holdfast.lab.twin.fleet.simulation import NodeUpdate
from holdfast.lab.twin.fleet.training import TrainingJob
from holdfast.model.wire.report import Report

if TYPE_CHECKING:
    from holdfast.lab.twin.fleet.plant import FleetPlant

MOST_WAITING = 200  # reports kept per node while the controller is away; beyond that, heartbeats are dropped first


class SimulatedAgent:
    """The sending half of a simulated agent: a credential, report numbers, and the reports that are not acknowledged
    yet."""

    __slots__ = ("beats", "credential", "node", "progress", "sending", "seq", "session", "waiting")

    def __init__(self, node: FleetNode) -> None:
        self.node = node
        self.credential = ""
        self.session = 0
        self.seq = 0
        self.beats = 0
        self.sending = False
        self.progress: ProgressReporter | None = None  # None if the trainings report no progress
        self.waiting: list[tuple[bool, bytes]] = []  # whether it contains news; the report

    def say(
        self,
        update: NodeUpdate,
        run: str,
        wall: Callable[[float], float],
        rng: KeyedRandom,
        job: TrainingJob | None = None,
        plant: "FleetPlant | None" = None,
    ) -> None:
        """Queues a report. `wall` converts virtual seconds to the controller's time."""
        if update.session != self.session:
            self.session, self.seq = update.session, 0
        self.seq += 1
        self.beats += update.heartbeat
        report = Report(
            node=self.node.name,
            session=f"{run}-{update.session}",
            seq=self.seq,
            at=wall(update.at),
            heartbeat=update.heartbeat,
            changes=tuple(replace(change, at=wall(change.at)) for change in update.changes),
            events=tuple(replace(event, at=wall(event.at)) for event in update.events),
            outcomes=tuple(replace(outcome, began=wall(outcome.began)) for outcome in update.outcomes),
            jobs=tuple(replace(job, start=wall(job.start or 0.0)) for job in update.jobs),
            digest=digest(self.node, update.at, rng, plant) if update.heartbeat and self.beats % 2 else b"",
            progress=self.progress.windows(self.node, job, update.at, wall)
            if self.progress and update.heartbeat
            else (),
            keepers=kept(self.node, job) if self.progress else (),
            twin=True,
        )
        self.waiting.append((not update.heartbeat, msgspec.json.encode(report)))
        if len(self.waiting) > MOST_WAITING:
            oldest = next((i for i, (news, _) in enumerate(self.waiting) if not news), 0)
            del self.waiting[oldest]

    def batch(self) -> bytes:
        return b"[" + b",".join(body for _, body in self.waiting) + b"]"


def enrolment(node: FleetNode, pool: str, join_token: str) -> bytes:
    asked = {"node": node.name, "join_token": join_token, "pool": pool, "place": node.place, "twin": True}
    return msgspec.json.encode(asked)
