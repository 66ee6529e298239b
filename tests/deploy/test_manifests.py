"""The plain manifests: as closed as the chart, and nothing of theirs opens the controller to everyone."""

import ipaddress
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
TLS = "/etc/holdfast-tls/"


def documents(file: str = "controller.yaml") -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / file).read_text()))


def one_of(kind: str) -> dict[str, Any]:
    [found] = [one for one in documents() if one["kind"] == kind]
    return dict(found)


def test_the_controller_speaks_tls_alone() -> None:
    config = tomllib.loads(one_of("ConfigMap")["data"]["controller.toml"])
    assert config["certificate"].startswith(TLS) and config["key"].startswith(TLS)
    assert config["address"].startswith("https://")
    pod = one_of("Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    mounts = {one["mountPath"] + "/": one["name"] for one in container["volumeMounts"]}
    [volume] = [one for one in pod["volumes"] if one["name"] == mounts[TLS]]
    assert volume["secret"] == {"secretName": "holdfast-tls"}, "without the secret no pod starts"
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["scheme"] == "HTTPS"


def test_nobody_reaches_the_controller_until_a_network_is_named() -> None:
    policy = one_of("NetworkPolicy")["spec"]
    labels = one_of("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["policyTypes"] == ["Ingress"]
    [rule] = policy["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 9477}]
    [peer] = rule["from"]
    assert ipaddress.ip_network(peer["ipBlock"]["cidr"]) == ipaddress.ip_network("192.0.2.0/24"), "for documentation"


@pytest.mark.parametrize("file", sorted(one.name for one in FOLDER.glob("*.yaml")))
def test_no_manifest_names_an_address_in_clear_text(file: str) -> None:
    assert "http://" not in (FOLDER / file).read_text()


def test_the_pod_has_no_rights_on_its_machine() -> None:
    pod = one_of("Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    [container] = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
