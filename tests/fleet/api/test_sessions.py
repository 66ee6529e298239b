"""Sessions of the page: HttpOnly cookies, safe against requests of other sites; signing in with a token."""

from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from .conftest import Controller

COOKIE, HEADER = "holdfast_session", {"X-Holdfast-Session": "console"}


def browser(controller: "Controller") -> httpx.Client:
    return httpx.Client(base_url=controller.url, trust_env=False)


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


def test_nobody_is_signed_in_by_another_site(controller: "Controller") -> None:
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
