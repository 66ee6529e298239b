"""Slurm back end: drains with our own reason, lifts only our own drains, sets node weight, requeues a job.

Manners: a note without our prefix is somebody else's, and so is the drain that carries it. Slurm has no
compare-and-set, so we look at the node right before each change and once more after it.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.fleet.actions.backend import ActionOutcome, done, failed, nothing_to_do, refused, would
from holdfast.fleet.actions.slurm import preference as slurm_preference
from holdfast.fleet.actions.slurm.commands import SlurmCommands
from holdfast.fleet.actions.slurm.marks import SlurmMarks
from holdfast.formats.slurm import fields as slurm
from holdfast.formats.slurm import hostlist
from holdfast.formats.slurm import jobs as slurm_jobs
from holdfast.formats.slurm.nodes import SlurmNode
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import Action, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.runtime import clock
from holdfast.runtime.errors import NoAnswer

_JOB = re.compile(r"[0-9]+(_[0-9]+)?")
# Slurm's own notes on a node it lost; ours says more, and keeps the node out when it comes back by itself.
_LOST = ("Not responding", "Node unexpectedly rebooted")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings:
    timeout: float = 15.0
    """Seconds for one command; Slurm's own MessageTimeout is 10."""
    last_weight: int | None = 100_000
    """Weight of a node to be chosen last (lower ones are taken first). None: weights are left alone."""
    last_feature: str = ""
    """A feature put on such a node, for sites that place by features. '': none."""


@dataclass(frozen=True, slots=True)
class SlurmSnapshot:
    """What Slurm showed. Begun before the first question was asked: what changed since then is not in it."""

    began: float
    statuses: Sequence[NodeStatus]
    jobs: Sequence[Job]
    """Those that hold nodes, and those that ended lately."""


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

    looks_first = True

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

    # ------------------------------------------------------------ looking

    def look(self) -> SlurmSnapshot:
        """Nodes before jobs: a node that looks empty while a job is starting there then shows the job."""
        began = clock.now()
        nodes = self._commands.nodes()
        shown_at = clock.now()
        self._marks.look(nodes, shown_at)
        jobs = self._commands.jobs(ended=True)
        held: dict[str, list[Job]] = {}
        for job in jobs:
            for name in job.nodes if job.state.holds_nodes else ():
                held.setdefault(name, []).append(job)
        statuses = [self._status(node, held.get(node.name, ()), shown_at) for node in nodes]
        return SlurmSnapshot(began, statuses, jobs)

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
        return list(self.look().statuses)

    def running_jobs(self, node: str) -> frozenset[str]:
        return frozenset(job.id for job in self._commands.jobs(node))

    def in_use(self, node: str) -> str:
        shown = self._commands.node(node)
        if shown is None:
            return f"Slurm knows no node {node}"
        status = self._status(shown, self._commands.jobs(node), clock.now())
        return "" if status.drained_and_empty else f"{node} is {status.state} in Slurm, not drained and empty"

    def accounted(self, since: float) -> list[Job]:
        """What ran since then, where the site keeps an accounting. Raises NoAnswer where it does not."""
        return self._commands.accounted(since)

    # ------------------------------------------------------------ nodes

    def _drain(self, action: Action, node: SlurmNode, dry_run: bool) -> ActionOutcome:
        untested = action.verb is Verb.CORDON and not action.cause
        note = slurm.note(slurm.TO_BE_TESTED if untested else action.cause, action.reason)
        if node.drained and not node.ours:
            return nothing_to_do(f"{node.name} is already drained by {_whose(node)}, whose note stays: {node.reason}")
        if node.drained and (node.reason == note or (untested and node.untested)):
            # A script on the node was first; its note stays, for it tells what a test must be newer than.
            return nothing_to_do(f"{node.name} is already drained with the note: {node.reason}")
        if action.tested_at is not None and self._marked_since(node, action):
            return nothing_to_do(f"{node.name} was marked after its test began, and that stays: {node.reason}")
        if node.down and node.reason and not node.ours and not node.reason.startswith(_LOST):
            return nothing_to_do(f"{node.name} is down by {_whose(node)}, whose note stays: {node.reason}")
        if dry_run:
            return would(f"drain {node.name}: {_shown(_update(node, state='drain', reason=note))}")
        self._commands.ask(*_update(node, state="drain", reason=note))
        after = self._again(node)
        if not after.drained:
            return failed(f"{node.name} was asked to drain, but is {_words(after)}", retryable=True)
        if not after.ours:
            return nothing_to_do(f"{node.name} was drained at the same time by {_whose(after)}: {after.reason}")
        jobs = "; what runs there finishes first" if after.busy else ""
        return done(f"drained {node.name} with the note: {note}{jobs}")

    def _uncordon(self, action: Action, node: SlurmNode, dry_run: bool) -> ActionOutcome:
        if not node.drained:
            return nothing_to_do(f"{node.name} is not drained: {_words(node)}")
        if not node.ours:
            return refused(f"{node.name} was drained by {_whose(node)}, not by us: {node.reason or 'no note'}")
        if node.down:
            return refused(
                f"{node.name} is {_words(node)}: that is not ours to lift, so our drain stays until it is back"
            )
        if self._marked_since(node, action):
            return nothing_to_do(f"{node.name} was marked after the test that this is about began: {node.reason}")
        if dry_run:
            return would(f"lift our drain of {node.name}: {_shown(_update(node, state='undrain'))}")
        # Not 'resume', which would also lift a DOWN that came between our look and this.
        self._commands.ask(*_update(node, state="undrain"))
        after = self._again(node)
        if self._marked_since(after, action):
            return done(f"lifted our drain of {node.name}; it was used at once and waits for a test: {after.reason}")
        if after.drained:
            ours = "ours" if after.ours else f"by {_whose(after)}"
            return failed(f"{node.name} is still drained ({ours}): {after.reason}", retryable=after.ours)
        return done(f"lifted our drain of {node.name}: it is {_words(after)}")

    def _marked_since(self, node: SlurmNode, action: Action) -> bool:
        """Whether a script on the node says untested, and that was not seen before the test began."""
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

    # ------------------------------------------------------------ jobs

    def requeue(self, job: str, without: Sequence[str], dry_run: bool) -> ActionOutcome:
        """Send a job back to the queue and keep it off some nodes. Held meanwhile, so that it cannot start there."""
        if not _JOB.fullmatch(job):
            return refused(f"{job!r} is not the id of one job")
        try:
            shown = self._commands.job(job)
            before = set(_excluded(shown))
            excluded = before | set(without)
            off = f"keeps off {hostlist.compress(excluded) or 'no node'}"
            state = next((one.state for one in slurm_jobs.from_scontrol(shown)), JobState.UNKNOWN)
            if state is JobState.WAITING and excluded == before:
                return nothing_to_do(f"job {job} waits already, and {off}")
            if state is JobState.ENDING:
                return failed(f"job {job} is ending; what becomes of it is not known yet", retryable=True)
            if state not in (JobState.WAITING, JobState.RUNNING, JobState.SUSPENDED):
                return refused(f"job {job} is {state.value}: to requeue it would run it a second time")
            commands = _requeueing(job, excluded, state is JobState.WAITING)
            if dry_run:
                return would(f"requeue job {job}: {'; '.join(map(_shown, commands))}")
            self._requeue(commands)
            return done(f"job {job} goes back to the queue, and {off}")
        except NoAnswer as error:
            return failed(str(error), retryable=error.retryable)
        except hostlist.NotAHostlist as error:
            return refused(str(error))

    def _requeue(self, commands: Sequence[Sequence[str]]) -> None:
        for number, command in enumerate(commands):
            try:
                self._commands.ask(*command)
            except NoAnswer:
                if number:  # a job must not stay held because keeping it off a node failed
                    self._commands.ask(*commands[-1])
                raise


def _requeueing(job: str, excluded: set[str], waiting: bool) -> list[Sequence[str]]:
    """A job that waits is not held by us: releasing it could undo the hold of its owner."""
    keep_off = ("scontrol", "update", f"jobid={job}", f"excnodelist={hostlist.compress(excluded)}")
    if waiting:
        return [keep_off]
    between = [keep_off] if excluded else []
    return [("scontrol", "requeuehold", job), *between, ("scontrol", "release", job)]


def _excluded(shown: str) -> list[str]:
    found = re.search(r"\bExcNodeList=(\S+)", shown)
    return hostlist.expand(found[1]) if found else []


def _update(node: SlurmNode, **changes: str) -> tuple[str, ...]:
    return ("scontrol", "update", f"nodename={node.name}", *(f"{name}={value}" for name, value in changes.items()))


def _shown(command: Sequence[str]) -> str:
    return shlex.join(command)


def _words(node: SlurmNode) -> str:
    return "+".join(sorted(node.flags))


def _whose(node: SlurmNode) -> str:
    return node.reason_by or "another"
