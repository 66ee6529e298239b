"""Slurm back end: drains with our own reason, lifts only our own drains, sets node weight, requeues a job.

A reason without our prefix, and its drain, belong to another owner. Slurm has no compare-and-set, so we read the node
right before each change and again after it.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.fleet.actions.backend import ActionOutcome, done, failed, nothing_to_do, refused, would
from holdfast.fleet.actions.slurm import preference as slurm_preference
from holdfast.fleet.actions.slurm import reservations
from holdfast.fleet.actions.slurm.commands import SlurmCommands
from holdfast.fleet.actions.slurm.marks import SlurmMarks
from holdfast.formats.slurm import fields as slurm
from holdfast.formats.slurm.nodes import SlurmNode
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import Action, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.runtime import clock
from holdfast.runtime.errors import NoAnswer

# Slurm's own reasons for a node that it lost. We replace them: ours gives the cause and keeps the node out on return.
_LOST = ("Not responding", "Node unexpectedly rebooted")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings:
    timeout: float = 15.0
    """Seconds for one command; Slurm's own MessageTimeout is 10."""
    last_weight: int | None = 100_000
    """Weight of a node to be chosen last (lower ones are taken first). None: weights are left alone."""
    last_feature: str = ""
    """A feature put on such a node, for sites that place by features. '': none."""
    reserve: bool = True
    """A maintenance reservation around each repair step, so that a resume by hand opens nothing meanwhile."""


@dataclass(frozen=True, slots=True)
class SlurmSnapshot:
    """State of Slurm. `began` is before the first request; later changes are not included."""

    began: float
    statuses: Sequence[NodeStatus]
    jobs: Sequence[Job]
    """Those that hold nodes, and those that ended lately."""
    reserved: Mapping[str, str] = field(default_factory=dict)
    """Our reservations around repair steps, each with its node."""


class Slurm:
    name = "slurm"

    def __init__(self, settings: SlurmSettings, environ: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._commands = SlurmCommands(settings.timeout, environ)
        self._marks = SlurmMarks()
        self._handlers: dict[Verb, Callable[[Action, SlurmNode, bool], ActionOutcome]] = {
            Verb.CORDON: self._drain,
            Verb.DRAIN: self._drain,
            Verb.UNCORDON: self._uncordon,
            Verb.CHOOSE_LAST: self._prefer,
            Verb.CHOOSE_NORMALLY: self._prefer,
        }
        self.verbs = frozenset(self._handlers)

    idempotent = True

    def did_run(self, action: Action) -> bool | None:
        return False

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        handler = self._handlers.get(action.verb)
        if handler is None:
            return refused(f"Slurm does not know how to {action.verb.value}")
        if not slurm.ONE_NODE.fullmatch(action.node) or action.node.upper() == "ALL":
            return refused(f"{action.node!r} is not the name of one node")
        try:
            node = self._commands.node(action.node)
            if node is None:
                return refused(f"Slurm knows no node {action.node}")
            return handler(action, node, dry_run)
        except NoAnswer as error:
            return failed(str(error), retryable=error.retryable)

    # ------------------------------------------------------------ reading

    def snapshot(self) -> SlurmSnapshot:
        """Reads nodes before jobs, so that a job that starts meanwhile is seen on a node that looked empty."""
        began = clock.now()
        nodes = self._commands.nodes()
        shown_at = clock.now()
        self._marks.observe(nodes, shown_at)
        jobs = self._commands.jobs(ended=True)
        held: dict[str, list[Job]] = {}
        for job in jobs:
            for name in job.nodes if job.state.holds_nodes else ():
                held.setdefault(name, []).append(job)
        statuses = [self._status(node, held.get(node.name, ()), shown_at) for node in nodes]
        return SlurmSnapshot(began, statuses, jobs, reservations.ours(self._commands, nodes))

    def _status(self, node: SlurmNode, held: Sequence[Job], shown_at: float) -> NodeStatus:
        passing = frozenset(job.id for job in held if job.in_prolog or job.state is JobState.ENDING)
        return NodeStatus(
            node=node.name,
            accepts_work=node.accepts_work,
            cordoned=node.drained,
            down=node.down,
            busy=node.busy or bool(held),
            known=node.known,
            ours=node.drained and node.ours,
            note=node.reason,
            note_by=node.reason_by,
            marked_at=self._marks.seen(node, shown_at),
            jobs=frozenset(job.id for job in held) - passing,
            passing=passing,
            up_since=node.slurmd_since,
            state=_words(node),
            addresses=(node.address,) if node.address else (),
        )

    def observe(self) -> list[NodeStatus]:
        return list(self.snapshot().statuses)

    def close_for_repair(self, action: Action) -> str:
        """Reserve, drain, read, in this order: see `reservations`."""
        if not slurm.ONE_NODE.fullmatch(action.node):
            return f"{action.node!r} is not the name of one node"
        shown = self._commands.node(action.node)
        if shown is None:
            return f"Slurm knows no node {action.node}"
        if self._settings.reserve:
            reservations.reserve(self._commands, action)
        if not shown.drained:
            self._commands.ask(*_update(shown, state="drain", reason=slurm.note(action.cause, action.reason)))
        status = self._status(self._again(shown), self._commands.jobs(action.node), clock.now())
        return "" if status.drained_and_empty else f"{action.node} is {status.state} in Slurm, not drained and empty"

    def end_reservations(self, names: Iterable[str]) -> None:
        reservations.end(self._commands, names)

    def accounted(self, since: float) -> list[Job]:
        """Jobs since a time, from Slurm's accounting. Raises NoAnswer if the site has none."""
        return self._commands.accounted(since)

    # ------------------------------------------------------------ nodes

    def _drain(self, action: Action, node: SlurmNode, dry_run: bool) -> ActionOutcome:
        untested = action.verb is Verb.CORDON and not action.cause
        note = slurm.note(slurm.TO_BE_TESTED if untested else action.cause, action.reason)
        if node.drained and not node.ours:
            return nothing_to_do(f"{node.name} is already drained by {_whose(node)}, whose reason stays: {node.reason}")
        if node.drained and (node.reason == note or (untested and node.untested)):
            # A script on the node drained it first. Its reason stays, because a test must be newer than it.
            return nothing_to_do(f"{node.name} is already drained with the reason: {node.reason}")
        if action.tested_at is not None and self._marked_since(node, action):
            return nothing_to_do(f"{node.name} was marked after its test began, and that stays: {node.reason}")
        if node.down and node.reason and not node.ours and not node.reason.startswith(_LOST):
            return nothing_to_do(f"{node.name} is down by {_whose(node)}, whose reason stays: {node.reason}")
        if dry_run:
            return would(f"drain {node.name}: {_shown(_update(node, state='drain', reason=note))}")
        self._commands.ask(*_update(node, state="drain", reason=note))
        after = self._again(node)
        if not after.drained:
            return failed(f"{node.name} was ordered to drain, but is {_words(after)}", retryable=True)
        if not after.ours:
            return nothing_to_do(f"{node.name} was drained at the same time by {_whose(after)}: {after.reason}")
        jobs = "; running jobs finish first" if after.busy else ""
        return done(f"drained {node.name} with the reason: {note}{jobs}")

    def _uncordon(self, action: Action, node: SlurmNode, dry_run: bool) -> ActionOutcome:
        if not node.drained:
            return nothing_to_do(f"{node.name} is not drained: {_words(node)}")
        if not node.ours:
            return refused(f"{node.name} was drained by {_whose(node)}, not by us: {node.reason or 'no reason'}")
        if node.down:
            return refused(
                f"{node.name} is {_words(node)}: that is not ours to lift, so our drain stays until it is back"
            )
        if self._marked_since(node, action):
            return nothing_to_do(f"{node.name} was marked after the test that this is about began: {node.reason}")
        if dry_run:
            return would(f"lift our drain of {node.name}: {_shown(_update(node, state='undrain'))}")
        # Not 'resume', which would also lift a DOWN that came between our read and this.
        self._commands.ask(*_update(node, state="undrain"))
        after = self._again(node)
        if self._marked_since(after, action):
            return done(f"lifted our drain of {node.name}; it was used at once and waits for a test: {after.reason}")
        if after.drained:
            ours = "ours" if after.ours else f"by {_whose(after)}"
            return failed(f"{node.name} is still drained ({ours}): {after.reason}", retryable=after.ours)
        return done(f"lifted our drain of {node.name}: it is {_words(after)}")

    def _marked_since(self, node: SlurmNode, action: Action) -> bool:
        """Whether a script marked the node as untested, and we saw the mark only after the test began."""
        marked_at = self._marks.seen(node, clock.now())
        began = action.at if action.tested_at is None else action.tested_at
        return marked_at is not None and marked_at > began

    def _prefer(self, action: Action, node: SlurmNode, dry_run: bool) -> ActionOutcome:
        last = action.verb is Verb.CHOOSE_LAST
        plan = slurm_preference.choose_last if last else slurm_preference.choose_normally
        how = "last" if last else "normally"
        changes = plan(node, self._settings.last_weight, self._settings.last_feature)
        if not changes:
            return nothing_to_do(f"{node.name} is chosen {how} already")
        if dry_run:
            return would(f"have {node.name} chosen {how}: {_shown(_update(node, **changes))}")
        self._commands.ask(*_update(node, **changes))
        if plan(self._again(node), self._settings.last_weight, self._settings.last_feature):
            return failed(f"{node.name} was to be chosen {how}, but Slurm did not take it over", retryable=True)
        return done(f"{node.name} is chosen {how}: {', '.join(f'{k}={v}' for k, v in changes.items())}")

    def _again(self, node: SlurmNode) -> SlurmNode:
        after = self._commands.node(node.name)
        if after is None:
            raise NoAnswer(f"{node.name} left Slurm meanwhile", retryable=False)
        return after


def _update(node: SlurmNode, **changes: str) -> tuple[str, ...]:
    return ("scontrol", "update", f"nodename={node.name}", *(f"{name}={value}" for name, value in changes.items()))


def _shown(command: Sequence[str]) -> str:
    return shlex.join(command)


def _words(node: SlurmNode) -> str:
    return "+".join(sorted(node.flags))


def _whose(node: SlurmNode) -> str:
    return node.reason_by or "another"
