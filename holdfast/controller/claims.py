"""What the actor asks of the writer: what is due, and how it ended. Both are part of some batch's commit."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.actions.backend import Outcome as Said
from holdfast.actions.backend import Result
from holdfast.controller.orders import AGENT_LEASE_SECONDS, fits
from holdfast.controller.turn import Turn
from holdfast.model.life import Happening, NodeLife, Stage, Verb
from holdfast.store.words import Outcome, StoredAction

MOST_CLAIMED = 200
MOST_ATTEMPTS = 5
LONGEST_PAUSE = 60.0
STALE_SECONDS = 3_600.0  # an uncordon that is older is not believed
# A test changes nothing, so it is asked for in a dry run too: without one no node would ever be seen to be ready.
ALWAYS_DONE = frozenset({Verb.RETEST})
TESTED = frozenset({Stage.READY, Stage.SPARE, Stage.ALLOCATED})


def claim(agent_verbs: frozenset[Verb], turn: Turn, fresh: Sequence[bool]) -> list[StoredAction]:
    """What is to be performed from here now. Orders for agents are laid ready; what makes no sense any more ends."""
    leases = dict.fromkeys(agent_verbs, AGENT_LEASE_SECONDS)
    due = []
    for stored in turn.store.claim(turn.epoch, MOST_CLAIMED, leases=leases):
        action = stored.action
        life = turn.fleet.nodes.get(action.node)
        stage = life.stage if life else Stage.REMOVED
        if not fits(action.verb, stage):
            _finish(turn, stored, Outcome.ABANDONED, f"the node is {stage.value} now")
        elif action.verb is Verb.UNCORDON and turn.now - action.at > STALE_SECONDS:
            _test_instead(turn, stored)
        elif action.verb not in agent_verbs:
            due.append(_resting_on_its_test(stored, life))
        elif turn.fleet.dry_run(action.node) and action.verb not in ALWAYS_DONE:
            said = f"would order the agent of {action.node} to {action.verb.value}"
            end(stored, Said(result=Result.DONE, said=said, dry_run=True), turn, ())
        else:
            turn.orders.give(stored)
    return due


def _resting_on_its_test(stored: StoredAction, life: NodeLife | None) -> StoredAction:
    """What a passed test allows is allowed as of when that test began."""
    if life is None or life.stage not in TESTED:
        return stored
    return replace(stored, action=replace(stored.action, tested_at=life.tested_at))


def _test_instead(turn: Turn, stored: StoredAction) -> None:
    """After a long absence, or a restore from a backup, what we knew then is no reason to let work in now."""
    why = f"asked for {turn.now - stored.action.at:.0f} s ago and never done"
    _finish(turn, stored, Outcome.ABANDONED, f"{why}: the node is tested again first")
    turn.decide(turn.fleet.operator(stored.action.node, Happening.RETEST, why, "holdfast", turn.now))


def end(stored: StoredAction, said: Said, turn: Turn, fresh: Sequence[bool]) -> None:
    """How it ended, into history and into the node's life. In a dry run the life goes on as if it had been done."""
    ok = said.result in (Result.DONE, Result.NOTHING_TO_DO)
    if not ok and said.retryable and stored.attempts < MOST_ATTEMPTS:
        again = turn.now + min(2.0**stored.attempts, LONGEST_PAUSE)
        turn.store.finish(stored.id, Outcome.FAILED, said.said, turn.epoch, turn.now, retry_at=again)
        return
    outcome = Outcome.DRY_RUN if said.dry_run else Outcome.DONE if ok else Outcome.FAILED
    if _finish(turn, stored, outcome, said.said):
        turn.decide(turn.fleet.acted(stored.action.node, stored.action.verb, ok, said.said, turn.now))


def _finish(turn: Turn, stored: StoredAction, outcome: Outcome, detail: str) -> bool:
    return turn.store.finish(stored.id, outcome, detail, turn.epoch, turn.now)
