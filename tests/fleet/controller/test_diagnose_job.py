"""`holdfast diagnose --job` against a real controller: what agents told of the nodes in the time of the job."""

import json
import time
from pathlib import Path

import pytest

from holdfast.cli.app import run

from .running import Agent, Controller

XID = {
    "kind": "xid", "text": "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.", "device": "0000:9b:00",
    "code": 79, "severity": "fatal", "action": "restart_node",
}  # fmt: skip


@pytest.fixture(autouse=True)
def at_home(controller: Controller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLDFAST_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HOLDFAST_URL", controller.url)
    monkeypatch.setenv("HOLDFAST_TOKEN", controller.admin)


def hold(agents: list[Agent], job: str, state: str) -> None:
    for agent in agents:
        agent.send(agent.next(jobs=[{"id": job, "gpus": 8, "start": time.time() - 60, "state": state}]))


@pytest.mark.slow
def test_the_node_that_lost_a_gpu_is_named_with_and_without_logs(
    controller: Controller, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = [controller.ready_node(name) for name in ("g1", "g2")]
    hold(agents, "j-gpu", "running")
    agents[1].send(agents[1].next(events=[{**XID, "at": time.time()}]))
    hold(agents, "j-gpu", "failed")
    assert run(["diagnose", "--job", "j-gpu", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert [(one["cause"], one["subject"]) for one in alone["causes"]] == [
        ("gpu.fell_off_bus", "node/g2/pci/0000:9b:00")
    ]
    assert (alone["next"]["action"], alone["next"]["exclude"]) == ("restart_excluding", ["g2"])
    log = tmp_path / "rank0.log"
    log.write_text("[rank0]: RuntimeError: NCCL communicator was aborted on rank 0.\n")
    assert run(["diagnose", "--job", "j-gpu", str(log), "--json"]) == 0
    joined = json.loads(capsys.readouterr().out)
    assert joined["causes"][0]["cause"] == "gpu.fell_off_bus"
    assert {one["file"] for one in joined["events"]} >= {str(log), "controller/g2"}


@pytest.mark.slow
def test_a_job_that_ended_well_has_no_cause(controller: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    agents = [controller.ready_node("w1")]
    hold(agents, "j-well", "running")
    agents[0].send(agents[0].next(events=[{**XID, "code": 13, "severity": "warning", "at": time.time()}]))
    hold(agents, "j-well", "completed")
    assert run(["diagnose", "--job", "j-well", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["causes"] == []


def test_a_job_that_no_one_knows_is_one_sentence(controller: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "--job", "nobody"]) == 1
    assert "knows no such job" in capsys.readouterr().err
