"""All that a controller remembers of a fleet, page by page."""

from typing import Any

from holdfast.client.client import Client
from holdfast.model.refusal import Refusal

PAGE = 10_000
Row = dict[str, Any]


def transitions(client: Client) -> list[Row]:
    """Every change of a node's stage since the first, oldest first."""
    found: dict[object, Row] = {}
    since = 0.0
    while True:
        page: list[Row] = client.get("/v1/transitions", since=since, limit=PAGE)["transitions"]
        for row in page:
            found[row["node"], row["at"], row["happening"], row["before"], row["after"]] = row
        if len(page) < PAGE:
            return list(found.values())
        since = _further(since, page[-1]["at"])


def jobs(client: Client, begin: float, end: float) -> list[Row]:
    """Every job that had started by the end and ran at or after the beginning, latest start first."""
    found: dict[object, Row] = {}
    until = end
    while True:
        page: list[Row] = client.get("/v1/jobs", since=begin, until=until, limit=PAGE)["jobs"]
        for row in page:
            found[row["source"], row["id"], row["step"]] = row
        if len(page) < PAGE:
            return list(found.values())
        until = _further(until, page[-1]["start"])


def _further(before: float, last: float) -> float:
    """Where the next page begins; it is read again from there, for several may share the moment."""
    if last == before:
        raise Refusal(f"the controller tells more than {PAGE:,} things of one moment ({last:.0f}): too many to page", 1)
    return last
