"""Reconciles Slurm with the stage of each node, and finds nodes whose last test Slurm shows to be invalid.

An operator can lift a drain, and an action can come too late. So every observation is compared with the admission of
the node: a closed node must not accept work in Slurm, and our own drain of an open node is lifted.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.formats.slurm import fields as slurm
from holdfast.model.lifecycle import OUT_OF_SERVICE, Action, NodeState, Stage, Verb
from holdfast.model.node_status import NodeStatus

UNUSED = frozenset({Stage.READY, Stage.SPARE})
AGAIN_SECONDS = 20.0  # the actor may be working on the action, or be between two tries
LONGEST_PAUSE = 640.0  # longest pause between two reminders of the same action


@dataclass(slots=True)
class SlurmReconciler:
    """Remembers its requests, so that it repeats none too early and does not flood the history."""

    # (node, verb) -> (due at, pause before it)
    _missing: dict[tuple[str, Verb], tuple[float, float]] = field(default_factory=dict)
    _up_since: dict[str, float] = field(default_factory=dict)

    def copy(self) -> "SlurmReconciler":
        return SlurmReconciler(dict(self._missing), dict(self._up_since))

    def due(self, statuses: Iterable[NodeStatus], lives: Mapping[str, NodeState], now: float) -> list[Action]:
        """The actions to repeat. `now`: the begin of the read. Each reminder waits twice as long as the one before."""
        before, self._missing = self._missing, {}
        due = []
        for status in statuses:
            action = _reminder(status, lives[status.node], now)
            if action is None:
                continue
            key = (action.node, action.verb)
            at, pause = before.get(key, (_first(action, lives[action.node], now), AGAIN_SECONDS))
            if now >= at:
                due.append(action)
                pause = min(2 * pause, LONGEST_PAUSE)
                at = now + pause
            self._missing[key] = (at, pause)
        return due

    def untested(self, statuses: Iterable[NodeStatus], lives: Mapping[str, NodeState]) -> list[tuple[str, str]]:
        """Nodes whose last test no longer counts, with the reason: slurmd restarted, or a script marked them as
        untested."""
        found = []
        for status in statuses:
            life = lives[status.node]
            started = self._started_anew(status, life)
            if life.stage not in UNUSED:
                continue
            if marked_since_test(status, life):
                found.append((status.node, status.note.removeprefix(f"{slurm.PREFIX} ")))
            elif started:
                found.append((status.node, "slurmd started after its last test"))
        return found

    def _started_anew(self, status: NodeStatus, life: NodeState) -> bool:
        """Whether slurmd restarted: its start time differs from the last one. The node's clock counts only if no
        earlier time is known."""
        if status.up_since is None:
            return False
        before = self._up_since.get(status.node)
        self._up_since[status.node] = status.up_since
        if before is None:
            return life.tested_at is not None and status.up_since + 1.0 > life.tested_at  # Slurm reports whole seconds
        return before != status.up_since


def _first(action: Action, life: NodeState, now: float) -> float:
    """Time of the first reminder; at once if a node that was closed long ago is open in Slurm, because an operator
    opened it."""
    if action.verb is Verb.UNCORDON:
        return now + AGAIN_SECONDS
    return max(life.since, life.held_since) + AGAIN_SECONDS


def ended_repairs(
    reserved: Mapping[str, str], lives: Mapping[str, NodeState], began: float, running: Container[str]
) -> list[str]:
    """Reservations of repair steps that have ended, according to a read that began at `began`.

    A step that has just begun keeps its reservation, because its node may have changed stage after the read. A step on
    a node (`running`) that an operator took over keeps it too, because the reset still runs.
    """
    return [
        name
        for name, node in reserved.items()
        if node not in lives
        or (lives[node].stage is not Stage.RESETTING and lives[node].since < began and node not in running)
    ]


def marked_since_test(status: NodeStatus, life: NodeState) -> bool:
    """Whether a script marked the node after the test began. An earlier mark is only waiting for its undrain."""
    return status.marked_at is not None and (life.tested_at is None or status.marked_at > life.tested_at)


def _reminder(status: NodeStatus, life: NodeState, now: float) -> Action | None:
    if life.takes_work:
        lift = life.stage is Stage.READY and life.freshly_tested and status.ours and not status.busy
        # The drain of a node that is down is removed when the node is back.
        if lift and not status.down:
            return Action(node=status.node, verb=Verb.UNCORDON, reason=life.reason, at=now)
        return None
    # A reservation, or a slurmd that does not answer, closes a node only for a while, so the node is drained too.
    if status.cordoned or status.down or not status.known:
        return None
    reason = f"{life.stage.value}, but Slurm would start work here"
    if life.cause and life.stage in OUT_OF_SERVICE:
        return Action(node=status.node, verb=Verb.DRAIN, reason=life.reason, cause=life.cause, at=now)
    return Action(node=status.node, verb=Verb.CORDON, reason=life.reason if life.held else reason, at=now)
