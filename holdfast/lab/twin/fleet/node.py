"""A light node: no files and no driver, only its faults and its agent's reports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.lab.twin.fleet.kinds import FaultVerdict, FleetEventKind
from holdfast.model import subject
from holdfast.model.health import Health, worst
from holdfast.model.signal import Event
from holdfast.model.verdict import Row, Verdict
from holdfast.model.wire.report import JobSeen, OrderOutcome, VerdictChange
from holdfast.node.checks.gpu.xid import REPAIRS

GPUS = 8
_BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")  # where the eight GPUs of the twin's H100 node sit


@dataclass(slots=True, eq=False)
class NodeFault:
    """Something that is broken. `reported` counts the verdicts that its checks gave so far."""

    kind: FleetEventKind
    parts: tuple[int, ...]
    number: int
    reported: int = 0
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

    def current(self) -> list[FaultVerdict]:
        """The latest verdict of each check."""
        return list({verdict.check: verdict for verdict in self.kind.verdicts[: self.reported]}.values())


@dataclass(slots=True, eq=False)
class FleetNode:
    index: int
    name: str
    place: Mapping[str, str]
    faults: list[NodeFault] = field(default_factory=list)
    reported: dict[str, tuple[str, tuple[str, ...]]] = field(
        default_factory=dict
    )  # check -> state, subjects; no passes
    arrived: bool = False  # its agent has reported
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
            Row(name, verdict.health, reason=fault.text(verdict.reason))
            for fault in self.faults
            for verdict in fault.current()
            if verdict.check == check
            for name in fault.subjects(self.name)
        ]
        return Verdict(check=check, rows=tuple(rows) or (Row(subject.node(self.name), Health.PASS),))

    def first(self, checks: Iterable[str], now: float) -> list[VerdictChange]:
        """What its agent says of each check when it starts."""
        self.arrived = True
        return [self._change(check, "", now) for check in checks]

    def changes(self, checks: Iterable[str], now: float) -> list[VerdictChange]:
        """What its agent has to tell about these checks, if anything."""
        if not self.arrived:
            return []
        healthy = (Health.PASS.value, ())
        before = {check: self.reported.get(check, healthy) for check in checks}
        return [
            self._change(check, state[0], now) for check, state in before.items() if self._state(check)[:2] != state
        ]

    def _state(self, check: str) -> tuple[str, tuple[str, ...], str]:
        """Its health, its subject, and its reason."""
        verdict = self.verdict(check)
        if verdict.health is Health.PASS:
            return verdict.health.value, (), f"{GPUS} of {GPUS} pass"
        subjects = tuple(row.subject for row in verdict.rows if row.health is verdict.health)
        return verdict.health.value, subjects, verdict.summary()

    def _change(self, check: str, before: str, now: float) -> VerdictChange:
        after, subjects, reason = self._state(check)
        self.reported[check] = (after, subjects)
        if after == Health.PASS.value:
            del self.reported[check]
        return VerdictChange(
            at=now,
            check=check,
            before=before,
            after=after,
            reason=reason,
            subjects=subjects,
            repair=self.repair(check) if after == Health.FAIL.value else "",
        )

    def repair(self, check: str) -> str:
        """The first repair step that can help, where the kernel's message decides that."""
        actions = {fault.kind.event.action for fault in self.faults if fault.kind.event is not None}
        return next((verb for action, verb in REPAIRS.items() if action in actions), "") if check == "gpu.xid" else ""

    def suite(self) -> tuple[Health, str, str]:
        """What the full suite finds: health, the check that decided, its words."""
        checks = dict.fromkeys(verdict.check for fault in self.faults for verdict in fault.current())
        verdicts = [self.verdict(check) for check in checks]
        health = worst([Health.PASS, *(verdict.health for verdict in verdicts)])
        for verdict in verdicts:
            if health is not Health.PASS and verdict.health is health:
                return health, verdict.check, verdict.summary()
        return Health.PASS, "", "every check passed"


def fault_events(node: str, fault: NodeFault, now: float) -> list[Event]:
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
