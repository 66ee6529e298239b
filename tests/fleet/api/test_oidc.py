"""Sign-in by OpenID Connect against a real provider: code, PKCE, groups to roles; and what must be refused."""

import re
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urljoin, urlsplit

import httpx
import pytest

from holdfast.fleet.api.oidc import (
    OidcClient,
    OidcRoles,
    OidcSettings,
    SignInAttempt,
    SignInRefused,
    person_of,
    role_of,
)
from holdfast.model.records import Role
from tests.fleet.api.oidc_provider import provider as oidc_provider
from tests.ports import free_port

from .conftest import running

if TYPE_CHECKING:
    from .conftest import Controller

ROLES = OidcRoles(admin=("sre-leads",), operator=("sre",))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Controller"]:
    """A provider and a controller that know each other."""
    if why := oidc_provider.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("oidc")
    (folder / "secret").write_text("a-secret-of-the-test")
    port = free_port()
    config = f"""
[oidc]
issuer = "http://127.0.0.1:{port}"
client_id = "holdfast"
client_secret = {{ file = "{folder / "secret"}" }}
label = "Sign in with the test provider"
[oidc.roles]
admin = ["sre-leads"]
operator = ["sre"]
"""
    with (
        running(folder, more=config) as one,
        oidc_provider.serving(folder, port, f"{one.url}/v1/session/oidc/callback"),
    ):
        yield one


def signs_in(site: "Controller", login: str, back: str = "inbox") -> tuple[httpx.Client, str]:
    """What a browser does: follows redirects, fills in the provider's two forms. Returns where it ends."""
    page = httpx.Client(trust_env=False)
    reply = page.get(f"{site.url}/v1/session/oidc", params={"back": back})
    for _ in range(20):
        if reply.is_redirect:
            target = urljoin(str(reply.url), reply.headers["location"])
            if urlsplit(target).path == "/" and target.startswith(site.url):
                return page, target
            reply = page.get(target)
            continue
        form = re.search(r'<form[^>]*action="([^"]+)"[^>]*>(.*?)</form>', reply.text, re.S)
        assert form is not None, reply.text[:500]
        fields = dict(re.findall(r'<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"', form[2]))
        if 'name="login"' in form[2]:
            fields |= {"login": login, "password": "any"}
        reply = page.post(urljoin(str(reply.url), unescape(form[1])), data=fields)
    raise AssertionError("the sign-in did not end")


@pytest.mark.parametrize(("login", "role"), [("ada", "admin"), ("bob", "operator")])
def test_a_person_signs_in_with_the_role_of_its_groups(site: "Controller", login: str, role: str) -> None:
    page, target = signs_in(site, login)
    assert target == f"{site.url}/#/inbox"
    who = page.get(f"{site.url}/v1/session").json()
    assert (who["signed_in"], who["name"], who["role"]) == (True, login, role)
    assert site.audited(verb="session open", who=login)


def test_a_person_without_a_role_is_not_signed_in_and_reported_why(site: "Controller") -> None:
    page, target = signs_in(site, "eve")
    assert "none of its groups (interns)" in unquote(target)
    assert page.get(f"{site.url}/v1/session").json()["signed_in"] is False


def test_the_code_is_worth_nothing_without_the_browser_that_began(site: "Controller") -> None:
    stranger = httpx.Client(trust_env=False)
    reply = stranger.get(f"{site.url}/v1/session/oidc/callback?code=stolen&state=guessed")
    assert "sign-in?why=" in reply.headers["location"] and "holdfast_session" not in stranger.cookies
    begun = stranger.get(f"{site.url}/v1/session/oidc")
    asked = parse_qs(urlsplit(begun.headers["location"]).query)
    assert asked["code_challenge_method"] == ["S256"] and asked["response_type"] == ["code"]
    reply = stranger.get(f"{site.url}/v1/session/oidc/callback?code=stolen&state=guessed")
    assert "another attempt" in unquote(reply.headers["location"])
    begun = stranger.get(f"{site.url}/v1/session/oidc")
    state = parse_qs(urlsplit(begun.headers["location"]).query)["state"][0]
    reply = stranger.get(f"{site.url}/v1/session/oidc/callback?code=stolen&state={state}")
    assert "identity provider answered 400" in unquote(reply.headers["location"])


def test_where_one_comes_back_to_is_on_our_own_page(site: "Controller") -> None:
    _, target = signs_in(site, "bob", back="//evil.example.com/x")
    assert target.startswith(f"{site.url}/#/evil")


@pytest.mark.parametrize(
    ("groups", "role"),
    [({"sre-leads", "sre"}, Role.ADMIN), ({"sre"}, Role.OPERATOR), ({"other"}, None), (set(), None)],
)
def test_the_strongest_role_of_all_groups_counts(groups: set[str], role: Role | None) -> None:
    assert role_of(frozenset(groups), ROLES) is role


def test_everyone_may_have_a_role_and_a_single_group_may_be_text() -> None:
    settings = OidcSettings(
        issuer="https://id.example.com", client_id="h", roles=OidcRoles(viewer=("*",), admin=("root",))
    )
    assert person_of({"sub": "1", "groups": "root"}, settings).role is Role.ADMIN
    assert person_of({"sub": "1"}, settings).role is Role.VIEWER


def test_another_state_is_refused_before_anything_is_asked() -> None:
    settings = OidcSettings(issuer="http://127.0.0.1:9", client_id="h", roles=ROLES)
    with pytest.raises(SignInRefused, match="another attempt"):
        OidcClient(settings, "http://x/cb").finish(SignInAttempt.new(""), "code", "other")


@pytest.mark.parametrize("bad", [{"scopes": "profile"}, {"roles": OidcRoles()}, {"issuer": "ftp://x"}])
def test_settings_that_sign_no_one_in_are_refused_at_start(bad: dict[str, object]) -> None:
    facts: dict[str, object] = {"issuer": "https://id.example.com", "client_id": "h", "roles": ROLES}
    with pytest.raises(ValueError):
        OidcSettings(**(facts | bad))  # type: ignore[arg-type]
