"""Sessions of the page: HttpOnly cookies, safe against requests of other sites; signing in with a token."""

import hashlib
from typing import TYPE_CHECKING

import httpx
import pytest

from holdfast.fleet.controller.commands import MOST_SESSIONS
from tests.fleet.controller.running import NO_CERTIFICATES

if TYPE_CHECKING:
    from .conftest import Controller

COOKIE, HEADER = "holdfast_session", {"X-Holdfast-Session": "console"}


def browser(controller: "Controller") -> httpx.Client:
    return httpx.Client(base_url=controller.url, trust_env=False, verify=NO_CERTIFICATES)


def signed_in(controller: "Controller", role: str = "operator") -> httpx.Client:
    made = browser(controller)
    token = controller.token(role=role, name=f"{role}-by-page")
    reply = made.post("/v1/session", json={"token": token}, headers=HEADER)
    assert reply.status_code == 200, reply.text
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and token.lower() not in cookie
    return made


def test_a_token_opens_a_session_that_may_what_the_token_may(controller: "Controller") -> None:
    page = signed_in(controller)
    assert page.get("/v1/session").json()["name"] == "operator-by-page"
    assert page.get("/v1/me").json()["role"] == "operator"
    controller.ready_node("by-page")
    done = page.post("/v1/nodes/by-page/quarantine", json={"reason": "loud"}, headers=HEADER)
    assert done.status_code == 200, done.text
    assert controller.audited(verb="quarantine", target="by-page")[0]["who"] == "operator-by-page"
    assert controller.audited(verb="session open", who="operator-by-page")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {**HEADER, "Sec-Fetch-Site": "cross-site"},
        {**HEADER, "Sec-Fetch-Site": "same-site"},
        {**HEADER, "Origin": "https://evil.example.com"},
    ],
)
def test_another_site_cannot_use_the_session(controller: "Controller", headers: dict[str, str]) -> None:
    page = signed_in(controller)
    for method, path in (("POST", "/v1/nodes/none/quarantine"), ("POST", "/v1/inbox"), ("DELETE", "/v1/session")):
        refused = page.request(method, path, json={"reason": "x"}, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "cross_site")
    assert page.get("/v1/me").status_code == 200


def test_no_one_is_signed_in_by_another_site(controller: "Controller") -> None:
    token = controller.token(role="viewer", name="victim")
    refused = browser(controller).post("/v1/session", json={"token": token})
    assert refused.status_code == 403 and "set-cookie" not in refused.headers


def test_signing_out_ends_the_session_for_whoever_holds_the_cookie(controller: "Controller") -> None:
    page = signed_in(controller)
    stolen = page.cookies[COOKIE]
    assert page.delete("/v1/session", headers=HEADER).status_code == 200
    assert COOKIE not in page.cookies
    thief = browser(controller)
    thief.cookies.set(COOKIE, stolen)
    assert thief.get("/v1/me").status_code == 401
    assert thief.get("/v1/session").json()["signed_in"] is False


def test_revoking_a_person_ends_the_session_too(controller: "Controller") -> None:
    page = signed_in(controller, "admin")
    controller.post("/v1/tokens/revoke", {"target": "admin-by-page"})
    assert page.get("/v1/me").status_code == 401


def test_a_wrong_token_opens_nothing(controller: "Controller") -> None:
    refused = browser(controller).post("/v1/session", json={"token": "hf_wrong"}, headers=HEADER)
    assert refused.status_code == 401 and "set-cookie" not in refused.headers


def test_without_a_provider_there_is_no_sign_in_by_one(controller: "Controller") -> None:
    page = browser(controller)
    assert page.get("/v1/session").json()["oidc"] == ""
    assert page.get("/v1/session/oidc").status_code == 404
    lost = page.get("/v1/session/oidc/callback?code=x&state=y")
    assert lost.status_code == 302 and lost.headers["location"].startswith("/#/sign-in?why=")


def reads(controller: "Controller", session: str) -> int:
    with browser(controller) as page:
        page.cookies.set(COOKIE, session)
        return page.get("/v1/me").status_code


def test_a_session_ends_with_the_token_that_opened_it(controller: "Controller") -> None:
    token = controller.token(role="operator", name="leaked")
    page, other = browser(controller), signed_in(controller)
    page.post("/v1/session", json={"token": token}, headers=HEADER)
    hashed = hashlib.sha256(token.encode()).hexdigest()
    assert controller.post("/v1/tokens/revoke", {"target": hashed}).json() == {"revoked": 2}
    assert page.get("/v1/me").status_code == 401
    assert other.get("/v1/me").status_code == 200
    assert controller.post("/v1/tokens/revoke", {"target": ""}).json() != {"revoked": 1}
    assert other.get("/v1/me").status_code == 200


def test_a_session_lasts_no_longer_than_its_token(controller: "Controller") -> None:
    token = controller.token(role="viewer", name="brief-visit", hours=0.01)
    opened = browser(controller).post("/v1/session", json={"token": token}, headers=HEADER)
    assert 0 < int(opened.headers["set-cookie"].lower().partition("max-age=")[2].partition(";")[0]) <= 36


def test_a_session_opens_no_other_session(controller: "Controller") -> None:
    """A stolen cookie would renew itself for ever."""
    stolen = signed_in(controller).cookies[COOKIE]
    refused = browser(controller).post("/v1/session", json={"token": stolen}, headers=HEADER)
    assert refused.status_code == 403 and "set-cookie" not in refused.headers


def test_one_person_has_a_bounded_number_of_sessions(controller: "Controller") -> None:
    token = controller.token(role="viewer", name="many")
    opened = [
        browser(controller).post("/v1/session", json={"token": token}, headers=HEADER).cookies[COOKIE]
        for _ in range(MOST_SESSIONS + 1)
    ]
    assert [reads(controller, one) for one in (opened[0], opened[1], opened[-1])] == [401, 200, 200]
    assert controller.ask("GET", "/v1/me", token).status_code == 200


def test_nothing_is_signed_in_by_no_token(controller: "Controller") -> None:
    assert browser(controller).post("/v1/session", json={"token": " "}, headers=HEADER).status_code == 400
