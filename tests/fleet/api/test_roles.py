"""Every route of the document, asked for with every role: who may not is refused, however the route is asked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Controller

OPEN = {  # no token is needed
    "GET /healthz", "GET /readyz", "GET /v1/session", "POST /v1/session", "DELETE /v1/session", "POST /v1/enrol",
    "GET /v1/session/oidc", "GET /v1/session/oidc/callback",
}  # fmt: skip
AGENT = {"POST /v1/reports", "POST /v1/credential", "GET /v1/admission"}
SIGNALS = {"POST /v1/signals"}
ADMIN = {"GET /v1/audit", "GET /v1/tokens", "POST /v1/tokens", "POST /v1/tokens/revoke"}
JOB = {"GET /v1/nodes", "GET /v1/nodes/theirs", "GET /v1/nodes/theirs/history", "POST /v1/nodes/theirs/retest"}
BODIES = {"POST /v1/drills/run": {"drill": "x"}}  # a viewer is refused by the route, after its body was read
REFUSED = (401, 403)


def routes(controller: "Controller") -> Iterator[str]:
    for path, operations in controller.get("/schema/openapi.json")["paths"].items():
        filled = path.replace("{name}", "theirs").replace("{number}", "1")
        for place in ("{key}", "{wanted}"):
            filled = filled.replace(place, "theirs")
        yield from (f"{method.upper()} {filled}" for method in operations)


def may(role: str, route: str) -> bool:
    """What docs/threat-model.md and SECURITY.md say of each role."""
    if route in OPEN:
        return True
    if role == "agent":
        return route in AGENT | SIGNALS
    if role == "job":
        return route in JOB
    if role == "viewer":
        return route.startswith("GET ") and route not in AGENT | ADMIN
    if role == "operator":
        return route not in AGENT | ADMIN
    return False


@pytest.mark.parametrize("role", ["", "viewer", "operator", "job", "agent"])
def test_no_role_may_more_than_it_may(controller: "Controller", role: str) -> None:
    """A job's token is for another node, an agent's credential is another node's."""
    if role == "agent":
        token = controller.enrol("not-theirs").credential
    elif role == "job":
        token = controller.token(name="a-job", role="job", nodes="not-theirs")
    else:
        token = controller.token(name=f"only-{role}", role=role) if role else ""
    asked = {}
    for route in routes(controller):
        method, path = route.split(" ")
        if not may(role, route):
            asked[route] = controller.ask(method, path, token, json=BODIES.get(route, {"reason": "x"})).status_code
    assert len(asked) > 5
    assert {route: status for route, status in asked.items() if status not in REFUSED} == {}


def test_a_jobs_token_sees_nothing_of_the_nodes_of_others(controller: "Controller") -> None:
    controller.enrol("theirs")
    token = controller.token(name="a-job", role="job", nodes="ours-1")
    assert controller.get("/v1/nodes", token)["nodes"] == []
    for route in JOB - {"GET /v1/nodes"}:
        method, path = route.split(" ")
        assert controller.ask(method, path, token, json={"reason": "x"}).status_code == 403, route
