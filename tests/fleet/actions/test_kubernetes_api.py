"""Servers that answer badly: a loopback server says what no real one would, or only on its worst day."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from holdfast.fleet.actions.backend import ActionResult
from holdfast.fleet.actions.kubernetes import mirror as kubernetes_mirror
from holdfast.fleet.actions.kubernetes.access import KubernetesSettings
from holdfast.fleet.actions.kubernetes.api import KubernetesApi
from holdfast.fleet.actions.kubernetes.backend import Kubernetes
from holdfast.fleet.actions.kubernetes.mirror import Mirror
from holdfast.model.lifecycle import Action, Verb
from holdfast.runtime.errors import NoAnswer

from .conftest import Peer, Request

Query = dict[str, list[str]]


@pytest.fixture
def settings(peer: Peer, tmp_path: Path) -> KubernetesSettings:
    document = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": peer.url}}],
        "users": [{"name": "x", "user": {"token": "secret-token"}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(document))
    return KubernetesSettings(kubeconfig=str(tmp_path / "kubeconfig"), timeout=60.0)


def says(peer: Peer, answer: Callable[[str, Query], tuple[int, bytes]]) -> None:
    def reply(request: Request) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(request.path)
        status, body = answer(parts.path, parse_qs(parts.query))
        return status, {}, body

    peer.answer = reply


CORDON = Action(node="gpu-1", verb=Verb.CORDON, reason="r", at=1.0)


@pytest.mark.parametrize(
    ("status", "body", "retryable", "expected"),
    [
        (200, b"<html>a proxy</html>", True, "did not answer GET /api/v1/nodes/gpu-1 with a JSON object"),
        (200, b"[1]", True, "with a JSON object"),
        (200, b"[" * 100_000, True, "with a JSON object"),
        (200, b'{"metadata": {}}', True, "did not answer with the node gpu-1"),
        (503, b"", True, "503"),
        (429, b'{"message": "too\\nmany"}', True, "too many"),
        (403, b'{"message": "forbidden"}', False, "forbidden"),
        (302, b"", False, "302"),
    ],
)
def test_a_bad_answer_is_a_sentence(
    peer: Peer, settings: KubernetesSettings, status: int, body: bytes, retryable: bool, expected: str
) -> None:
    says(peer, lambda path, query: (status, body))
    outcome = Kubernetes(settings).perform(CORDON, False)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, retryable)
    assert expected in outcome.message
    assert "secret-token" not in outcome.message


def test_a_long_list_comes_page_by_page(peer: Peer, settings: KubernetesSettings) -> None:
    def answer(path: str, query: Query) -> tuple[int, bytes]:
        page = int(query.get("continue", ["0"])[0])
        meta = {"continue": str(page + 1) if page < 2 else "", "resourceVersion": "9"}
        return 200, json.dumps({"metadata": meta, "items": [{"metadata": {"name": f"n{page}"}}, "junk"]}).encode()

    says(peer, answer)
    items, version = KubernetesApi(settings).listed("/api/v1/nodes")
    assert [item["metadata"]["name"] for item in items] == ["n0", "n1", "n2"]
    assert version == "9"


def test_a_list_that_is_none_is_never_an_empty_fleet(peer: Peer, settings: KubernetesSettings) -> None:
    says(peer, lambda path, query: (200, b"{}"))
    with pytest.raises(NoAnswer, match="list"):
        Kubernetes(settings).observe()


@pytest.mark.parametrize(("offered", "version"), [("v1", "v1"), ("v1beta1", "v1beta1"), (None, "v1")])
def test_the_version_of_eviction_is_what_the_server_offers(
    peer: Peer, settings: KubernetesSettings, offered: str | None, version: str
) -> None:
    pod = {"metadata": {"name": "p", "uid": "u"}, "spec": {"nodeName": "gpu-1"}, "status": {"phase": "Running"}}
    node = {"metadata": {"name": "gpu-1", "resourceVersion": "1"}}
    offers = [{"name": "pods"}, *([{"name": "pods/eviction", "version": offered}] if offered else [])]

    def answer(path: str, query: Query) -> tuple[int, bytes]:
        message: Any = {"/api/v1": {"resources": offers}, "/api/v1/pods": {"items": [pod]}}.get(path, node)
        return 200, json.dumps(message).encode()

    says(peer, answer)
    drain = Action(node="gpu-1", verb=Verb.DRAIN, reason="r", at=1.0)
    assert Kubernetes(settings).perform(drain, False).result is ActionResult.DONE
    [eviction] = [request.json for request in peer.seen if "/eviction" in request.path]
    assert eviction["apiVersion"] == f"policy/{version}"
    assert eviction["deleteOptions"] == {"preconditions": {"uid": "u"}}


def test_a_mirror_follows_reads_again_when_reported_and_says_when_it_is_blind(
    peer: Peer, settings: KubernetesSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch brings a change and a deletion, then the version is too old; the second list is the truth."""
    monkeypatch.setattr(kubernetes_mirror, "PAUSE_SECONDS", 0.01)
    lists = iter([["a", "b"], ["c"]])
    seen: list[tuple[str, ...]] = []
    done = threading.Event()
    news = [
        {"type": "ADDED", "object": {"metadata": {"uid": "x", "name": "x", "resourceVersion": "2"}}},
        {"type": "DELETED", "object": {"metadata": {"uid": "a", "name": "a", "resourceVersion": "3"}}},
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "4"}}},
        {"type": "ERROR", "object": {"code": 410, "message": "too old"}},
    ]

    def answer(path: str, query: Query) -> tuple[int, bytes]:
        if "watch" in query:
            return 200, b"".join(json.dumps(one).encode() + b"\n" for one in news)
        names = next(lists, None)
        if names is None:
            return 503, b""
        items = [{"metadata": {"name": name, "uid": name}} for name in names]
        return 200, json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}).encode()

    def read(item: Any) -> str | None:
        return str(item["metadata"]["name"]) if "name" in item.get("metadata", {}) else None

    def changed() -> None:
        try:
            seen.append(tuple(sorted(mirror.held())))
        except NoAnswer:
            done.set()

    says(peer, answer)
    mirror = Mirror(KubernetesApi(settings), "/api/v1/nodes", read, changed)
    with pytest.raises(NoAnswer, match="not been read yet"):
        mirror.held()
    mirror.start()
    assert done.wait(60)
    mirror.stop()
    assert seen[:4] == [("a", "b"), ("a", "b", "x"), ("b", "x"), ("c",)]
