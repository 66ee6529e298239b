"""Kubeconfigs, good and bad: a bad one is a sentence, and nothing in it is run."""

import base64
from pathlib import Path
from typing import Any

import certifi
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.actions.kubernetes import access as kubernetes_access
from holdfast.fleet.actions.kubernetes.access import KubernetesSettings, open_access
from holdfast.runtime.errors import NoAnswer


def config(user: Any = None, cluster: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "current-context": "a",
        "contexts": [
            {"name": "a", "context": {"cluster": "c", "user": "u"}},
            {"name": "b", "context": {"cluster": "d", "user": "u"}},
        ],
        "clusters": [
            {"name": "c", "cluster": {"server": "https://one:6443/", **(cluster or {})}},
            {"name": "d", "cluster": {"server": "https://two:6443"}},
        ],
        "users": [{"name": "u", "user": {"token": "t"} if user is None else user}],
        **more,
    }


def opened(tmp_path: Path, document: Any, context: str = "") -> kubernetes_access.KubernetesAccess:
    path = tmp_path / "config"
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return open_access(KubernetesSettings(kubeconfig=str(path), context=context))


def test_the_current_context_or_the_one_named(tmp_path: Path) -> None:
    access = opened(tmp_path, config())
    assert (access.server, access.headers()) == ("https://one:6443", {"Authorization": "Bearer t"})
    assert opened(tmp_path, config(), "b").server == "https://two:6443"


def test_a_token_file_beside_the_kubeconfig_is_read_each_time(tmp_path: Path) -> None:
    access = opened(tmp_path, config({"tokenFile": "token"}))
    for token in ("first", "second"):
        (tmp_path / "token").write_text(f"{token}\n")
        assert access.headers() == {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    ("document", "expected_text"),
    [
        (config(**{"current-context": "z"}), "contexts: no context is called 'z'"),
        (config(users=[]), "users: no user is called 'u'"),
        (config(clusters="c"), "clusters: no cluster is called 'c'"),
        (config({"exec": {"command": "/bin/true"}}), "runs a program for its credentials"),
        (config(cluster={"server": "ftp://x"}), "expected an http or https address"),
        (config(cluster={"certificate-authority": "missing.pem"}), "missing.pem"),
        (config(cluster={"certificate-authority-data": "%%%"}), "base64"),
        (config(cluster={"certificate-authority-data": base64.b64encode(b"no").decode()}), "certificate"),
        ("[1, 2", "is not YAML"),
        ("just words", "expected a kubeconfig"),
        ("!!python/object/apply:os.system ['false']", "is not YAML"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(tmp_path: Path, document: Any, expected_text: str) -> None:
    with pytest.raises(NoAnswer) as wrong:
        opened(tmp_path, document)
    assert str(tmp_path / "config") in str(wrong.value)
    assert expected_text.lower() in str(wrong.value).lower()
    assert not wrong.value.retryable


def test_outside_a_pod_a_kubeconfig_is_asked_for() -> None:
    with pytest.raises(NoAnswer, match="name a kubeconfig"):
        open_access(KubernetesSettings(), {})


def test_inside_a_pod_the_service_account_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Path(certifi.where())
    (tmp_path / "ca.crt").write_bytes(authority.read_bytes())
    (tmp_path / "token").write_text("mine")
    monkeypatch.setattr(kubernetes_access, "SERVICE_ACCOUNT", str(tmp_path))
    access = open_access(KubernetesSettings(), {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"})
    assert access.server == "https://[fd00::1]:443"
    assert access.headers() == {"Authorization": "Bearer mine"}


@given(st.text(max_size=200))
def test_any_text_is_a_kubeconfig_or_a_sentence(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any-kubeconfig"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(NoAnswer):
        open_access(KubernetesSettings(kubeconfig=str(path)))
