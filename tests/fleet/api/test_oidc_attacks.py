"""ID tokens and documents that a provider, or somebody between, could send: none signs anybody in."""

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key

from holdfast.fleet.api import oidc
from holdfast.fleet.api.oidc import OidcClient, OidcRoles, OidcSettings, SignInAttempt, SignInRefused
from holdfast.model.records import Role
from holdfast.runtime.http import Reply

ISSUER = "https://id.example"
OURS, OTHER = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
PUBLIC = OURS.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
ATTEMPT = SignInAttempt(state="state", nonce="nonce", verifier="verifier")
DOCUMENT: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/auth",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
}


def jwk(key: EllipticCurvePrivateKey = OURS) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
    return {**made, "kid": "k", "use": "sig", "alg": "ES256"}


def claims(**other: Any) -> dict[str, Any]:
    now = int(time.time())
    good = {"iss": ISSUER, "aud": "holdfast", "sub": "1", "nonce": "nonce", "exp": now + 60, "iat": now}
    made = {**good, "groups": ["sre"], "preferred_username": "ada", **other}
    return {name: value for name, value in made.items() if value is not None}


def signed(key: Any = OURS, algorithm: str = "ES256", kid: str = "k", **other: Any) -> str:
    return jwt.encode(claims(**other), key, algorithm=algorithm, headers={"kid": kid})


def unsigned(algorithm: str) -> str:
    """A header that says so, our claims, and no signature."""
    parts = ({"alg": algorithm, "typ": "JWT", "kid": "k"}, claims())
    return ".".join([*(jwt.utils.base64url_encode(json.dumps(one).encode()).decode() for one in parts), ""])


def with_shared_key() -> str:
    """HMAC with the provider's public key, as if it were a secret of both."""
    head, body, _ = unsigned("HS256").split(".")
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    mac = algorithm.sign(f"{head}.{body}".encode(), PUBLIC)
    return f"{head}.{body}.{jwt.utils.base64url_encode(mac).decode()}"


def client(monkeypatch: pytest.MonkeyPatch, token: str, keys: Any = None, **document: Any) -> OidcClient:
    answers = {
        f"{ISSUER}/.well-known/openid-configuration": {**DOCUMENT, **document},
        f"{ISSUER}/token": {"id_token": token, "access_token": "a"},
        f"{ISSUER}/keys": {"keys": [jwk()]} if keys is None else keys,
    }

    def answer(method: str, url: str, *more: Any, **named: Any) -> Reply:
        found = answers[url]
        return Reply(200, {}, found if isinstance(found, bytes) else json.dumps(found).encode())

    monkeypatch.setattr(oidc, "send", answer)
    settings = OidcSettings(issuer=ISSUER, client_id="holdfast", roles=OidcRoles(operator=("sre",)))
    return OidcClient(settings, "http://x/callback")


def test_a_good_token_signs_in(monkeypatch: pytest.MonkeyPatch) -> None:
    person = client(monkeypatch, signed()).finish(ATTEMPT, "code", "state")
    assert (person.name, person.role) == ("ada (1)", Role.OPERATOR)


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"sub": "2"}, "ada (2)"),  # called like another person: still somebody else
        ({"sub": "ada"}, "ada"),
        ({"preferred_username": "x" * 900}, f"{'x' * 120} (1)"),
        ({"preferred_username": None, "email": "a@b.c"}, "a@b.c (1)"),
        ({"preferred_username": None, "email": "a@b.c", "email_verified": "true"}, "a@b.c (1)"),
        ({"preferred_username": None, "email": "a@b.c", "email_verified": True}, "a@b.c"),
        ({"preferred_username": "a@b.c", "email": "a@b.c", "email_verified": True}, "a@b.c (1)"),
        ({"preferred_username": None}, "1"),
    ],
)
def test_a_name_that_a_person_chose_is_no_identity(
    monkeypatch: pytest.MonkeyPatch, other: dict[str, object], name: str
) -> None:
    assert client(monkeypatch, signed(**other)).finish(ATTEMPT, "code", "state").name == name


BAD: dict[str, Callable[[], str]] = {
    "unsigned": lambda: unsigned("none"),
    "unsigned, as None": lambda: unsigned("None"),
    "without its signature": lambda: unsigned("ES256"),
    "key confusion": with_shared_key,
    "another key": lambda: signed(OTHER),
    "an unknown key": lambda: signed(OTHER, kid="other"),
    "another audience": lambda: signed(aud="grafana"),
    "another issuer": lambda: signed(iss="https://evil.example"),
    "expired": lambda: signed(exp=int(time.time()) - 120),
    "without an end": lambda: signed(exp=None),
    "from tomorrow": lambda: signed(iat=int(time.time()) + 86_400),
    "another attempt": lambda: signed(nonce="other"),
    "another attempt, not ASCII": lambda: signed(nonce="\u00e9"),
    "no attempt": lambda: signed(nonce=None),
    "no groups": lambda: signed(groups=None),
    "groups that are a number": lambda: signed(groups=7),
    "groups that are a table": lambda: signed(groups={"sre": True}),
    "no token": lambda: "",
    "a long text": lambda: "a." * 5_000,
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD.keys())
def test_a_bad_token_is_refused(make: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SignInRefused):
        client(monkeypatch, make()).finish(ATTEMPT, "code", "state")


@pytest.mark.parametrize("state", ["", "other", "\u00e9", "\ud800", "state\0"])
def test_an_answer_to_another_attempt_is_refused(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SignInRefused, match="another attempt"):
        client(monkeypatch, signed()).finish(ATTEMPT, "code", state)


DEEP = b'{"a":' * 50_000


@pytest.mark.parametrize("keys", [{}, {"keys": []}, {"keys": 7}, {"keys": [7]}, {"keys": [{"kty": "RSA"}]}, DEEP,
                                  {"keys": [{**jwk(), "x": 7}]}, {"keys": [{**jwk(), "x": "!"}]}])  # fmt: skip
def test_odd_keys_are_refused(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SignInRefused):
        client(monkeypatch, signed(), keys).finish(ATTEMPT, "code", "state")


@pytest.mark.parametrize(
    "document", [{"issuer": "https://evil.example"}, {"jwks_uri": None}, {"token_endpoint": "file:///etc/passwd"}]
)
def test_an_odd_document_is_refused(document: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SignInRefused):
        client(monkeypatch, signed(), **document).finish(ATTEMPT, "code", "state")


def test_the_browser_is_sent_to_a_web_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SignInRefused):
        client(monkeypatch, "", authorization_endpoint="javascript:alert(1)").begin(ATTEMPT)


@pytest.mark.parametrize("piece", [b"[" * 65_536, b" "], ids=["an endless answer", "a byte now and then"])
def test_a_provider_without_end_is_given_up(piece: bytes) -> None:
    """Strangers can have the provider asked: its answers are bounded in bytes and in time."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(piece)
                if len(piece) == 1:
                    time.sleep(0.01)
        except OSError:
            return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    settings = OidcSettings(
        issuer=f"http://127.0.0.1:{server.getsockname()[1]}", client_id="x", roles=OidcRoles(viewer=("*",)), timeout=0.1
    )
    with pytest.raises(SignInRefused, match="does not answer"):
        OidcClient(settings, "http://x/callback").begin(ATTEMPT)
    thread.join()
    server.close()
