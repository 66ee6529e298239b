"""Sign-in by OpenID Connect: authorization code with PKCE, at any provider; groups become roles."""

import base64
import hashlib
import json
import secrets
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import quote_plus, urlencode

from holdfast.fleet.actions.secret import Secret
from holdfast.model.records import Role
from holdfast.runtime.errors import NoAnswer
from holdfast.runtime.http import check_url, send, tls

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures by a key of the provider. Not 'none', and not HMAC, whose key the client would share."""
LEEWAY_SECONDS = 60
DISCOVERY_SECONDS = 3_600.0
EVERYONE = "*"
MOST_BYTES = 1 << 20
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_STRONGEST_FIRST = (Role.ADMIN, Role.OPERATOR, Role.VIEWER)


class SignInRefused(Exception):
    """The reason that a sign-in failed, as one sentence for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcRoles:
    """Groups of each role; '*' stands for all users who can sign in."""

    viewer: tuple[str, ...] = ()
    operator: tuple[str, ...] = ()
    admin: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    issuer: str
    """As the provider names itself: issuer/.well-known/openid-configuration is read."""
    client_id: str
    client_secret: Secret | None = None
    """None: a public client, which PKCE alone protects."""
    label: str = "Sign in with your organisation"
    scopes: str = "openid profile email groups"
    groups_claim: str = "groups"
    name_claim: str = "preferred_username"
    """Who it is, for the audit log; if it is missing: email, then sub. The subject follows in parentheses, unless
    the two are the same or it is an e-mail address that the provider has verified."""
    roles: OidcRoles = field(default_factory=OidcRoles)
    timeout: float = 10.0
    ca_file: str = ""

    def __post_init__(self) -> None:
        check_url("oidc.issuer", self.issuer)
        if "openid" not in self.scopes.split():
            raise ValueError("oidc.scopes: expected openid among them")
        if not (self.roles.viewer or self.roles.operator or self.roles.admin):
            raise ValueError("oidc.roles: expected groups for at least one of viewer, operator and admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """The values that a sign-in must return; a cookie of the browser keeps them."""

    state: str
    nonce: str
    verifier: str
    back: str = ""

    @classmethod
    def new(cls, back: str) -> "SignInAttempt":
        state, nonce = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        return cls(state=state, nonce=nonce, verifier=secrets.token_urlsafe(48), back=back)

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    name: str
    role: Role


def role_of(groups: frozenset[str], roles: OidcRoles) -> Role | None:
    """The strongest role of the groups; None without a matching rule."""
    given = {Role.ADMIN: roles.admin, Role.OPERATOR: roles.operator, Role.VIEWER: roles.viewer}
    return next((role for role in _STRONGEST_FIRST if EVERYONE in given[role] or groups & set(given[role])), None)


def person_of(claims: Mapping[str, Any], settings: OidcSettings) -> Person:
    raw = claims.get(settings.groups_claim)
    groups = frozenset(str(one) for one in (raw if isinstance(raw, list) else [raw] if isinstance(raw, str) else ()))
    name = _name_of(claims, settings.name_claim)
    role = role_of(groups, settings.roles)
    if role is None:
        listed = ", ".join(sorted(groups)[:8]) or "none"
        raise SignInRefused(f"{name} has no role here: none of its groups ({listed}) is in [oidc.roles]")
    return Person(name=name, role=role)


def _name_of(claims: Mapping[str, Any], chosen: str) -> str:
    """The user's name, with the subject unless the provider guarantees the name: at most providers users choose their
    name. A user with another's name must not end that user's sessions or appear as that user in the audit log."""
    subject = str(claims.get("sub", ""))
    claim = next((one for one in (chosen, "email") if claims.get(one)), "sub")
    name = str(claims.get(claim, ""))
    vouched = name == subject or (claim == "email" and claims.get("email_verified") is True)
    return (name if vouched else f"{name[:120]} ({subject})")[:255]


def _same(given: str, expected: str) -> bool:
    """Compares bytes, because compare_digest refuses non-ASCII text, which a browser may send."""
    return bool(expected) and secrets.compare_digest(given.encode("utf-8", "replace"), expected.encode())


class OidcClient:
    """The client of the provider. It blocks on the network: call it in a thread."""

    def __init__(self, settings: OidcSettings, redirect_uri: str) -> None:
        self.settings, self.redirect_uri = settings, redirect_uri
        self._known: tuple[float, dict[str, Any]] = (float("-inf"), {})
        self._context: ssl.SSLContext | None = None

    def begin(self, attempt: SignInAttempt) -> str:
        """The address to which the browser is redirected."""
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self.settings.scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        endpoint = self._address("authorization_endpoint")
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    def finish(self, attempt: SignInAttempt, code: str, state: str) -> Person:
        if not _same(state, attempt.state):
            raise SignInRefused("the answer belongs to another attempt to sign in; try again")
        tokens = self._tokens(attempt, code)
        claims = self._verified(str(tokens.get("id_token", "")), attempt.nonce)
        if self.settings.groups_claim not in claims and "userinfo_endpoint" in self._discovered():
            claims = {**claims, **self._userinfo(str(tokens.get("access_token", "")), str(claims["sub"]))}
        return person_of(claims, self.settings)

    def _tokens(self, attempt: SignInAttempt, code: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "client_id": self.settings.client_id,
            "code_verifier": attempt.verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if self.settings.client_secret is not None:
            # RFC 6749, 2.3.1: both are encoded as in a form before they become a user name and a password.
            pair = f"{quote_plus(self.settings.client_id)}:{quote_plus(self.settings.client_secret.read())}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return self._json("POST", self._address("token_endpoint"), headers, urlencode(form).encode())

    def _userinfo(self, access_token: str, subject: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {access_token}"}
        found = self._json("GET", self._address("userinfo_endpoint"), headers)
        if found.get("sub") != subject:
            raise SignInRefused("the provider's user info is about another user")
        return found

    def _verified(self, token: str, nonce: str) -> dict[str, Any]:
        """Verifies signature, issuer, audience, times and nonce of the ID token. Keys and claims are untrusted."""
        import jwt

        try:
            kid = jwt.get_unverified_header(token).get("kid")
            keys = jwt.PyJWKSet.from_dict(self._json("GET", self._address("jwks_uri"))).keys
            key = next((one for one in keys if kid is None or one.key_id == kid), None)
            if key is None:
                raise SignInRefused("the ID token is signed with a key that the provider does not publish")
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self.settings.client_id,
                issuer=str(self._discovered()["issuer"]),
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "sub", "aud", "iss"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise SignInRefused(f"the provider's ID token is not valid: {error}") from None
        if not _same(str(claims.get("nonce", "")), nonce):
            raise SignInRefused("the ID token belongs to another attempt to sign in; try again")
        return claims

    def _address(self, name: str) -> str:
        """An address from the provider's document, which is untrusted."""
        address = str(self._discovered().get(name, ""))
        try:
            check_url(f"the provider's {name}", address)
        except ValueError as error:
            raise SignInRefused(str(error)) from None
        return address

    def _discovered(self) -> dict[str, Any]:
        read_at, known = self._known
        if time.monotonic() - read_at < DISCOVERY_SECONDS:
            return known
        issuer = self.settings.issuer.rstrip("/")
        known = self._json("GET", f"{issuer}/.well-known/openid-configuration")
        if str(known.get("issuer", "")).rstrip("/") != issuer:
            raise SignInRefused(f"the provider at {issuer} calls itself {str(known.get('issuer'))[:200]!r}")
        self._known = (time.monotonic(), known)
        return known

    def _json(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes | None = None
    ) -> dict[str, Any]:
        """Requests JSON, bounded in bytes and time, because a client without a session can cause this request."""
        asked = {"Accept": "application/json", **headers}
        try:
            reply = send(method, url, asked, body, self.settings.timeout, self._tls(), most_bytes=MOST_BYTES)
            answer = json.loads(reply.body)
        except (NoAnswer, OSError, ValueError, RecursionError) as error:
            raise SignInRefused(f"the identity provider does not answer: {error or type(error).__name__}") from None
        if reply.status != 200 or not isinstance(answer, dict):
            why = answer.get("error_description") or answer.get("error") if isinstance(answer, dict) else ""
            raise SignInRefused(f"the identity provider answered {reply.status}: {str(why)[:200]}")
        return answer

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = tls(self.settings.ca_file, verify=True)
        return self._context
