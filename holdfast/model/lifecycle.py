"""The lifecycle of a node: its stage, the events that move it, and the actions that follow."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import attrgetter
from typing import Any


class Stage(StrEnum):
    PROVISIONING = "provisioning"  # known, never tested
    TESTING = "testing"  # the full suite is running; nothing may start here
    READY = "ready"  # passed, and nothing has run since
    SPARE = "spare"  # the same, but held back by us until another node leaves
    ALLOCATED = "allocated"  # a workload runs here
    CLEANING = "cleaning"  # the workload ended; the suite has not begun
    DRAINING = "draining"  # failed, or an operator requested it; running work finishes first
    QUARANTINED = "quarantined"  # out of service, empty, waiting for the next repair step
    RESETTING = "resetting"  # a repair step runs
    REMOVED = "removed"  # an operator removed the node


IN_USE = frozenset({Stage.READY, Stage.ALLOCATED})
OUT_OF_SERVICE = frozenset({Stage.DRAINING, Stage.QUARANTINED, Stage.RESETTING, Stage.REMOVED})


class Verb(StrEnum):
    """The verb of an action. Every action is idempotent, audited and dry-run until switched on."""

    CORDON = "cordon"  # nothing new starts here
    DRAIN = "drain"  # cordon, and wait until running work has finished
    UNCORDON = "uncordon"  # lifts only our own cordon or drain
    RETEST = "retest"
    RESET_GPU = "reset_gpu"
    REBOOT = "reboot"
    INSPECT = "inspect"  # a technician inspects the hardware
    TICKET = "ticket"
    CHOOSE_LAST = "choose_last"  # the scheduler takes this node only when nothing better is free
    CHOOSE_NORMALLY = "choose_normally"


CLOSING = (Verb.CORDON, Verb.DRAIN)  # verbs after which nothing new starts on the node


class EventKind(StrEnum):
    """Events of a node: the keys of the transition table."""

    ENROLLED = "enrolled"
    TEST_PASSED = "test_passed"
    TEST_FAILED = "test_failed"
    TEST_UNKNOWN = "test_unknown"
    JOB_STARTED = "job_started"
    JOB_ENDED = "job_ended"
    CLEANED = "cleaned"
    FAILED = "failed"  # a passive verdict, or a probe with a healthy partner
    DEGRADED = "degraded"
    BLIND = "blind"  # unknown for longer than the policy allows
    RECOVERED = "recovered"
    EMPTIED = "emptied"  # the scheduler says that the node is empty
    NEXT_REPAIR = "next_repair"  # the fleet allows the next repair step
    RESET_DONE = "reset_done"
    RESET_FAILED = "reset_failed"
    HELD = "held"  # a failure that is observed only: a shared cause, an open breaker, maintenance
    FREED = "freed"  # the hold ended
    PROMOTED = "promoted"  # a spare that is needed now
    PART_REPLACED = "part_replaced"  # a part of the node has another serial number
    REMINDED = "reminded"  # the scheduler's state does not match the stage; the stage stays
    QUARANTINE = "quarantine"  # requested by an operator, as the three below
    RELEASE = "release"
    RETEST = "retest"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    kind: EventKind
    cause: str = ""  # the check or the action it came from
    reason: str = ""
    evidence: tuple[str, ...] = ()
    job: str = ""
    suite: str = ""  # version of the suite a test ran
    repeat_offender: str = ""  # why the node counts as a repeat offender
    began: float | None = None  # start of the test: a test that started before the workload ended proves nothing
    by: str = "holdfast"  # the caller
    spare: bool = False  # of a passed test: the pool needs this node as a spare
    holder: str = ""  # holder of a node: 'loop/c2', 'pool/train', 'maintenance/winter'
    failed: bool = False  # of a hold: the node fails, so its last test proves nothing any more
    repair: str = ""  # of a failure: the first repair step that can help; "": the policy's first


@dataclass(frozen=True, slots=True, kw_only=True)
class Offence:
    """One failure or degradation of a node, kept to find repeat offenders."""

    at: float
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    name: str
    pool: str = "default"
    stage: Stage = Stage.PROVISIONING
    since: float = 0.0
    reason: str = ""
    cause: str = ""  # why the node is out of service
    repair_step: int = 0  # repair steps taken for this cause
    tests: int = 0  # inconclusive tests in a row
    tested_at: float | None = None  # None: never tested, or failed or held since; the node takes no new work
    tested_suite: str = ""
    used_until: float | None = None  # when its last workload started or ended
    jobs: frozenset[str] = frozenset()
    degraded_by: str = ""
    failed: bool = False  # since its last passed test
    held: str = ""  # holder of the failing node: 'loop/c2'
    held_since: float = 0.0
    asked_at: float | None = None  # when the pending test was requested
    offences: tuple[Offence, ...] = ()
    degradations: tuple[Offence, ...] = ()
    place: Mapping[str, str] = field(default_factory=dict)  # rack, loop, leaf, feed that it shares with others
    twin: bool = False  # simulated
    leaving: bool = False  # an operator removes it once it is empty
    doubted_at: float | None = None  # when a job last requested a test of it

    @property
    def doubted(self) -> bool:
        """Whether a test that a job requested is still pending."""
        if self.doubted_at is None or self.stage is not Stage.TESTING:
            return False
        return self.tested_at is None or self.doubted_at > self.tested_at

    @property
    def out(self) -> bool:
        """Whether the breaker counts the node: it is out of service, or has not passed a test since."""
        return self.stage in OUT_OF_SERVICE or self.failed

    @property
    def takes_work(self) -> bool:
        """Admission: whether new work may start here. Schedulers, agents and the gate all use this answer."""
        return self.stage in IN_USE and self.tested_at is not None

    @property
    def freshly_tested(self) -> bool:
        """The invariant: the last full test is newer than the last workload."""
        return self.tested_at is not None and (self.used_until is None or self.tested_at > self.used_until)


_FIELDS = tuple(field.name for field in fields(NodeState))
_values = attrgetter(*_FIELDS)
# slot setters bypass the check of a frozen class
_SETTERS = {name: NodeState.__dict__[name].__set__ for name in _FIELDS}
_EVERY_SETTER = tuple(_SETTERS.values())


def changed(node: NodeState, **changes: Any) -> NodeState:
    """dataclasses.replace, twice as fast: a simulated year takes a hundred thousand of them."""
    made = object.__new__(NodeState)
    for put, value in zip(_EVERY_SETTER, _values(node), strict=True):
        put(made, value)
    for name, value in changes.items():
        _SETTERS[name](made, value)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    node: str
    verb: Verb
    reason: str
    cause: str = ""
    at: float = 0.0
    tested_at: float | None = None  # start of the test behind this action: marks that others set later stay
    evict_at: float = 0.0  # of a drain: when running work is evicted; until then it may finish
    announce: bool = False  # of a drain: running work learns `evict_at`, to write a checkpoint

    @property
    def key(self) -> str:
        """Actions with equal keys are the same action: it is done once, however often it is requested."""
        return f"{self.node}:{self.verb.value}:{self.at:.3f}"
