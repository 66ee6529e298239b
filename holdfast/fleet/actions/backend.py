"""Back end protocol: an action has its effect once, however often it is requested, and returns its outcome.

A scheduler (Slurm, Kubernetes) is a back end whose state can also be read. A caller claims an action's key in its store
before it performs it, and performs it again only when the outcome says that this may help.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from holdfast.model.lifecycle import Action, Verb
from holdfast.model.node_status import NodeStatus


class ActionResult(StrEnum):
    DONE = "done"
    NOTHING_TO_DO = "nothing_to_do"  # it was so already
    REFUSED = "refused"  # it is not ours to do, or not now; nothing was changed
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


def failed(message: str, *, retryable: bool) -> ActionOutcome:
    return ActionOutcome(result=ActionResult.FAILED, message=message, retryable=retryable)


def not_now(message: str) -> ActionOutcome:
    return ActionOutcome(result=ActionResult.FAILED, message=message, retryable=True, not_now=True)


class Backend(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def verbs(self) -> frozenset[Verb]:
        """What it can do; anything else it refuses."""
        ...

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        """Blocks until done or given up; never raises for what the world does."""
        ...

    @property
    def reads_state_first(self) -> bool:
        """`perform` reads the node's state and does only what is missing, so that a second call changes nothing.

        Where this is False, an action that may have run is performed again only if `did_run` says that it did not.
        """
        ...

    def did_run(self, action: Action) -> bool | None:
        """Asks the world whether an action was carried out; None where that cannot be known."""
        ...


class Scheduler(Backend, Protocol):
    """A back end that holds nodes and jobs, and whose own view of them matters."""

    def observe(self) -> list[NodeStatus]:
        """Every node it knows. Raises NoAnswer: an empty list would say that the fleet is gone."""
        ...

    def close_for_repair(self, action: Action) -> str:
        """Closes a node so that nothing starts there during the step, even if an administrator resumes it. Then looks:
        why the step must not begin, or '' if the node is drained and empty. Raises NoAnswer."""
        ...
