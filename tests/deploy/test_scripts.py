"""The files in deploy/ say what the documentation promises of them."""

import configparser
import os
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.mark.parametrize("script", sorted((DEPLOY / "slurm").glob("*.sh")), ids=lambda path: path.name)
def test_a_script_is_executable_and_parses(script: Path) -> None:
    assert script.stat().st_mode & 0o111
    subprocess.run(["sh", "-n", str(script)], check=True)


@pytest.mark.parametrize(("on_unknown", "code"), [("allow", 0), ("refuse", 1)])
def test_a_gate_that_crashes_is_not_taken_for_degraded(tmp_path: Path, on_unknown: str, code: int) -> None:
    """A crashing program exits 1, and so does a gate that says degraded."""
    asked = tmp_path / "asked"
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n')
    scontrol.chmod(0o755)
    environ = {"HOLDFAST": "false", "HOLDFAST_ON_UNKNOWN": on_unknown, "SLURMD_NODENAME": "n17"}
    environ["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run([DEPLOY / "slurm" / "prolog.sh"], env=environ, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (code, "holdfast gate could not run (exit code 1)\n")
    assert asked.exists() is (on_unknown == "refuse")


def test_the_unit_leaves_the_agents_eyes_open() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read(DEPLOY / "systemd" / "holdfast-agent.service")
    service = unit["Service"]
    blinding = ("ProtectKernelLogs", "PrivateDevices", "DevicePolicy", "DeviceAllow", "ProtectClock", "ProtectProc")
    assert not [name for name in blinding if name in service]
    assert "CAP_SYSLOG" in service["CapabilityBoundingSet"]
    assert service["RuntimeDirectory"] == "holdfast"


def test_the_manifests_share_the_verdict_directory() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    documents = {
        document["kind"]: document
        for file in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
        for document in yaml.safe_load_all(file.read_text())
    }
    agent = documents["DaemonSet"]["spec"]["template"]["spec"]
    job = documents["Job"]["spec"]["template"]["spec"]
    written = {volume["hostPath"]["path"] for volume in agent["volumes"] if "hostPath" in volume}
    read = {volume["hostPath"]["path"] for volume in job["volumes"]}
    assert read == {"/run/holdfast"}
    assert read <= written
    assert job["initContainers"][0]["volumeMounts"][0]["readOnly"] is True
    refused = documents["Job"]["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]
    assert refused["containerName"] == job["initContainers"][0]["name"]
