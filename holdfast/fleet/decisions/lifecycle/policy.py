"""Policy of a pool. The defaults are safe: dry run, small caps, two automatic repair steps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.model.lifecycle import Verb
from holdfast.model.wire.probe import ProbePolicy

REPAIR_STRENGTH: tuple[Verb, ...] = (Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT)


class OnUnknownTest(StrEnum):
    """The consequence of an unknown full test. The node is never admitted."""

    RETEST = "retest"  # again, up to `inconclusive_tests`, then an operator
    OPERATOR = "operator"  # a ticket for an operator at once


class OnUnknown(StrEnum):
    """The consequence of a check that is unknown for too long in service. Never a drain."""

    TICKET = "ticket"
    NOTHING = "nothing"


class OnDegraded(StrEnum):
    CHOOSE_LAST = "choose_last"  # the scheduler takes it only when nothing better is free
    NOTHING = "nothing"
    FAIL = "fail"  # as if it had failed


class OnDrain(StrEnum):
    """The fate of running work on a drained node, if the scheduler can evict it (Kubernetes)."""

    FINISH = "finish"  # it may finish until `drain_seconds`, then it is evicted
    CHECKPOINT = "checkpoint"  # it is notified, has `checkpoint_seconds` to write a checkpoint, then it is evicted
    EVICT = "evict"  # it is evicted at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    dry_run: bool = True
    """Actions are printed and recorded, not carried out, until an operator switches them on."""
    suite: str = "1"
    """Version of the full suite, a string. A pass counts only if `[agent] suite` of the node is the same."""
    suite_seconds: float = 3600.0
    """A test without a result within this time is unknown and requested again. The agent's own limit is shorter."""
    reset_seconds: float = 3600.0
    """A reset that takes longer counts as failed. An inspection may take longer."""
    flush_seconds: float = 120.0
    """A node is released when training state in its memory is in storage, or after this time. 0: no wait."""
    drain: OnDrain = OnDrain.FINISH
    """Running work on a node to be drained: finish, checkpoint or evict. Slurm lets it finish in any case."""
    drain_seconds: float = 86_400.0
    """If a drain takes longer, an incident opens. With drain = "finish" its work is evicted then."""
    checkpoint_seconds: float = 600.0
    """With drain = "checkpoint": time for a checkpoint before running work is evicted."""
    repair_steps: tuple[Verb, ...] = (Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT)
    """Repair steps, one after another while the same cause comes back. A step without a back end fails at once."""
    automatic_repair_steps: int = 2
    """After this many repair steps for the same cause an operator decides."""
    inconclusive_tests: int = 3
    """After this many unknown test results in a row an operator decides. It does not count as a hardware fault."""
    breaker_share: float = 0.10
    """Share of a pool that may be out of service before quarantines stop."""
    breaker_nodes: int = 8
    """The same as a number of nodes. The smaller of the two applies, but at least one node."""
    shared_nodes: int = 4
    """If at least this many nodes behind one parent fail together, one incident opens on the parent."""
    shared_seconds: float = 120.0
    """Failures within this time count as together. The shared cause ends when fewer fail for this long."""
    shared_share: float = 0.5
    """At least this share of the parent's nodes must fail, too."""
    shared_first_seconds: float = 30.0
    """A failing node takes no new work at once. If it shares a parent with others, its drain waits this long for
    them, so that a broken leaf drains none of its nodes. 0: the first failure is drained at once."""
    shared_wait_seconds: float = 60.0
    """The same wait if other nodes behind one of its parents fail too. 0: no wait."""
    offence_seconds: float = 30 * 86400.0
    """Failures of a node (offences) count for this long. In the score, older ones weigh less."""
    repeat_offences: int = 3
    """A node with more failures than this starts one repair step later."""
    repeat_offender_score: float = 3.0
    """A node whose score is at least this, and at least four times the fleet's usual one, also starts one repair step
    later. 0: no score."""
    degraded_repeats: int = 3
    """A node degraded this often by the same check within `offence_seconds` is drained."""
    bootstrap_unknown: OnUnknownTest = OnUnknownTest.RETEST
    """After an unknown full test: retest, or operator (a ticket at once). The node is never admitted."""
    bootstrap_degraded: OnDegraded = OnDegraded.CHOOSE_LAST
    """After a degraded full test: choose_last or nothing (the node is admitted), or fail (it is not)."""
    service_unknown: OnUnknown = OnUnknown.TICKET
    """A check unknown for `unknown_seconds` in service: ticket, or nothing. Never a drain."""
    service_degraded: OnDegraded = OnDegraded.CHOOSE_LAST
    """A check degraded in service: choose_last, nothing, or fail, which drains."""
    shadow_checks: frozenset[str] = frozenset()
    """Checks that are recorded but change nothing."""
    silent_seconds: float = 120.0
    """If an agent sends no report for this long, its node's health is unknown and an incident opens. The node is not
    quarantined for this."""
    unknown_seconds: float = 600.0
    """A check that is unknown for this long in service is an alarm, never a drain."""
    spares: int = 0
    """Tested nodes to hold back per pool; one is promoted for every node that leaves."""
    maintenance: tuple[Maintenance, ...] = ()
    """Planned work: failures of these nodes are recorded meanwhile, and all are tested in full when it ends."""
    probes: ProbePolicy = field(default_factory=ProbePolicy)
    """Probing of the fabric between idle nodes: `[probes]`, off until it is switched on."""
    pools: Mapping[str, "Policy"] = field(default_factory=dict)
    """What is otherwise in some pools: whole policies, made from `[pool.NAME]` over the rest of the file."""

    def evict_at(self, since: float) -> float:
        """The time at which running work is evicted from a node that is drained since then."""
        waits = {OnDrain.FINISH: self.drain_seconds, OnDrain.CHECKPOINT: self.checkpoint_seconds}
        return since + waits.get(self.drain, 0.0)

    def steps_before(self, repair: str) -> int:
        """How many repair steps are skipped because they cannot help: a GPU reset if only a reboot can."""
        if repair not in REPAIR_STRENGTH:
            return 0
        weaker = REPAIR_STRENGTH[: REPAIR_STRENGTH.index(Verb(repair))]
        return next(
            (number for number, step in enumerate(self.repair_steps) if step not in weaker), len(self.repair_steps)
        )

    def of(self, pool: str) -> "Policy":
        return self.pools.get(pool, self)
