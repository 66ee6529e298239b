"""Before an operator asks: what it would do, and whether this token may."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Controller


def test_what_a_request_would_do_is_shown_and_not_done(controller: "Controller") -> None:
    controller.ready_node("previewed")
    shown = controller.get("/v1/nodes/previewed/operator-actions")
    requests = {one["request"]: one for one in shown["requests"]}
    assert shown["dry_run"] is False
    assert requests["quarantine"]["possible"]
    assert requests["quarantine"]["stage"] in ("draining", "quarantined")
    assert not requests["release"]["possible"]
    assert "release changes nothing while ready" in requests["release"]["description"]
    assert controller.stage("previewed") == "ready"


def test_a_request_does_what_was_shown(controller: "Controller") -> None:
    controller.ready_node("as-shown")
    shown = {one["request"]: one for one in controller.get("/v1/nodes/as-shown/operator-actions")["requests"]}
    controller.post("/v1/nodes/as-shown/quarantine", {"reason": "a look at its fans"})
    entries = controller.get("/v1/nodes/as-shown/history")["entries"]
    moves = [one["facts"] for one in entries if one["kind"] == "transition" and one["facts"]["before"] == "ready"]
    assert [move["after"] for move in moves] == [shown["quarantine"]["stage"]], "an empty node soon goes on from there"


def test_a_token_reports_what_it_may(controller: "Controller") -> None:
    assert controller.get("/v1/me")["may"] == [
        "report signals", "read", "read own nodes", "retest own nodes", "operate", "administer"
    ]  # fmt: skip
    viewer = controller.token(role="viewer", name="looker")
    assert controller.get("/v1/me", token=viewer) == {
        "name": "looker",
        "role": "viewer",
        "may": ["read", "read own nodes"],
    }


def test_requests_of_an_unknown_node_are_a_404(controller: "Controller") -> None:
    reply = controller.ask("GET", "/v1/nodes/nobody/operator-actions")
    assert (reply.status_code, reply.json()["error"]) == (404, "no node is called 'nobody'")
