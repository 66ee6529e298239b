"""`holdfast probe run --nodes`: a real controller orders real agents to meet, and the report is that of any launch."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra [controller]")
pytest.importorskip("torch", reason="probes need torch: make torch")

from tests.fleet.controller.running import Controller, running
from tests.ports import free_port

pytestmark = pytest.mark.slow
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
TIMEOUT_SECONDS = 300.0
SMALL = ("--smallest", "1KiB", "--largest", "4KiB", "--pair-bytes", "64KiB")


@contextmanager
def site(directory: Path) -> Iterator[Controller]:
    """Two nodes that a person took out of service: nothing runs there, and nothing may."""
    policy = f"dry_run = false\n[probes]\nport = {free_port()}\ntimeout_seconds = 240.0\n"
    with running(directory / "c", policy=policy) as controller:
        for name in ("pa1", "pa2"):
            place = {"address": "127.0.0.1", "leaf": "l1"}
            folder = directory / name
            folder.mkdir()
            (folder / "credential").write_text(controller.enrol(name, place=place).credential)
            reply = controller.post(f"/v1/nodes/{name}/quarantine", {"reason": "to be probed", "force": True})
            assert reply.json()["stage"] == "quarantined", reply.text
        yield controller


def agent(controller: Controller, folder: Path) -> "subprocess.Popen[bytes]":
    (folder / "agent.toml").write_text(
        f'node = "{folder.name}"\n[agent]\nstate_dir = "{folder}/state"\nverdict_file = "{folder}/verdict.json"\n'
        f'listen = ""\n[controller]\nurl = "{controller.url}"\ncredential_file = "{folder}/credential"\n'
        'obeys = ["probe"]\n'
    )
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "holdfast.node.agent", "--config", str(folder / "agent.toml")]
        return subprocess.Popen(command, stdout=log, stderr=log)


def probe(controller: Controller, *words: str) -> "subprocess.Popen[str]":
    known = {**os.environ, "HOLDFAST_URL": controller.url, "HOLDFAST_TOKEN": controller.admin}
    command = [HOLDFAST, "probe", "run", "--nodes", "pa[1-2]", "--json", *SMALL, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=known)


def test_the_agents_meet_and_the_report_is_that_of_any_launch(tmp_path: Path) -> None:
    with site(tmp_path) as controller, ExitStack() as stack:
        asked = probe(controller, "--reason", "a new leaf")
        for name in ("pa1", "pa2"):
            stack.callback(agent(controller, tmp_path / name).kill)
        out, errors = asked.communicate(timeout=TIMEOUT_SECONDS)
        audited = controller.audited(verb="probe run", target="pa1,pa2", reason="a new leaf")
    assert asked.returncode == 0, errors + out
    report = json.loads(out)
    assert sorted(report["hosts"]) == ["pa1", "pa2"]
    assert [(row["bytes"], row["correct"]) for row in report["sweep"]] == [(1024, True), (2048, True), (4096, True)]
    assert {one["subject"]: one["health"] for one in report["verdicts"]} == {"node/pa1": "pass", "node/pa2": "pass"}
    assert {(row["one"], row["other"]) for row in report["pairs"]} <= {("pa1", "pa2"), ("pa2", "pa1")}
    assert [one["check"] for one in report["sweep_verdicts"]]
    assert len(audited) == 1


def test_a_node_that_works_is_refused_in_one_sentence_and_a_reason_is_asked_for(tmp_path: Path) -> None:
    with running(tmp_path / "c") as controller:
        controller.ready_node("pa1")
        worker = controller.ready_node("pa2")
        worker.send(worker.next(heartbeat=True, jobs=[{"id": "slurm-7"}]))
        refused = probe(controller, "--reason", "x")
        out, errors = refused.communicate(timeout=TIMEOUT_SECONDS)
        assert (refused.returncode, out) == (1, "")
        assert "pa2: job slurm-7 runs on it: a probe would take its bandwidth" in errors
        silent = probe(controller)
        assert "--reason" in silent.communicate(timeout=TIMEOUT_SECONDS)[1]
        assert silent.returncode == 64
        viewer = controller.token(name="ann", role="viewer")
        reply = controller.post("/v1/probes/runs", {"nodes": ["pa1", "pa2"], "reason": "x"}, token=viewer)
        assert reply.status_code == 403
        bad = controller.post("/v1/probes/runs", {"nodes": ["pa1"], "reason": "x", "sweep": {"operation": "dance"}})
        assert (bad.status_code, "operation" in bad.text) == (400, True)
        assert controller.ask("GET", "/v1/probes/runs/7").status_code == 404
