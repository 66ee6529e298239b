"""Live, with real parts: a Modbus cooling unit whose flow falls, GPUs that warm, a job that slows: one incident."""

import base64
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.subject import gpu
from holdfast.model.wire import digest

from .cdu_site import REGISTERS, Cdu, Hook, alertmanager
from .running import Agent, Controller, running, until

HOLDFAST = str(Path(sys.executable).parent / "holdfast")
FACTOR = 60.0  # a minute of the window in a second
GPUS = 4
COOLED = [f"c{index}" for index in range(4)]  # behind cdu/c2
OTHERS = [f"o{index}" for index in range(4)]  # behind cdu/c1, which nobody reads
TOPOLOGY = """
[[edge]]
kind = "cools"
from = "cdu/c2"
to = "rack/r1"
[[edge]]
kind = "cools"
from = "rack/r1"
to = "node/c[0-3]"
[[edge]]
kind = "cools"
from = "cdu/c1"
to = "rack/r2"
[[edge]]
kind = "cools"
from = "rack/r2"
to = "node/o[0-3]"
[[edge]]
kind = "runs_on"
from = ["node/c[0-3]", "node/o[0-3]"]
to = "job/llama"
[[edge]]
kind = "blocks"
from = "job/llama"
to = "milestone/final"
[owners]
cdu = "facilities"
job = "research"
"""
BUSINESS_CONTEXT = """
[prices]
gpu_hour = 3.0
[on_call]
facilities = "Dana Reyes, 555 0100"
research = "Kim, 555 0101"
[[job]]
name = "llama"
tokens_per_second = 1e6
milestone = "final"
[[milestone]]
name = "final"
due = 2027-01-01T00:00:00Z
float_days = 0.5
value_per_day = 100000
"""


class Plant(threading.Thread):
    """Until stopped: the unit's registers, the nodes' digests and the job's steps, twice in a lived minute."""

    def __init__(self, cdu: Cdu, controller: Controller, agents: dict[str, Agent]) -> None:
        super().__init__(daemon=True)
        self.cdu, self.controller, self.agents = cdu, controller, agents
        self.heat = 0.0  # degrees above the usual, of the GPUs that the unit cools
        self.fault = threading.Event()
        self.ended = threading.Event()
        self.speaking = threading.Lock()  # for the agents, which count their reports
        self._chance = random.Random(7)

    def run(self) -> None:
        while not self.ended.is_set():
            with self.speaking:
                self._step()
            self.ended.wait(0.5)

    def _step(self) -> None:
        if self.fault.is_set():
            self.cdu.flow = max(200.0, self.cdu.flow - 60)
            self.heat = min(26.0, self.heat + 4)
        slow = 1 + max(0.0, self.heat - 14) / 40
        for name, agent in self.agents.items():
            agent.send(agent.next(heartbeat=True, twin=True, digest=self._digest(name, slow)))
        step = {
            "subject": "job/llama",
            "name": "job_step_seconds",
            "value": 2.0 * slow + self._chance.gauss(0, 0.004),
        }
        output = self.controller.post("/v1/signals", {"signals": [step], "cadence_seconds": 1})
        assert output.status_code == 200, output.text

    def _digest(self, name: str, slow: float) -> str:
        hot = self.heat if name in COOLED else 0.0
        usual = {
            "gpu_temperature_celsius": lambda: 62 + hot + self._chance.gauss(0, 0.5),
            "gpu_power_watts": lambda: 640 + self._chance.gauss(0, 4),
            "gpu_clock_sm_hertz": lambda: (1.98e9 / slow if hot else 1.98e9) + self._chance.gauss(0, 2e6),
            "gpu_clock_event_reasons": lambda: 32.0 if hot > 14 else 0.0,
            "gpu_utilization_ratio": lambda: 0.97 + self._chance.gauss(0, 0.005),
        }
        owned = {gpu(name, index) for index in range(GPUS)}
        packed = digest.pack(
            name, lambda about, signal: usual[signal]() if about in owned and signal in usual else None
        )
        return base64.b64encode(packed).decode()


@contextmanager
def seams(directory: Path, cdu: Cdu, hook: Hook, manager: str) -> Iterator[tuple[Controller, Plant]]:
    (directory / "topology.toml").write_text(TOPOLOGY)
    (directory / "facility.toml").write_text(REGISTERS.format(address=cdu.address))
    (directory / "business_context.toml").write_text(BUSINESS_CONTEXT)
    more = f"""demo = true
time_factor = {FACTOR}
[seams]
topology = "{directory}/topology.toml"
facility = "{directory}/facility.toml"
business_context = "{directory}/business_context.toml"
evaluate_seconds = 60
[alerts]
alertmanagers = ["{manager}"]
repeat_seconds = 2
[[alerts.webhook]]
url = "{hook.url}/plain"
"""
    with running(directory / "controller", more=more) as controller:
        agents = {name: controller.ready_node(name, twin=True) for name in COOLED + OTHERS}
        plant = Plant(cdu, controller, agents)
        plant.start()
        try:
            yield controller, plant
        finally:
            plant.ended.set()
            plant.join(30)


@pytest.mark.slow
def test_a_falling_flow_is_one_incident_on_the_unit_priced_and_reported(tmp_path: Path) -> None:
    pytest.importorskip("pymodbus")
    cdu, hook = Cdu(), Hook()
    cdu.live()
    try:
        with (
            alertmanager(tmp_path / "am", hook.url) as manager,
            seams(tmp_path, cdu, hook, manager) as (controller, plant),
        ):
            _calm(controller)
            assert controller.get("/v1/incidents", only="open")["incidents"] == []
            plant.fault.set()
            incident = until(lambda: _priced(controller), "the unit's incident is open and priced", 150)
            _is_complete(incident)
            _leaves_the_victims_in_service(controller, plant)
            _is_shown(controller, incident["id"])
            until(lambda: hook.at("/plain"), "the webhook was told")
            alert = until(lambda: _critical(hook), "Alertmanager told its webhook", 90)
            assert alert["labels"]["root"] == "cdu/c2" and alert["labels"]["owner"] == "facilities"
            summary = alert["annotations"]["summary"]
            assert "job llama is losing the work of" in summary and "facilities on call: Dana Reyes" in summary
            opened = [one for one in hook.at("/plain") if one["happened"] == "opened"]
            assert [one["root"] for one in opened] == ["cdu/c2"], "one alert for the root"
    finally:
        hook.stop()
        cdu.stop()


def _critical(hook: Hook) -> Any:
    alerts = [one for post in hook.at("/alertmanager") for one in post["alerts"]]
    assert {one["labels"]["root"] for one in alerts} <= {"cdu/c2"}
    return next((one for one in alerts if one["labels"]["severity"] == "critical"), None)


def _calm(controller: Controller) -> None:
    """A quarter of an hour of the window, as the baseline."""
    began = time.monotonic()
    until(lambda: controller.get("/v1/seams")["subjects"] >= 8 * GPUS * 5 + 6, "all is seen", 120)
    until(lambda: time.monotonic() - began > 600 / FACTOR, "a calm beginning")


def _priced(controller: Controller) -> Any:
    found = controller.get("/v1/incidents", only="open")["incidents"]
    assert [one["subject"] for one in found] in ([], ["cdu/c2"]), "one root, one incident"
    account = found[0]["account"] if found else None
    return found[0] if account and account["bill"]["gpu_hours_per_hour"] > 1 else None


def _is_complete(incident: dict[str, Any]) -> None:
    account = incident["account"]
    assert incident["cause"] == "cooling.flow_low"
    assert any(line.startswith("cdu/c2") and line.endswith("job/llama") for line in account["path"]), account["path"]
    assert [layer["name"] for layer in account["bill"]["layers"]] == [
        "direct compute",
        "reserved capacity",
        "rollback",
        "labour",
        "schedule slip",
    ]
    assert account["on_call"]["facilities"] == "Dana Reyes, 555 0100"
    assert set(incident["evidence"]) <= set(COOLED)


def _leaves_the_victims_in_service(controller: Controller, plant: Plant) -> None:
    with plant.speaking:
        plant.agents["c0"].verdict("gpu.temperature", "fail", "GPU 1 is at 93 C")
        plant.agents["c1"].verdict("gpu.xid", "fail", "Xid 79")
    node = until(lambda: _held(controller, "c0"), "the victim is held by the incident")
    assert node["stage"] == "ready" and "a symptom of cooling.flow_low on cdu/c2" in node["reason"]
    assert any("left in service" in entry["detail"] for entry in controller.node_history("c0"))
    until(lambda: controller.stage("c1") != "ready", "a failure of its own is judged as ever")


def _held(controller: Controller, name: str) -> Any:
    node = controller.get(f"/v1/nodes/{name}")
    return node if "cdu/c2" in node["reason"] else None


def _is_shown(controller: Controller, wanted: str) -> None:
    def run(*arguments: str) -> str:
        command = [HOLDFAST, *arguments, "--url", controller.url, "--token", controller.admin]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    shown = run("incident", "show", wanted)
    for words in (
        "cdu/c2",
        "coolant flow is low",
        "job/llama",
        "schedule slip",
        "Dana Reyes",
        "runbooks/cooling.flow_low.md",
    ):
        assert words in shown, shown
    assert "## Charts" in run("incident", "show", "cdu/c2", "--markdown")
    assert wanted in run("incident", "list")
    assert "modbus cdu/c2" in run("seam", "list")
