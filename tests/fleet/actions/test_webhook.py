"""Web hooks, against a real HTTP server on loopback."""

import hashlib
import hmac
import socket
from pathlib import Path
from typing import Any

import pytest

from holdfast.fleet.actions.backend import ActionResult
from holdfast.fleet.actions.secret import Secret
from holdfast.fleet.actions.webhook import Webhook, WebhookSettings
from holdfast.model.lifecycle import Action, Verb

ACTION = Action(node="n1", verb=Verb.TICKET, reason="gpu 3 is gone", cause="gpu.xid", at=5.0)


def hook(url: str, **more: Any) -> Webhook:
    return Webhook(WebhookSettings(url=url, verbs=frozenset({Verb.TICKET}), **more))


def test_posts_the_body_with_the_key_of_the_action(peer: Any) -> None:
    peer.answer = lambda request: (201, {}, b"TICKET-7")
    body = {"fields": {"summary": "{node}: {reason}", "labels": ["{cause}", "gpu"], "priority": 2}}
    outcome = hook(f"{peer.url}/issue?token=abc", body=body).perform(ACTION, dry_run=False)
    assert outcome.result is ActionResult.DONE and "201: TICKET-7" in outcome.message
    assert "abc" not in outcome.message, "tokens stand in queries"
    [request] = peer.seen
    assert (request.method, request.path) == ("POST", "/issue?token=abc")
    assert request.json == {"fields": {"summary": "n1: gpu 3 is gone", "labels": ["gpu.xid", "gpu"], "priority": 2}}
    assert request.headers["idempotency-key"] == ACTION.key
    assert request.headers["content-type"] == "application/json"


def test_the_same_action_has_the_same_key_and_body_each_time(peer: Any) -> None:
    one = hook(peer.url)
    one.perform(ACTION, dry_run=False)
    one.perform(ACTION, dry_run=False)
    first, second = peer.seen
    assert (first.body, first.headers["idempotency-key"]) == (second.body, second.headers["idempotency-key"])


def test_signs_what_it_sends(peer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    monkeypatch.setenv("HOOK_TOKEN", "t0ken")
    one = hook(peer.url, signing_key=Secret(file=str(tmp_path / "key")), bearer=Secret(env="HOOK_TOKEN"))
    outcome = one.perform(ACTION, dry_run=False)
    [request] = peer.seen
    expected = hmac.new(b"s3cret", request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-holdfast-signature"] == f"sha256={expected}"
    assert request.headers["authorization"] == "Bearer t0ken"
    assert not {"s3cret", "t0ken"} & set(f"{outcome} {one.perform(ACTION, dry_run=True)} {one._settings!r}".split())
    assert "s3cret" not in f"{outcome}{one._settings!r}"


def test_a_dry_run_sends_nothing(peer: Any) -> None:
    outcome = hook(peer.url).perform(ACTION, dry_run=True)
    assert outcome.dry_run and '"node": "n1"' in outcome.message
    assert peer.seen == []


@pytest.mark.parametrize(
    ("status", "retryable"), [(400, False), (401, False), (404, False), (429, True), (500, True), (503, True)]
)
def test_statuses_decide_whether_to_try_again(peer: Any, status: int, retryable: bool) -> None:
    peer.answer = lambda request: (status, {}, b"no")
    outcome = hook(peer.url).perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, retryable)
    assert f"{status}: no" in outcome.message


def test_a_redirect_is_not_followed(peer: Any) -> None:
    peer.answer = lambda request: (302, {"Location": f"{peer.url}/elsewhere"}, b"")
    outcome = hook(peer.url).perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, False)
    assert len(peer.seen) == 1


def test_no_one_there_may_be_tried_again() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refused
        outcome = hook(f"http://127.0.0.1:{taken.getsockname()[1]}/").perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, True)


def test_a_server_that_says_nothing_is_given_up_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        outcome = hook(url, timeout=0.2).perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, True)


def test_a_missing_secret_sends_nothing(peer: Any, tmp_path: Path) -> None:
    for secret in (Secret(file=str(tmp_path / "none")), Secret(env="HOLDFAST_NO_SUCH_VARIABLE")):
        outcome = hook(peer.url, signing_key=secret).perform(ACTION, dry_run=False)
        assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, False)
    (tmp_path / "two").write_text("line\nline")
    assert (
        hook(peer.url, bearer=Secret(file=str(tmp_path / "two"))).perform(ACTION, dry_run=False).result
        is ActionResult.FAILED
    )
    assert peer.seen == []


def test_proxies_of_the_environment_are_not_used(peer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert hook(peer.url).perform(ACTION, dry_run=False).result is ActionResult.DONE


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/", "http://", "host/path", "http://user:pw@host/"])
def test_only_plain_web_addresses(url: str) -> None:
    with pytest.raises(ValueError, match=r"webhook\.url") as caught:
        hook(url)
    assert "pw" not in str(caught.value)


def test_other_verbs_are_refused(peer: Any) -> None:
    action = Action(node="n1", verb=Verb.REBOOT, reason="")
    assert hook(peer.url).perform(action, dry_run=False).result is ActionResult.REFUSED
    assert peer.seen == []


def test_a_secret_has_one_place() -> None:
    for wrong in ({}, {"file": "a", "env": "b"}):
        with pytest.raises(ValueError, match="either file or env"):
            Secret(**wrong)
