"""Nodes and transitions: a step, the node after it and its actions are one transaction."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, select

from holdfast.fleet.store import actions, credentials
from holdfast.fleet.store.bulk import insert_many
from holdfast.fleet.store.leadership import fence
from holdfast.fleet.store.schema import asset_records, nodes, sessions, transitions, verdicts
from holdfast.fleet.store.text import clean, decode, encode
from holdfast.model.lifecycle import NodeEvent, NodeState, Stage
from holdfast.model.records import CredentialKind, LifecycleStep, Transition

NAMES_AT_ONCE = 500  # bounded, so that a statement stays within the limits of the engines
_REPLACED = (
    "ON CONFLICT (name) DO UPDATE "
    "SET stage = excluded.stage, pool = excluded.pool, since = excluded.since, body = excluded.body"
)


def transit(connection: Connection, steps: Sequence[LifecycleStep], epoch: int) -> None:
    fence(connection, epoch)
    latest = {step.node.name: step.node for step in steps}
    _upsert(connection, list(latest.values()))
    insert_many(connection, transitions, [_row(step.transition, epoch) for step in steps])
    actions.propose(connection, [action for step in steps for action in step.actions], epoch)


def all_nodes(connection: Connection) -> list[NodeState]:
    return [decode(body, NodeState) for (body,) in connection.execute(select(nodes.c.body).order_by(nodes.c.name))]


def nodes_of(connection: Connection, names: Sequence[str]) -> list[NodeState]:
    found: list[NodeState] = []
    for start in range(0, len(names), NAMES_AT_ONCE):
        asked = select(nodes.c.body).where(nodes.c.name.in_(names[start : start + NAMES_AT_ONCE]))
        found += [decode(body, NodeState) for (body,) in connection.execute(asked)]
    return found


def forget(connection: Connection, names: Sequence[str], now: float) -> None:
    """Deletes nodes with their verdicts, sessions, asset records and credentials. Retention deletes their history."""
    for start in range(0, len(names), NAMES_AT_ONCE):
        some = [clean(name) for name in names[start : start + NAMES_AT_ONCE]]
        connection.execute(delete(nodes).where(nodes.c.name.in_(some)))
        connection.execute(delete(verdicts).where(verdicts.c.node.in_(some)))
        connection.execute(delete(sessions).where(sessions.c.node.in_(some)))
        connection.execute(delete(asset_records).where(asset_records.c.node.in_(some)))
        for name in some:
            credentials.revoke_all(connection, CredentialKind.NODE, name, now)


def since(connection: Connection, at: float, most: int) -> list[Transition]:
    """The fleet's steps from a time on, oldest first, for a policy preview."""
    order = (transitions.c.at, transitions.c.id)
    asked = select(transitions).where(transitions.c.at >= at).order_by(*order).limit(most)
    return [_transition(row) for row in connection.execute(asked)]


def _transition(row: Any) -> Transition:
    return Transition(
        node=row.node,
        at=row.at,
        before=Stage(row.from_stage),
        after=Stage(row.to_stage),
        event=decode(row.body, NodeEvent),
        reason=row.reason,
        epoch=row.epoch,
    )


def _upsert(connection: Connection, lives: Sequence[NodeState]) -> None:
    rows = [
        {
            "name": clean(life.name),
            "stage": life.stage.value,
            "pool": clean(life.pool),
            "since": life.since,
            "body": encode(life),
        }
        for life in sorted(lives, key=lambda life: life.name)
    ]
    insert_many(connection, nodes, rows, _REPLACED)


def _row(transition: Transition, epoch: int) -> dict[str, Any]:
    event = transition.event
    return {
        "node": clean(transition.node),
        "at": transition.at,
        "from_stage": transition.before.value,
        "to_stage": transition.after.value,
        "kind": event.kind.value,
        "cause": clean(event.cause),
        "reason": clean(transition.reason),
        "said_by": clean(event.by),
        "epoch": epoch,
        "body": encode(event),
    }
