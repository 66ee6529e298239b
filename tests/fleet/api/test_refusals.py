"""Malformed, oversized, unauthenticated, forged and replayed requests: 4xx in one sentence, audited, never a crash."""

import re
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import until

if TYPE_CHECKING:
    from .conftest import Controller

MALFORMED: list[tuple[bytes, str]] = [
    (b"", "JSON"),
    (b"[", "JSON"),
    (b"\xff\xfe", "JSON"),
    (b"{}", "array"),
    (b"[]", "1 to 500"),
    (b"[1]", "object"),
    (b'[{"node":"a"}]', "session"),
    (b"[" * 100_000, "JSON"),
    (b'[{"node":"","session":"s","seq":1,"at":1.0}]', "node"),
    (b'[{"node":"a","session":"s","seq":-1,"at":1.0}]', "seq"),
    (b'[{"node":"a","session":"s","seq":1,"at":1e999}]', ""),
    (b'[{"node":"a\\ud800","session":"s","seq":1,"at":1.0}]', ""),
]


def sentence(reply: Any, status: int) -> str:
    assert reply.status_code == status, reply.text
    body = reply.json()
    assert set(body) == {"error"}
    assert body["error"] and "\n" not in body["error"]
    return str(body["error"])


@pytest.mark.parametrize(("body", "named"), MALFORMED, ids=[repr(body[:30]) for body, _ in MALFORMED])
def test_malformed_reports_are_refused_in_a_sentence(controller: "Controller", body: bytes, named: str) -> None:
    agent = controller.enrol("malformed")
    assert named in sentence(controller.ask("POST", "/v1/reports", agent.credential, content=body), 400)


def test_oversized_reports_are_refused_whether_they_say_so_or_not(controller: "Controller") -> None:
    agent = controller.enrol("oversized")
    large = b" " * (1 << 20) + b"[]"
    assert "bytes" in sentence(controller.ask("POST", "/v1/reports", agent.credential, content=large), 413)
    parts = (b" " * (1 << 18) for _ in range(5))
    assert "bytes" in sentence(controller.ask("POST", "/v1/reports", agent.credential, content=parts), 413)
    until(lambda: controller.audited(who="oversized", outcome="refused 413"), "it is audited")


def test_an_agent_that_reports_for_another_node_is_refused_and_audited(controller: "Controller") -> None:
    agent, _ = controller.enrol("forger"), controller.enrol("forged")
    report = {**agent.next(heartbeat=True), "node": "forged"}
    assert "forger" in sentence(controller.report([report], agent.credential), 403)
    until(lambda: controller.audited(who="forger", outcome="refused 403"), "it is audited")


def test_a_good_report_beside_a_forged_one_is_not_taken_either(controller: "Controller") -> None:
    agent = controller.enrol("mixed")
    good = agent.next(heartbeat=True)
    assert controller.report([good, {**good, "node": "forged"}], agent.credential).status_code == 403
    assert agent.send(good)["accepted"] == [True]


def test_simulated_readings_are_refused_outside_demo_mode(controller: "Controller") -> None:
    agent = controller.enrol("pretender")
    assert "demo" in sentence(controller.report([agent.next(twin=True)], agent.credential), 403)
    ask = {"node": "twin", "join_token": controller.token(), "twin": True}
    assert "demo" in sentence(controller.post("/v1/enrol", ask, ""), 403)


@pytest.mark.parametrize("token", ["", "nonsense", "x" * 10_000], ids=["none", "unknown", "long"])
@pytest.mark.parametrize("path", ["/v1/nodes", "/v1/fleet", "/v1/audit", "/v1/stream", "/metrics"])
def test_nothing_is_shown_without_a_token(controller: "Controller", path: str, token: str) -> None:
    sentence(controller.ask("GET", path, token), 401)


def test_reports_without_a_credential_are_refused(controller: "Controller") -> None:
    sentence(controller.report([], ""), 401)
    assert "agent" not in sentence(controller.report([], "nonsense"), 401)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/enrol", {}),
        ("/v1/enrol", {"node": "a b", "join_token": "x"}),
        ("/v1/enrol", {"node": "n", "join_token": "x", "place": {"rack": "r 1"}}),
        ("/v1/enrol", {"node": "n", "join_token": 7}),
        ("/v1/tokens", {"role": "king"}),
        ("/v1/tokens", {"role": "viewer"}),
        ("/v1/tokens", {"hours": -1}),
        ("/v1/tokens/revoke", {"target": ""}),
        ("/v1/nodes/n1/quarantine", {}),
    ],
)
def test_bodies_that_do_not_fit_are_refused(controller: "Controller", path: str, body: dict[str, Any]) -> None:
    sentence(controller.post(path, body), 400)


def test_what_is_none_of_an_enumeration_is_reported_with_those_that_are(controller: "Controller") -> None:
    result = sentence(controller.ask("GET", "/v1/nodes?stage=perhaps"), 400)
    assert result.startswith("stage: 'perhaps' is not one of provisioning, testing, ready")
    assert "role: 'king' is not one of " in sentence(controller.post("/v1/tokens", {"name": "x", "role": "king"}), 400)


def test_a_join_token_holds_as_often_as_it_says(controller: "Controller") -> None:
    join = controller.token(uses=1)
    assert controller.post("/v1/enrol", {"node": "first", "join_token": join}, "").status_code == 200
    reply = controller.post("/v1/enrol", {"node": "second", "join_token": join}, "")
    assert "used up" in sentence(reply, 403)
    assert controller.ask("GET", "/v1/nodes/second").status_code == 404


def test_a_wrong_page_of_a_history_is_a_bad_request(controller: "Controller") -> None:
    controller.enrol("paged")
    sentence(controller.ask("GET", "/v1/nodes/paged/history?before=nonsense"), 400)
    sentence(controller.ask("GET", "/v1/nodes/paged/history?limit=0"), 400)
    sentence(controller.ask("GET", "/v1/nodes/nobody/history"), 404)


def test_a_flood_of_bad_requests_does_not_become_a_flood_of_rows(controller: "Controller") -> None:
    before = len(controller.get("/v1/audit", limit=10_000)["entries"])
    for _ in range(150):
        controller.report([], "nonsense")
    assert len(controller.get("/v1/audit", limit=10_000)["entries"]) - before <= 120


def test_a_body_of_brackets_is_refused_by_every_route(controller: "Controller") -> None:
    """Two of them need no token. It is neither a mistake of ours nor a traceback in the log."""
    paths = controller.get("/schema/openapi.json", token="")["paths"]
    taking = [path for path, routes in paths.items() if "requestBody" in routes.get("post", {})]
    asked = {path: re.sub(r"\{[^}]*\}", "1", path) for path in taking}
    found = {path: controller.ask("POST", url, content=b"[" * 100_000) for path, url in asked.items()}
    assert {path: reply.status_code for path, reply in found.items() if reply.status_code not in (400, 403)} == {}
    assert len(found) > 10


NO_PAGES = ["/%00", "/" + "9" * 400, "/index.html/x", "/assets", "/..%2findex.html", "/%0d%0aERROR"]


@pytest.mark.parametrize("path", NO_PAGES)
def test_a_path_that_is_no_page_is_refused_before_it_reaches_the_file_system(
    controller: "Controller", path: str
) -> None:
    """Anybody may ask, without a token: nothing of it may become a server error or a traceback in the log."""
    assert controller.ask("GET", path, token="").status_code == 404
    assert controller.ask("HEAD", path, token="").status_code == 404
    assert "Traceback" not in controller.config.with_suffix(".log").read_text()
