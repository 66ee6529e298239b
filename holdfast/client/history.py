"""Reads the history that a controller has recorded, page by page."""

from typing import Any

from holdfast.client.client import Client, node_path
from holdfast.model.refusal import Refusal

PAGE = 10_000
MOST_INCIDENTS = 1_000
Row = dict[str, Any]


def of_node(client: Client, node: str, limit: int, before: str = "") -> Row:
    """One page of a node's history, newest first: `entries`, and `next` to continue with as `before`."""
    page: Row = client.get(node_path(node, "history"), limit=limit, before=before)
    return page


def transitions(client: Client) -> list[Row]:
    """Every change of a node's stage since the first, oldest first."""
    found: dict[object, Row] = {}
    since = 0.0
    while True:
        page: list[Row] = client.get("/v1/transitions", since=since, limit=PAGE)["transitions"]
        for row in page:
            found[row["node"], row["at"], row["event"], row["before"], row["after"]] = row
        if len(page) < PAGE:
            return list(found.values())
        since = _next(since, page[-1]["at"])


def jobs(client: Client, begin: float, end: float) -> list[Row]:
    """Every job that started by the end and ran at or after the beginning, latest start first."""
    found: dict[object, Row] = {}
    until = end
    while True:
        page: list[Row] = client.get("/v1/jobs", since=begin, until=until, limit=PAGE)["jobs"]
        for row in page:
            found[row["source"], row["id"], row["step"]] = row
        if len(page) < PAGE:
            return list(found.values())
        until = _next(until, page[-1]["start"])


def incidents(client: Client) -> list[Row]:
    """The newest incidents, as many as the controller gives at once."""
    found: list[Row] = client.get("/v1/incidents", limit=MOST_INCIDENTS)["incidents"]
    return found


def _next(before: float, last: float) -> float:
    """The time at which the next page begins. Rows of that time are read again, because several may share it."""
    if last == before:
        raise Refusal(f"more than {PAGE:,} rows of the controller share one moment ({last:.0f}): too many to page", 1)
    return last
