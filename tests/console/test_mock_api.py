"""The mock that the page is tested against answers what the API would: each answer fits the API's own document."""

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from . import contract
from .mock_api import MockFleet, item, serving
from .seam_incident import account, training

ITEM = item("n003")
OF_NODES = ("n000", "n001", "n001/history?limit=5", "n001/parts", "n001/operator-actions")
REQUEST = {"reason": "fans rattle", "force": False}
POSTS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((f"nodes/n002/{verb}", REQUEST) for verb in ("quarantine", "release", "retest", "remove")),
    ("inbox", {"item": ITEM["key"], "action": "acknowledge"}),
    ("inbox", {"item": ITEM["key"], "action": "mute", "hours": 1.0}),
    ("session", {"token": ""}),
    ("session", {"token": "wrong"}),
)


@pytest.fixture
def fleet() -> MockFleet:
    fleet = MockFleet(16, role="operator", checked=True)
    fleet.incident("cdu/c2", "coolant flow fell", cause="cooling.flow_low", account=account(), evidence=["n001"])
    fleet.incident("rack/r7", "16 of 16 nodes failed together", "closed")
    fleet.items, fleet.jobs["llama"] = [dict(ITEM)], training()
    fleet.change("n001", stage="quarantined", health="fail", reason="Xid 79 on GPU 3")
    return fleet


@pytest.fixture
def connection(fleet: MockFleet, tmp_path: Path) -> Iterator[HTTPConnection]:
    with serving(fleet, tmp_path) as url, closing(HTTPConnection(urlsplit(url).netloc)) as connection:
        yield connection


def ask(connection: HTTPConnection, method: str, path: str, body: object = None) -> int:
    connection.request(method, f"/v1/{path}", json.dumps(body) if body is not None else None)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_every_answer_fits_the_document_of_the_api(fleet: MockFleet, connection: HTTPConnection) -> None:
    paths = ["session", *(quote(path) for path in fleet.answers() if path != "refused")]
    assert {ask(connection, "GET", path) for path in (*paths, *(f"nodes/{one}" for one in OF_NODES))} == {200}
    assert ask(connection, "GET", "nodes/unheard-of") == 404
    assert [ask(connection, "POST", path, body) for path, body in POSTS] == [200] * 7 + [401]
    assert ask(connection, "DELETE", "session") == 200
    assert fleet.faults == []


def test_a_refusal_fits_it_too(fleet: MockFleet, connection: HTTPConnection) -> None:
    fleet.brake = "4 of 48 nodes are out"
    assert ask(connection, "POST", "nodes/n002/quarantine", REQUEST) == 409
    fleet.role = "viewer"
    assert ask(connection, "POST", "nodes/n002/quarantine", REQUEST) == 403
    assert fleet.faults == []


@pytest.mark.parametrize(
    ("method", "path", "status", "body", "fault"),
    [
        ("GET", "/v1/me", 200, {"name": "a", "role": "viewer", "may": []}, ""),
        ("GET", "/v1/me", 200, {"name": "a", "role": "viewer", "words": []}, "'may' is a required property"),
        ("GET", "/v1/me", 200, {"name": "a", "role": "viewer", "may": [], "words": ""}, "('words' was unexpected)"),
        ("GET", "/v1/me", 200, {"name": 1, "role": "viewer", "may": []}, "1 is not of type 'string'"),
        ("GET", "/v1/me", 201, {}, "never answers 201"),
        ("POST", "/v1/me", 200, {}, "no such route"),
        ("GET", "/v1/series/subjects", 200, {"subjects": [], "more": 0}, ""),
        ("GET", "/v1/nodes/n1/history", 200, {"entries": [], "next": ""}, ""),
        ("GET", "/v1/me", 401, {"error": "this token is not known"}, ""),
        ("GET", "/v1/me", 401, {"detail": "no"}, "'error' is a required property"),
    ],
)
def test_a_field_too_few_or_too_many_is_a_fault(method: str, path: str, status: int, body: object, fault: str) -> None:
    found = contract.faults(method, path, status, body)
    assert any(fault in one for one in found) if fault else found == []


def test_an_event_is_one_that_the_api_sends() -> None:
    assert contract.event_faults("inbox", {}) == ["event inbox: the API has no such event"]
    assert contract.event_faults("transition", {"node": "n001"})
