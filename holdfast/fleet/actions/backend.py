"""Back end protocol: an action has its effect once, however often it is requested, and returns its outcome.

A scheduler (Slurm, Kubernetes) is a back end whose state can also be read. A caller claims an action's key in its store
before it performs it, and performs it again only when the outcome says that this may help.

An unknown outcome (no answer in time, a broken connection) is not an ordinary failure: unless the back end is
idempotent, the caller first finds out whether the action ran.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from holdfast.model.lifecycle import Action, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.runtime.errors import NoAnswer


class ActionResult(StrEnum):
    DONE = "done"
    NOTHING_TO_DO = "nothing_to_do"  # the node was in the wanted state already
    REFUSED = "refused"  # refused by the back end; nothing was changed
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    result: ActionResult
    message: str
    """One sentence for people and for the audit log."""
    retryable: bool = False
    """Only of a failure: the same again, later, may succeed."""
    dry_run: bool = False
    """Nothing was changed: the result is what would have happened."""
    uncertain: bool = False
    """Whether it ran is not known, and it is not repeated."""
    not_begun: bool = False
    """Only of a failure: nothing was carried out, for certain. Without this, the action may have run."""
    may_have_run: bool = False
    """Set by the actor, not by back ends: before it is performed again, somebody must find out whether it ran."""
    not_now: bool = False
    """Only of a failure: nothing was begun, and it waits for as long as it takes."""


def done(message: str) -> ActionOutcome:
    return ActionOutcome(result=ActionResult.DONE, message=message)


def would(message: str) -> ActionOutcome:
    return ActionOutcome(result=ActionResult.DONE, message=f"would {message}", dry_run=True)


def nothing_to_do(message: str) -> ActionOutcome:
    return ActionOutcome(result=ActionResult.NOTHING_TO_DO, message=message)


def refused(message: str) -> ActionOutcome:
    return ActionOutcome(result=ActionResult.REFUSED, message=message)


def failed(message: str, *, retryable: bool, not_begun: bool = False) -> ActionOutcome:
    return ActionOutcome(result=ActionResult.FAILED, message=message, retryable=retryable, not_begun=not_begun)


def unanswered(error: NoAnswer) -> ActionOutcome:
    return failed(str(error), retryable=error.retryable, not_begun=error.not_begun)


def not_now(message: str) -> ActionOutcome:
    return ActionOutcome(result=ActionResult.FAILED, message=message, retryable=True, not_begun=True, not_now=True)


class Backend(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def verbs(self) -> frozenset[Verb]:
        """The verbs that the back end supports; it refuses others."""
        ...

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        """Blocks until the action is done or abandoned. External errors are outcomes, never exceptions."""
        ...

    @property
    def idempotent(self) -> bool:
        """Whether a second `perform` changes nothing: it reads the node's state and does only the missing part, or the
        receiver carries out each key once.

        If this is False, an action that may have run is performed again only if `did_run` says that it did not.
        """
        ...

    def did_run(self, action: Action) -> bool | None:
        """Reads whether an action was carried out; None if that cannot be determined."""
        ...


class Scheduler(Backend, Protocol):
    """A back end with its own state of nodes and jobs."""

    def observe(self) -> list[NodeStatus]:
        """All nodes of the scheduler. Raises NoAnswer on an error, because an empty list would mean an empty fleet."""
        ...

    def close_for_repair(self, action: Action) -> str:
        """Closes a node so that nothing starts there during the step, even if an administrator resumes it. Then reads
        the node: why the step must not begin, or '' if the node is drained and empty. Raises NoAnswer."""
        ...
