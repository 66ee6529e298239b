"""A light node: no files and no driver, only its faults and its agent's reports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.lab.twin.fleet.kinds import FleetEventKind, Saying
from holdfast.model import subject
from holdfast.model.health import Health, worst
from holdfast.model.signal import Event
from holdfast.model.verdict import Row, Verdict
from holdfast.model.wire.report import JobSeen, OrderOutcome, VerdictChange

GPUS = 8
_BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")  # where the eight GPUs of the twin's H100 node sit


@dataclass(slots=True, eq=False)
class NodeFault:
    """Something that is broken. `said` counts what its checks have said of it so far."""

    kind: FleetEventKind
    parts: tuple[int, ...]
    number: int
    said: int = 0
    cured_by: str = ""

    def subjects(self, node: str) -> list[str]:
        if self.kind.on == "node":
            return [subject.node(node)]
        if self.kind.on == "port":
            return [subject.port(node, f"mlx5_{part}", 1) for part in self.parts]
        return [subject.gpu(node, part) for part in self.parts]

    def text(self, template: str) -> str:
        part = self.parts[0] if self.parts else 0
        return template.format(part=part, bus=f"0000:{_BUSES[part % GPUS]}:00")

    def standing(self) -> list[Saying]:
        """The latest of what was said, check by check."""
        return list({saying.check: saying for saying in self.kind.says[: self.said]}.values())


@dataclass(slots=True, eq=False)
class FleetNode:
    index: int
    name: str
    place: Mapping[str, str]
    faults: list[NodeFault] = field(default_factory=list)
    reported: dict[str, tuple[str, tuple[str, ...]]] = field(
        default_factory=dict
    )  # check -> state, subjects; no passes
    session: int = 1
    struck: int = 0  # faults so far
    down: bool = False  # rebooting: says nothing
    working_on: int = 0  # an order's id, 0 when none
    probing: int = 0  # the same for a probe, which gives way to work
    outcomes: dict[int, OrderOutcome] = field(default_factory=dict)
    open: bool = False  # its gate: may work start? Uncordoned by the controller, closed by a job's end or a failure
    draining: bool = False  # the controller wants it empty
    job: str = ""
    job_since: float = 0.0
    heat_slows: float = 1.0  # how much longer its hottest GPU computes

    def slows(self, gpu: int) -> float:
        """How much longer this GPU computes than a healthy one that is cool."""
        own = (fault.kind.slows for fault in self.faults if fault.kind.on != "gpu" or gpu in fault.parts)
        return max((self.heat_slows, *own))

    def jobs(self) -> tuple[JobSeen, ...]:
        """What its agent sees on the GPUs."""
        return (JobSeen(id=self.job, start=self.job_since, gpus=GPUS),) if self.job else ()

    def verdict(self, check: str) -> Verdict:
        """Row by row, so that it reads as the real agent's does."""
        rows = [
            Row(name, saying.health, reason=fault.text(saying.reason))
            for fault in self.faults
            for saying in fault.standing()
            if saying.check == check
            for name in fault.subjects(self.name)
        ]
        return Verdict(check=check, rows=tuple(rows) or (Row(subject.node(self.name), Health.PASS),))

    def changes(self, checks: Iterable[str], now: float) -> list[VerdictChange]:
        """What its agent has to tell about these checks, if anything."""
        found = []
        for check in dict.fromkeys(checks):
            verdict = self.verdict(check)
            bad = verdict.health is not Health.PASS
            subjects = tuple(row.subject for row in verdict.rows if bad and row.health is verdict.health)
            state = (verdict.health.value, subjects)
            before = self.reported.get(check, (Health.PASS.value, ()))
            if state == before:
                continue
            self.reported[check] = state
            if not bad:
                del self.reported[check]
            found.append(
                VerdictChange(
                    at=now,
                    check=check,
                    before=before[0],
                    after=state[0],
                    reason=verdict.summary() if bad else f"{GPUS} of {GPUS} pass",
                    subjects=subjects,
                )
            )
        return found

    def suite(self) -> tuple[Health, str, str]:
        """What the full suite finds: health, the check that decided, its words."""
        checks = dict.fromkeys(saying.check for fault in self.faults for saying in fault.standing())
        verdicts = [self.verdict(check) for check in checks]
        health = worst([Health.PASS, *(verdict.health for verdict in verdicts)])
        for verdict in verdicts:
            if health is not Health.PASS and verdict.health is health:
                return health, verdict.check, verdict.summary()
        return Health.PASS, "", "every check passed"


def heard(node: str, fault: NodeFault, now: float) -> list[Event]:
    """The kernel's line, as the real agent would report it."""
    event = fault.kind.event
    if event is None:
        return []
    return [
        Event(
            kind=event.kind,
            at=now,
            text=fault.text(event.text),
            subject=fault.subjects(node)[0],
            code=event.code,
            severity=event.severity,
            action=event.action,
        )
    ]
