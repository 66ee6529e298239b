"""The Helm chart: linted and rendered by the real helm; what it writes is what our own readers take."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.fleet.decisions.lifecycle import policy
from holdfast.model import settings
from holdfast.node import checks

from .chart import CHART, FULL, HELM, MISSING, OPEN, PLAIN, chosen, find, helm, rendered

pytestmark = pytest.mark.skipif(not HELM, reason=MISSING)
MANIFESTS = CHART.parent / "kubernetes"
BOTH = pytest.mark.parametrize("values", [PLAIN, FULL], ids=["plain", "full"])


def by_hand(file: str, kind: str) -> dict[str, Any]:
    [found] = [one for one in yaml.safe_load_all((MANIFESTS / file).read_text()) if one["kind"] == kind]
    return dict(found)


def container(workload: dict[str, Any]) -> dict[str, Any]:
    [one] = workload["spec"]["template"]["spec"]["containers"]
    return dict(one)


@BOTH
def test_it_lints_strictly(values: tuple[str, ...]) -> None:
    output = helm("lint", "--strict", str(CHART), *chosen(values))
    assert output.returncode == 0, output.stdout + output.stderr


@pytest.mark.parametrize(("left", "why"), [(OPEN[0], "networkPolicy.from"), (OPEN[1], "controller.tlsSecret")])
def test_neither_clear_text_nor_an_open_port_comes_by_default(left: str, why: str) -> None:
    output = helm("template", "holdfast", str(CHART), "--set", left)
    assert output.returncode != 0
    assert why in output.stderr


@BOTH
def test_every_reference_leads_to_something_that_is_there(values: tuple[str, ...]) -> None:
    documents = rendered(*values)
    for workload in (one for one in documents if one["kind"] in ("Deployment", "DaemonSet")):
        pod = workload["spec"]["template"]
        assert workload["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
        mounted = {mount["name"] for mount in container(workload)["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["spec"]["volumes"]}
        for volume in pod["spec"]["volumes"]:
            if "configMap" in volume:
                find(documents, "ConfigMap", volume["configMap"]["name"])
            if "persistentVolumeClaim" in volume:
                find(documents, "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
    service = find(documents, "Service", "holdfast-controller")
    policy_ = find(documents, "NetworkPolicy", "holdfast-controller")
    labels = find(documents, "Deployment", "holdfast-controller")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert policy_["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    binding = find(documents, "ClusterRoleBinding", "holdfast-controller")
    assert binding["subjects"][0]["namespace"] == "holdfast"


@BOTH
def test_the_agents_configuration_is_one_that_it_takes(values: tuple[str, ...]) -> None:
    documents = rendered(*values)
    text = find(documents, "ConfigMap", "holdfast-agent")["data"]["holdfast.toml"]
    output = settings.parse(text, "holdfast.toml", {check.name: check.limits for check in checks.ALL})
    service = find(documents, "Service", "holdfast-controller")
    scheme = "https" if values else "http"
    assert output.controller.url == f"{scheme}://{service['metadata']['name']}.holdfast.svc:9477"
    assert output.controller.pool == ("training" if values else "default")
    assert output.controller.obeys == (("retest", "reset_gpu") if values else ("retest",))
    assert output.probes.active is (True if values else None)
    mounts = [mount["mountPath"] for mount in container(find(documents, "DaemonSet", "holdfast-agent"))["volumeMounts"]]
    assert str(Path(output.controller.join_token_file).parent) in mounts
    assert not output.controller.ca_file or str(Path(output.controller.ca_file).parent) in mounts


@BOTH
def test_the_controllers_configuration_is_one_that_it_takes(
    values: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = pytest.importorskip("holdfast.fleet.controller.settings", reason="needs the extra [controller]")
    data = find(rendered(*values), "ConfigMap", "holdfast-controller")["data"]
    output = tomllib.loads(data["controller.toml"])
    assert ("certificate" in output) is bool(values)
    without = re.sub(r"(?m)^(certificate|key) = .*\n", "", data["controller.toml"])  # the files are in the cluster
    made = controller.parse(without, "controller.toml")
    assert made.kubernetes is not None
    assert made.base.store == (FULL[1].partition("=")[2] if values else "sqlite:////var/lib/holdfast/holdfast.db")
    parsed = pytest.importorskip("holdfast.fleet.policy.file").parse(data["policy.toml"], "policy.toml")
    assert parsed == policy.Policy() and parsed.dry_run


def test_the_chart_and_the_plain_manifests_say_the_same() -> None:
    documents = rendered()
    role = find(documents, "ClusterRole", "holdfast-controller")
    assert role["rules"] == by_hand("controller.yaml", "ClusterRole")["rules"]
    agent = container(find(documents, "DaemonSet", "holdfast-agent"))
    plain = container(by_hand("agent-daemonset.yaml", "DaemonSet"))
    for part in ("command", "env", "securityContext", "resources"):
        assert agent[part] == plain[part]
    mine, theirs = (
        container(one)
        for one in (find(documents, "Deployment", "holdfast-controller"), by_hand("controller.yaml", "Deployment"))
    )
    for part in ("command", "securityContext", "resources"):
        assert mine[part] == theirs[part]


def test_the_password_stands_in_no_file() -> None:
    documents = rendered(*FULL)
    env = {one["name"]: one for one in container(find(documents, "Deployment", "holdfast-controller"))["env"]}
    assert env["PGPASSWORD"]["valueFrom"] == {"secretKeyRef": {"name": "db", "key": "password"}}
    assert not [one for one in documents if one["kind"] == "Secret"]
    assert not [one for one in documents if one["kind"] == "PersistentVolumeClaim"]


def test_the_agent_may_compute_on_the_gpus() -> None:
    env = {one["name"]: one for one in container(find(rendered(), "DaemonSet", "holdfast-agent"))["env"]}
    assert env["NVIDIA_DRIVER_CAPABILITIES"]["value"] == "compute,utility"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("controller.replicas=2",), "a SQLite file is one controller's; give controller.store.url a PostgreSQL"),
        (("controler.replicas=2",), "controler is not allowed"),
        (("controller.store.url=mysql://x",), "controller.store.url: Does not match pattern"),
        (("agent.pool=a b",), "agent.pool: Does not match pattern"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_wrong_value_is_refused_in_a_sentence(values: tuple[str, ...], message: str) -> None:
    done = helm("template", "holdfast", str(CHART), *chosen(values))
    assert done.returncode != 0 and message in done.stderr


def test_every_value_is_reported_of_in_the_schema_and_has_a_comment_or_parts() -> None:
    output = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())["properties"]
    for part, names in output.items():
        assert set(names) == set(schema[part]["properties"])


MONITORED = (
    "monitoring.serviceMonitor.enabled=true",
    "monitoring.serviceMonitor.tokenSecret=metrics",
    "monitoring.prometheusRule.enabled=true",
    "monitoring.prometheusRule.pageUrl=https://hf.site/",
    "monitoring.labels.release=prometheus",
    "ingress.enabled=true",
    "ingress.host=hf.site",
)


def test_monitoring_and_ingress_are_off_until_asked_for() -> None:
    kinds = {one["kind"] for one in rendered()}
    assert kinds.isdisjoint({"ServiceMonitor", "PrometheusRule", "Ingress"})


def test_the_rules_of_the_chart_are_the_rules_that_are_tested_and_link_to_the_page() -> None:
    documents = rendered(*MONITORED)
    rules = CHART.parent / "prometheus" / "holdfast.rules.yml"
    assert (CHART / "files" / "holdfast.rules.yml").read_text() == rules.read_text()
    rule = find(documents, "PrometheusRule", "holdfast")
    text = rules.read_text().replace("https://holdfast.example.com", "https://hf.site")
    assert rule["spec"] == yaml.safe_load(text)
    assert rule["metadata"]["labels"]["release"] == "prometheus"


def test_the_monitor_reads_the_service_with_a_token_under_the_name_that_the_rules_know() -> None:
    documents = rendered(*MONITORED)
    monitor = find(documents, "ServiceMonitor", "holdfast-controller")
    service = find(documents, "Service", "holdfast-controller")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert endpoint["authorization"]["credentials"] == {"name": "metrics", "key": "token"}
    assert {"targetLabel": "job", "replacement": "holdfast-controller"} in endpoint["relabelings"]


def test_the_ingress_leads_to_the_service_and_needs_a_host() -> None:
    ingress = find(rendered(*MONITORED), "Ingress", "holdfast-controller")
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == "hf.site"
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == "holdfast-controller"
    refused = helm("template", "x", str(CHART), "--set", "ingress.enabled=true,networkPolicy.anyone=true")
    assert refused.returncode != 0 and "ingress.host" in refused.stderr
