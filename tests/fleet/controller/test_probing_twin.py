"""The simulated fleet and a real controller: a slow node is named and quarantined; for a slow trunk, nobody is."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra [controller]")

from tests.fleet.controller.running import Controller, running, until

pytestmark = pytest.mark.slow

POLICY = """dry_run = false
[probes]
enabled = true
share = 1.0
minutes_per_day = 1000.0
period_hours = 0.02
timeout_seconds = 600.0
"""
BY_AGENTS = ("retest", "reset_gpu", "reboot", "cordon", "drain", "uncordon")
ACTIONS = "demo = true\n[actions]\n" + "".join(f'{verb} = "agent"\n' for verb in BY_AGENTS)
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))


@contextmanager
def probed(directory: Path, scenario: str) -> Iterator[Controller]:
    with running(directory, more=ACTIONS, policy=POLICY) as controller:
        join = controller.token(uses=100)
        command = [sys.executable, "-m", "holdfast.lab.twin.fleet", "--url", controller.url]
        environ = {**os.environ, "HOLDFAST_JOIN_TOKEN": join}
        twin = subprocess.Popen([*command, "--nodes", "16", "--speed", "60", "--scenario", scenario], env=environ)
        try:
            yield controller
        finally:
            twin.terminate()
            twin.wait(20)


def blamed(controller: Controller) -> set[str]:
    nodes = controller.get("/v1/nodes")["nodes"]
    return {node["name"] for node in nodes if node["cause"] == "probe.fabric"}


def test_a_slow_node_is_named_after_another_look_and_quarantined(tmp_path: Path) -> None:
    with probed(tmp_path / "c", "slow_node") as controller:
        until(lambda: "n006" in blamed(controller), "n006 is blamed")
        transitions = controller.get("/v1/transitions", limit=10_000)["transitions"]
        failed = [one for one in transitions if one["cause"] == "probe.fabric" and one["event"] == "failed"]
        assert {one["node"] for one in failed} == {"n006"}
        assert "node/n006 is slow" in failed[0]["reason"]
        assert len(failed[0]["evidence"]) >= 2
        show = [HOLDFAST, "probe", "show", "--json", "--url", controller.url, "--token", controller.admin]
        found = json.loads(subprocess.run(show, capture_output=True, check=True).stdout)
        assert found["sessions"] > 4
        assert {one["one"] for one in found["leaves"]} == {"leaf1", "leaf2", "leaf3", "leaf4"}
        words = subprocess.run([*show[:3], *show[4:]], capture_output=True, text=True, check=True).stdout
        assert "leaf1" in words


def test_for_a_slow_trunk_no_one_is_quarantined_and_one_incident_names_it(tmp_path: Path) -> None:
    with probed(tmp_path / "c", "slow_trunk") as controller:

        def named() -> list[str]:
            incidents = controller.get("/v1/incidents", only="open")["incidents"]
            return [one["subject"] for one in incidents if one["cause"] == "probe.fabric"]

        until(named, "the trunk has its incident")
        assert named() == ["fabric/trunk/leaf1+leaf3"]
        transitions = controller.get("/v1/transitions", limit=10_000)["transitions"]
        assert not [one for one in transitions if one["cause"] == "probe.fabric"]
