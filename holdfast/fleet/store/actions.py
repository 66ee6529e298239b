"""Actions from proposal to outcome. The leader claims each; a new leader may claim the open ones of a dead leader.

If its back end cannot be read, an action is marked as begun before it is performed. An action that was begun and not
ended may have run: the next leader that claims it learns this, and does not simply perform it again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, exists, func, select, text, update

from holdfast.fleet.store.bulk import Rows, as_document, given, insert_into, insert_many
from holdfast.fleet.store.engine import clock
from holdfast.fleet.store.errors import StoreError
from holdfast.fleet.store.leadership import fence
from holdfast.fleet.store.schema import action_steps, actions
from holdfast.fleet.store.text import clean
from holdfast.model.lifecycle import Action, Verb
from holdfast.model.records import FINAL, Outcome, StoredAction

_OPEN = (Outcome.PROPOSED.value, Outcome.CLAIMED.value)
_take = (
    update(actions)
    .where(actions.c.id == bindparam("one"))
    .values(
        state=Outcome.CLAIMED.value,
        attempts=actions.c.attempts + 1,
        claimed_epoch=bindparam("epoch"),
        due_at=bindparam("until"),
    )
)
_NEW = ("key", "node", "verb", "cause", "reason", "at", "state", "attempts", "due_at", "detail")
# On PostgreSQL all rows are one parameter, because a parameter per value takes six times as long.
_propose_many = text(
    f"INSERT INTO actions ({', '.join(_NEW)}) SELECT * FROM {given(actions, _NEW, 'given')} "
    "ON CONFLICT (key) DO NOTHING RETURNING id, node, attempts, at"
)
_take_many = text(
    f"UPDATE actions SET state = '{Outcome.CLAIMED.value}', attempts = actions.attempts + 1, claimed_epoch = :epoch, "
    f"due_at = new.due_at FROM {given(actions, ('id', 'due_at'), 'new')} WHERE actions.id = new.id"
)


def open_by_verb(connection: Connection) -> dict[tuple[str, ...], float]:
    """Number of proposed or claimed actions by (verb, state)."""
    asked = select(actions.c.verb, actions.c.state, func.count()).where(actions.c.state.in_(_OPEN))
    return {
        (verb, state): count
        for verb, state, count in connection.execute(asked.group_by(actions.c.verb, actions.c.state))
    }


def has_open(connection: Connection, node: str, verbs: Sequence[Verb]) -> bool:
    """Whether one of these actions of the node is proposed or claimed."""
    mine = (actions.c.node == clean(node), actions.c.verb.in_([verb.value for verb in verbs]))
    return bool(connection.execute(select(exists().where(actions.c.state.in_(_OPEN), *mine))).scalar_one())


def propose(connection: Connection, proposed: Sequence[Action], epoch: int) -> None:
    """Proposes actions. An action with a known key is the same action and is not proposed again."""
    if not proposed:
        return
    rows = [_row(action) for action in proposed]
    if connection.dialect.name == "postgresql":
        new = connection.execute(_propose_many, as_document(rows)).mappings()
    else:
        insert = insert_into(connection, actions).on_conflict_do_nothing(index_elements=["key"])
        returned = (actions.c.id, actions.c.node, actions.c.attempts, actions.c.at)
        new = connection.execute(insert.returning(*returned), rows).mappings()
    note(connection, [_step(row, Outcome.PROPOSED, "", epoch, row["at"]) for row in new])


def claim(
    connection: Connection,
    epoch: int,
    limit: int,
    now: float | None,
    lease_seconds: float,
    leases: Mapping[Verb, float],
) -> list[StoredAction]:
    """Claims the oldest due actions for this leader until the lease expires, in the order in which they were
    proposed."""
    fence(connection, epoch)
    moment = clock(connection) if now is None else now
    due = (
        select(actions)
        .where(actions.c.state.in_(_OPEN), actions.c.due_at <= moment)
        .order_by(actions.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    claimed = [dict(row) for row in connection.execute(due).mappings()]
    if not claimed:
        return []
    for row in claimed:
        row |= {"state": Outcome.CLAIMED.value, "attempts": row["attempts"] + 1}
    ends = {verb.value: moment + leases.get(verb, lease_seconds) for verb in Verb}
    if connection.dialect.name == "postgresql":
        taken = [{"id": row["id"], "due_at": ends[row["verb"]]} for row in claimed]
        connection.execute(_take_many, {**as_document(taken), "epoch": epoch})
    else:
        connection.execute(_take, [{"one": row["id"], "until": ends[row["verb"]], "epoch": epoch} for row in claimed])
    note(connection, [_step(row, Outcome.CLAIMED, "", epoch, moment) for row in claimed])
    return [_stored(row) for row in claimed]


def begin(connection: Connection, action_id: int, epoch: int) -> bool:
    """Marks an action as begun, in its own commit before it runs. False if this leader no longer owns it."""
    fence(connection, epoch)
    mine = (
        actions.c.id == action_id,
        actions.c.state == Outcome.CLAIMED.value,
        actions.c.claimed_epoch == epoch,
    )
    return connection.execute(update(actions).where(*mine).values(begun=True)).rowcount == 1


def adopt(connection: Connection, epoch: int) -> int:
    """Lets a new leader claim the actions of its predecessor at once. The predecessor is fenced and cannot finish
    them."""
    fence(connection, epoch)
    left = update(actions).where(actions.c.state == Outcome.CLAIMED.value).values(due_at=0.0)
    adopted = connection.execute(left).rowcount
    # The pause before the next try uses the old leader's clock, which may be ahead of ours.
    connection.execute(update(actions).where(actions.c.state == Outcome.PROPOSED.value).values(due_at=0.0))
    return adopted


def take_over(connection: Connection, action_id: int, node: str, epoch: int) -> StoredAction | None:
    """Takes over an order of an earlier leader that its node answers now; None if it is not open or belongs to another
    node."""
    fence(connection, epoch)
    mine = (actions.c.id == action_id, actions.c.node == clean(node), actions.c.state == Outcome.CLAIMED.value)
    row = connection.execute(select(actions).where(*mine).with_for_update()).mappings().one_or_none()
    if row is None:
        return None
    connection.execute(update(actions).where(actions.c.id == action_id).values(claimed_epoch=epoch))
    return _stored(row)


def finish(
    connection: Connection,
    action_id: int,
    outcome: Outcome,
    detail: str,
    epoch: int,
    now: float,
    retry_at: float | None,
    may_have_run: bool,
) -> Rows:
    """Stores the outcome and returns the step to record; none if the action had already ended. A failure with
    `retry_at` can be claimed again from then on. If it may have run, the next claimant is informed."""
    if outcome not in FINAL:
        raise StoreError(f"action {action_id}: {outcome.value} is not an outcome; expected one of {sorted(FINAL)}")
    fence(connection, epoch)
    ended: dict[str, Any] = {"state": outcome.value, "detail": clean(detail)}
    if outcome is Outcome.FAILED and retry_at is not None:
        ended |= {"state": Outcome.PROPOSED.value, "due_at": retry_at, "begun": may_have_run}
    mine = [actions.c.id == action_id, actions.c.state.in_(_OPEN)]
    if outcome is not Outcome.ABANDONED:
        mine.append(actions.c.claimed_epoch == epoch)
    reported = update(actions).where(*mine).values(**ended).returning(actions.c.id, actions.c.node, actions.c.attempts)
    row = connection.execute(reported).mappings().one_or_none()
    if row is None:
        _refuse_if_open(connection, action_id, epoch)
        return []
    return [_step(row, outcome, clean(detail), epoch, now)]


def _refuse_if_open(connection: Connection, action_id: int, epoch: int) -> None:
    state = connection.execute(select(actions.c.state).where(actions.c.id == action_id)).scalar_one_or_none()
    if state is None:
        raise StoreError(f"action {action_id}: no action has this number")
    if state in _OPEN:
        raise StoreError(f"action {action_id}: epoch {epoch} did not claim it, so it cannot know how it ended")


def latest(connection: Connection, node: str | None, most: int) -> list[StoredAction]:
    """The latest actions, newest first."""
    asked = select(actions).order_by(actions.c.id.desc()).limit(most)
    if node is not None:
        mine = select(action_steps.c.action).where(action_steps.c.node == clean(node))
        asked = asked.where(actions.c.id.in_(mine))
    return [_stored(row) for row in connection.execute(asked).mappings()]


def note(connection: Connection, steps: Rows) -> None:
    insert_many(connection, action_steps, steps)


def _step(row: Any, state: Outcome, detail: str, epoch: int, at: float) -> dict[str, Any]:
    step = {"action": row["id"], "node": row["node"], "at": at, "state": state.value, "attempt": row["attempts"]}
    return {**step, "detail": detail, "epoch": epoch}


def _row(action: Action) -> dict[str, Any]:
    return {
        "key": clean(action.key),
        "node": clean(action.node),
        "verb": action.verb.value,
        "cause": clean(action.cause),
        "reason": clean(action.reason),
        "at": action.at,
        "state": Outcome.PROPOSED.value,
        "attempts": 0,
        "due_at": 0.0,
        "detail": "",
    }


def _stored(row: Any) -> StoredAction:
    action = Action(node=row["node"], verb=Verb(row["verb"]), reason=row["reason"], cause=row["cause"], at=row["at"])
    return StoredAction(
        id=row["id"],
        action=action,
        state=Outcome(row["state"]),
        attempts=row["attempts"],
        detail=row["detail"],
        may_have_run=bool(row["begun"]),
    )
