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
    environ |= {"HOLDFAST_VERDICT": str(tmp_path / "verdict"), "SLURM_JOB_ID": "7"}
    environ["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run([DEPLOY / "slurm" / "prolog.sh"], env=environ, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (code, "holdfast gate could not run (exit code 1)\n")
    assert asked.exists() is (on_unknown == "refuse")


class Node:
    """The marks beside a node's verdict, and scripts of deploy/slurm run there with a scontrol that only notes."""

    def __init__(self, folder: Path, gate: str = "true") -> None:
        self.folder = folder
        scontrol = folder / "scontrol"
        scontrol.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\necho "   State=IDLE"\n')
        scontrol.chmod(0o755)
        self.environ = {"HOLDFAST": gate, "HOLDFAST_VERDICT": str(folder / "verdict"), "HOLDFAST_REQUIRE_TEST": "yes"}
        self.environ |= {"SLURMD_NODENAME": "n17", "PATH": f"{folder}:{os.environ['PATH']}"}
        self.environ |= {"HOLDFAST_CONFIG": str(folder / "none.toml")}

    def run(self, script: str, job: str) -> int:
        environ = self.environ | {"SLURM_JOB_ID": job}
        return subprocess.run([DEPLOY / "slurm" / script], env=environ, capture_output=True, timeout=30).returncode

    def mark(self, name: str) -> Path:
        return self.folder / f"verdict.{name}"

    def notes(self) -> str:
        return (self.folder / "asked").read_text() if (self.folder / "asked").exists() else ""


def test_a_job_that_is_refused_during_a_test_does_not_end_the_test(tmp_path: Path) -> None:
    """Else an administrator who resumes a node under test would have it tested for ever."""
    node = Node(tmp_path)
    node.mark("testing").touch()
    assert node.run("prolog.sh", "7") == 1
    assert "reason=holdfast: gate: job 7 came before the end of a test" in node.notes()
    assert node.run("epilog.sh", "7") == 0
    assert node.mark("testing").exists()
    assert "untested" not in node.notes()
    assert not list(tmp_path.glob("verdict.refused.*"))


def test_a_job_that_is_refused_by_the_gate_leaves_the_test_in_force(tmp_path: Path) -> None:
    node = Node(tmp_path, gate=str(tmp_path / "gate"))
    (tmp_path / "gate").write_text("#!/bin/sh\nexit 2\n")
    (tmp_path / "gate").chmod(0o755)
    node.mark("tested").touch()
    assert node.run("prolog.sh", "7") == 1
    assert node.run("epilog.sh", "7") == 0
    assert node.mark("tested").exists()


def test_a_job_that_was_refused_once_and_runs_later_uses_the_test_up(tmp_path: Path) -> None:
    """Slurm sends a refused job back to the queue. If no epilog ran for it, the mark of the refusal is still there."""
    node = Node(tmp_path)
    node.mark("tested").touch()
    node.mark("refused.7").touch()
    assert node.run("prolog.sh", "7") == 0
    assert node.run("epilog.sh", "7") == 0
    assert not node.mark("tested").exists()
    assert "reason=holdfast: untested: job 7 ended here" in node.notes()


def test_a_job_on_a_node_without_a_test_has_it_tested(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert node.run("prolog.sh", "7") == 1
    assert "reason=holdfast: untested: job 7 came before a test" in node.notes()


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
