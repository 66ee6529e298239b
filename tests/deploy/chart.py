"""Rendering the Helm chart with the real helm, for the tests that look at what comes out."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm"
HELM = shutil.which("helm") or shutil.which("helm", path=str(Path(sys.executable).parent)) or ""
MISSING = "helm is not installed (the development extra brings it on x86-64)"
# What people set: the least, and the most.
PLAIN: tuple[str, ...] = ()
FULL = (
    "controller.replicas=3",
    "controller.store.url=postgresql+psycopg://holdfast@db.example/holdfast",
    "controller.store.passwordSecret.name=db",
    "controller.tlsSecret=tls",
    "controller.nodeSelector.kind=plain",
    "agent.caSecret=ca",
    "agent.pool=training",
    "agent.allowedOrders={retest,reset_gpu}",
    "agent.requireActive=true",
    "image.pullSecrets[0]=registry",
    "networkPolicy.from[0].ipBlock.cidr=10.0.0.0/8",
)


def helm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, timeout=60, check=False)


OPEN = ("controller.clearText=true", "networkPolicy.anyone=true")
"""What whoever wants neither TLS nor a limit of who may connect has to say."""


def chosen(values: tuple[str, ...]) -> list[str]:
    return [word for value in (*OPEN, *values) for word in ("--set", value)]


def rendered(*values: str, namespace: str = "holdfast") -> list[dict[str, Any]]:
    done = helm("template", "holdfast", str(CHART), "--namespace", namespace, *chosen(values))
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def find(documents: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    [found] = [one for one in documents if one["kind"] == kind and one["metadata"]["name"] == name]
    return found
