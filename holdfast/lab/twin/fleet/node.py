"""A light node without files and driver: only its faults and its agent's reports."""

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
_BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")  # PCI addresses of the eight GPUs of the twin's H100 node


@dataclass(slots=True, eq=False)
class NodeFault:
    """A fault that is present. `reported` counts the verdicts reported for it so far."""

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
    )  # check -> state, subjects; without passes
    arrived: bool = False  # whether its agent has reported
    session: int = 1
    struck: int = 0  # number of faults so far
    down: bool = False  # rebooting: sends no reports
    working_on: int = 0  # id of the running order; 0: none
    probing: int = 0  # the same for a probe, which work interrupts
    outcomes: dict[int, OrderOutcome] = field(default_factory=dict)
    # its gate: whether work may start. A controller's uncordon opens it; a job's end or a failure closes it
    open: bool = False
    draining: bool = False  # the controller drains it
    job: str = ""
    job_since: float = 0.0
    heat_slows: float = 1.0  # slowdown of its hottest GPU

    def slows(self, gpu: int) -> float:
        """Slowdown of this GPU, compared with a healthy and cool one."""
        own = (fault.kind.slows for fault in self.faults if fault.kind.on != "gpu" or gpu in fault.parts)
        return max((self.heat_slows, *own))

    def jobs(self) -> tuple[JobSeen, ...]:
        """Jobs that its agent sees on the GPUs."""
        return (JobSeen(id=self.job, start=self.job_since, gpus=GPUS),) if self.job else ()

    def verdict(self, check: str) -> Verdict:
        """The verdict with its rows, in the form of a real agent."""
        rows = [
            Row(name, verdict.health, reason=fault.text(verdict.reason))
            for fault in self.faults
            for verdict in fault.current()
            if verdict.check == check
            for name in fault.subjects(self.name)
        ]
        return Verdict(check=check, rows=tuple(rows) or (Row(subject.node(self.name), Health.PASS),))

    def first(self, checks: Iterable[str], now: float) -> list[VerdictChange]:
        """Verdicts of all checks, as an agent sends them when it starts."""
        self.arrived = True
        return [self._change(check, "", now) for check in checks]

    def changes(self, checks: Iterable[str], now: float) -> list[VerdictChange]:
        """Changed verdicts of these checks."""
        if not self.arrived:
            return []
        healthy = (Health.PASS.value, ())
        before = {check: self.reported.get(check, healthy) for check in checks}
        return [
            self._change(check, state[0], now) for check, state in before.items() if self._state(check)[:2] != state
        ]

    def _state(self, check: str) -> tuple[str, tuple[str, ...], str]:
        """Health, subject and reason."""
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
        """The first repair step that can help, if the kernel message determines it."""
        actions = {fault.kind.event.action for fault in self.faults if fault.kind.event is not None}
        return next((verb for action, verb in REPAIRS.items() if action in actions), "") if check == "gpu.xid" else ""

    def suite(self) -> tuple[Health, str, str]:
        """Result of the full suite: health, deciding check, reason."""
        checks = dict.fromkeys(verdict.check for fault in self.faults for verdict in fault.current())
        verdicts = [self.verdict(check) for check in checks]
        health = worst([Health.PASS, *(verdict.health for verdict in verdicts)])
        for verdict in verdicts:
            if health is not Health.PASS and verdict.health is health:
                return health, verdict.check, verdict.summary()
        return Health.PASS, "", "every check passed"


def fault_events(node: str, fault: NodeFault, now: float) -> list[Event]:
    """Events of the kernel lines, as the real agent reports them."""
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
