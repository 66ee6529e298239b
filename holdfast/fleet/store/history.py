"""History of a node: transitions, verdict changes, actions and events merged by time, newest first, paged."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, select, tuple_

from holdfast.fleet.store.errors import BadCursor
from holdfast.fleet.store.schema import action_steps, actions, events, transitions, verdict_changes
from holdfast.fleet.store.text import clean, decode
from holdfast.model.records import HistoryLine, HistoryPage

MOST_LINES = 1_000
LARGEST_ID = 2**63
Place = tuple[float, int, int]  # (time, chapter, id): the order of the history, and the cursor of a page


@dataclass(frozen=True, slots=True)
class Chapter:
    """The entries of one table. At equal times, a cause is older than its consequence."""

    table: Table
    to_line: Callable[[Any], HistoryLine]


def node_history(connection: Connection, node: str, limit: int, before: str) -> HistoryPage:
    """One page of the history. Each table returns at most one page by index, so the cost does not grow with the
    history."""
    most = max(1, min(limit, MOST_LINES))
    place = _parse(before) if before else None
    parts = [_read(connection, number, node, most + 1, place) for number in range(len(CHAPTERS))]
    merged = list(heapq.merge(*parts, key=lambda reported: reported[0], reverse=True))
    lines = tuple(line for _, line in merged[:most])
    older = _cursor(merged[most - 1][0]) if len(merged) > most else ""
    return HistoryPage(lines=lines, older=older)


def _read(
    connection: Connection, number: int, node: str, most: int, place: Place | None
) -> Iterator[tuple[Place, HistoryLine]]:
    chapter = CHAPTERS[number]
    table = chapter.table
    asked = _select(table).where(table.c.node == clean(node))
    if place is not None:
        asked = asked.where(_older(table, number, place))
    asked = asked.order_by(table.c.at.desc(), table.c.id.desc()).limit(most)
    for row in connection.execute(asked).all():
        yield (row.at, number, row.id), chapter.to_line(row)


def _select(table: Table) -> Select[Any]:
    if table is action_steps:
        joined = action_steps.join(actions, actions.c.id == action_steps.c.action)
        return select(action_steps, actions.c.verb, actions.c.cause, actions.c.reason).select_from(joined)
    return select(table)


def _older(table: Table, number: int, place: Place) -> ColumnElement[bool]:
    at, chapter, last = place
    if number == chapter:
        return and_(table.c.at <= at, tuple_(table.c.at, table.c.id) < tuple_(at, last))
    return table.c.at <= at if number < chapter else table.c.at < at


def _cursor(place: Place) -> str:
    return f"{place[0]!r}:{place[1]}:{place[2]}"


def _parse(cursor: str) -> Place:
    try:
        at, chapter, last = cursor.split(":")
        place = float(at), int(chapter), int(last)
    except ValueError:
        place = (nan, 0, 0)
    if not (isfinite(place[0]) and 0 <= place[1] < len(CHAPTERS) and 0 <= place[2] < LARGEST_ID):
        raise BadCursor(f"{cursor[:100]!r} is not a cursor of a history; expected one from an earlier page")
    return place


def _event_line(row: Any) -> HistoryLine:
    body = decode(row.body, dict)
    return HistoryLine(
        at=row.at, kind="event", what=row.kind, reason=body.get("text", ""), detail={**body, "twin": row.twin}
    )


def _verdict_line(row: Any) -> HistoryLine:
    detail = {"check": row.check_name, "before": row.before, "after": row.after, "twin": row.twin}
    what = f"{row.check_name}: {row.before or 'first verdict'} -> {row.after}"
    return HistoryLine(
        at=row.at, kind="verdict", what=what, reason=row.reason, detail={**detail, **decode(row.body, dict)}
    )


def _transition_line(row: Any) -> HistoryLine:
    detail = {"before": row.from_stage, "after": row.to_stage, "epoch": row.epoch, **decode(row.body, dict)}
    what = f"{row.from_stage} -> {row.to_stage}" if row.from_stage != row.to_stage else f"stays {row.to_stage}"
    return HistoryLine(at=row.at, kind="transition", what=what, reason=row.reason, detail=detail)


def _action_line(row: Any) -> HistoryLine:
    detail = {"action": row.action, "verb": row.verb, "state": row.state, "attempt": row.attempt, "epoch": row.epoch}
    return HistoryLine(
        at=row.at,
        kind="action",
        what=f"{row.verb} {row.state}",
        reason=row.detail or row.reason,
        detail={**detail, "cause": row.cause},
    )


CHAPTERS = (
    Chapter(events, _event_line),
    Chapter(verdict_changes, _verdict_line),
    Chapter(transitions, _transition_line),
    Chapter(action_steps, _action_line),
)
