"""The agent as a process on a twin node: it survives what the world does to it, and says so."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.lab.twin.inject import clear, inject
from holdfast.lab.twin.node import make_node
from tests.waiting import until

pytestmark = pytest.mark.slow

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
TIMEOUT_SECONDS = 60.0
Document = dict[str, Any]


class Running:
    """An agent on a twin, with short cadences so that a test does not wait for a minute's source."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config = home / "holdfast.toml"
        self.log = home / "agent.log"
        with self.config.open("a") as file:
            file.write("".join(f"\n[sources.{name}]\nevery_seconds = 1\n" for name in ("nvml", "nvml_slow", "host")))
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [HOLDFAST, "agent", "--config", str(self.config)], stderr=log, stdin=subprocess.DEVNULL
            )

    def until(self, reached: Callable[[dict[str, Document]], bool]) -> dict[str, Document]:
        return until(lambda: self._seen(reached), self.log.read_text, TIMEOUT_SECONDS) or {}

    def _seen(self, reached: Callable[[dict[str, Document]], bool]) -> dict[str, Document] | None:
        try:
            document = json.loads((self.home / "run" / "verdict.json").read_bytes())
        except FileNotFoundError:
            return None
        seen = {verdict["check"]: verdict for verdict in document["verdicts"]}
        return seen if reached(seen) else None

    def address(self) -> str:
        message = r"listening on (\S+)\n"  # the whole line: it may be half written
        return until(lambda: re.findall(message, self.log.read_text()), self.log.read_text, TIMEOUT_SECONDS)[0]

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.address() + path, timeout=10) as answer:
            return bytes(answer.read())

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(60)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Running]:
    make_node(tmp_path / "n01")
    running = Running(tmp_path / "n01")
    try:
        running.until(lambda seen: all(verdict["health"] in ("pass", "not_applicable") for verdict in seen.values()))
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


def test_a_hung_driver_blinds_its_own_questions_and_nothing_else_not_even_shutdown(agent: Running) -> None:
    inject(agent.home, "driver_hang")
    inject(agent.home, "port_down", port="mlx5_2")
    seen = agent.until(
        lambda seen: seen["gpu.temperature"]["health"] == "unknown" and seen["fabric.port_down"]["health"] == "fail"
    )
    assert "the driver has not answered for" in seen["gpu.temperature"]["reason"]
    assert seen["host.filesystem"]["health"] == "pass"
    assert agent.stop() == 0
    clear(agent.home, "driver_hang")


def test_a_driver_that_recovers_is_seen_again(agent: Running) -> None:
    inject(agent.home, "driver_hang")
    agent.until(lambda seen: seen["gpu.temperature"]["health"] == "unknown")
    clear(agent.home, "driver_hang")
    agent.until(lambda seen: seen["gpu.temperature"]["health"] == "pass")


def test_a_second_agent_on_the_node_is_refused_in_one_sentence(agent: Running) -> None:
    second = subprocess.run(
        [HOLDFAST, "agent", "--config", str(agent.config)], capture_output=True, text=True, timeout=30, check=False
    )
    assert second.returncode == 1
    assert f"another holdfast agent (pid {agent.process.pid}) already runs" in second.stderr


def test_what_the_agent_saw_survives_kill_9(agent: Running) -> None:
    inject(agent.home, "nvlink_lane_down", gpu=6)
    agent.until(lambda seen: seen["nvlink.lanes"]["health"] == "fail")
    before = json.loads(agent.get("/v1/changes"))["changes"]
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait()
    agent.log.write_text("")
    agent.process = agent.start()
    agent.until(lambda seen: seen["nvlink.lanes"]["health"] == "fail")
    after = json.loads(agent.get("/v1/changes"))["changes"]
    assert after[: len(before)] == before


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_state_directory_that_fills_up_is_reported_and_survived(agent: Running) -> None:
    agent.stop()
    state = agent.home / "state"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(state)], check=True)
    try:
        (state / "filler").write_bytes(b"x" * 12_288)
        agent.process = agent.start()
        inject(agent.home, "nvlink_lane_down", gpu=1)
        seen = agent.until(
            lambda seen: (
                seen.get("agent.state", {}).get("health") == "degraded" and seen["nvlink.lanes"]["health"] == "fail"
            )
        )
        assert "No space left" in seen["agent.state"]["reason"] or "ledger" in seen["agent.state"]["reason"]
    finally:
        agent.stop()
        subprocess.run(["umount", str(state)], check=True)


def test_a_recovery_while_the_agent_was_away_is_reported_when_it_is_back(agent: Running) -> None:
    inject(agent.home, "nvlink_lane_down", gpu=6)
    agent.until(lambda seen: seen["nvlink.lanes"]["health"] == "fail")
    agent.stop()
    clear(agent.home, "nvlink_lane_down", gpu=6)
    agent.log.write_text("")
    agent.process = agent.start()
    agent.until(lambda seen: seen["nvlink.lanes"]["health"] == "pass")
    last = [change for change in json.loads(agent.get("/v1/changes"))["changes"] if change["check"] == "nvlink.lanes"][
        -1
    ]
    assert (last["before"], last["after"]) == ("fail", "pass")


def test_a_crowd_of_silent_clients_does_not_fill_the_agent_with_threads(agent: Running) -> None:
    host, port = agent.address().removeprefix("http://").split(":")
    tasks = Path(f"/proc/{agent.process.pid}/task")
    before = len(list(tasks.iterdir()))
    crowd = [socket.create_connection((host, int(port)), timeout=5) for _ in range(200)]
    threads = len(list(tasks.iterdir()))
    for client in crowd:
        client.close()
    assert threads - before < 100  # 200 without a limit; readers of devices may start meanwhile


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool (package prometheus) is not installed")
def test_metrics_are_promtool_clean(agent: Running) -> None:
    inject(agent.home, "gpu_process", gpu=2)
    metrics = agent.get("/metrics").decode()
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_metrics_and_pages_report_what_the_agent_knows(agent: Running) -> None:
    metrics = agent.get("/metrics").decode()
    assert 'holdfast_gpu_temperature_celsius{subject="node/n01/gpu/7"}' in metrics
    assert "holdfast_node_health 0.0" in metrics
    if promtool := shutil.which("promtool"):
        checked = subprocess.run(
            [promtool, "check", "metrics"], input=metrics, capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")
    assert len(json.loads(agent.get("/v1/inventory"))["subjects"]) > 20
    assert json.loads(agent.get("/v1/verdicts"))["health"] == "pass"
    assert json.loads(agent.get("/v1/signals"))["signals"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        agent.get("/v1/nothing")
    assert refused.value.code == 404
    assert "expected one of" in json.loads(refused.value.read())["error"]


def test_garbage_in_the_kernel_log_stops_nothing(agent: Running) -> None:
    inject(agent.home, "kmsg_garbage")
    inject(agent.home, "xid", gpu=4, value="79")
    seen = agent.until(lambda seen: seen["gpu.xid"]["health"] == "fail")
    assert [row["subject"] for row in seen["gpu.xid"]["subjects"] if row["health"] == "fail"] == ["node/n01/gpu/4"]
