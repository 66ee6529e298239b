"""The simulated fleet against the real controller, as processes: a node fails, is reset, re-tested, and returns."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.waiting import until

pytest.importorskip("litestar", reason="needs the extra [controller]")

pytestmark = pytest.mark.slow

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
TIMEOUT_SECONDS = 240.0
LIFE = ("quarantined", "resetting", "testing", "ready")
OUT = ("draining", "testing")  # the test that follows a job that died may come before the drain


class Demo:
    def __init__(self, home: Path) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        environ = {**os.environ, "HOLDFAST_STATE": str(home / "state"), "XDG_CONFIG_HOME": str(home), "HOME": str(home)}
        command = [
            HOLDFAST,
            "up",
            "--demo",
            "--listen",
            self.url.removeprefix("http://"),
            "--nodes",
            "16",
            "--speed",
            "60",
        ]
        self.log = home / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environ)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def until(self, reached: Callable[[], Any]) -> Any:
        def holds() -> Any:
            with suppress(OSError):  # it does not listen yet
                return reached()

        return until(holds, self.log.read_text, TIMEOUT_SECONDS, lambda: self.process.poll() is None)

    def node_history(self, node: str) -> list[dict[str, Any]]:
        """Oldest first."""
        return list(reversed(self.get(f"/v1/nodes/{node}/history?limit=200")["entries"]))

    def stages(self, node: str) -> list[str]:
        moves = [entry["facts"] for entry in self.node_history(node) if entry["kind"] == "transition"]
        return [move["after"] for move in moves if move["before"] != move["after"]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    it = Demo(tmp_path_factory.mktemp("demo"))
    yield it
    it.process.terminate()
    try:
        it.process.wait(20)
    except subprocess.TimeoutExpired:
        it.process.kill()
        it.process.wait()


def lived_through(stages: list[str]) -> bool:
    """LIFE in this order, one after the other, from one of OUT."""
    return any(
        stages[i] in OUT and tuple(stages[i + 1 : i + 1 + len(LIFE)]) == LIFE for i in range(len(stages) - len(LIFE))
    )


def test_sixteen_nodes_enrol_and_pass_their_first_test(demo: Demo) -> None:
    demo.until(lambda: demo.get("/v1/fleet")["nodes"] == 16)
    demo.until(lambda: sum(node["tested_at"] is not None for node in demo.get("/v1/nodes")["nodes"]) >= 12)
    assert all(node["twin"] for node in demo.get("/v1/nodes")["nodes"])


def test_a_node_fails_is_taken_out_quarantined_reset_tested_and_returns(demo: Demo) -> None:
    demo.until(lambda: lived_through(demo.stages("n001")))
    node_history = demo.node_history("n001")
    titles = [entry["title"] for entry in node_history]
    assert "gpu.xid: pass -> fail" in titles
    assert "gpu.xid: fail -> pass" in titles
    assert any(entry["kind"] == "event" and "Xid (PCI:" in entry["detail"] for entry in node_history)
    assert any(entry["title"] == "reset_gpu done" for entry in node_history)


def test_jobs_take_nodes_through_their_rounds_and_start_nowhere_untested(demo: Demo) -> None:
    demo.until(lambda: any(job["state"] == "completed" for job in demo.get("/v1/jobs")["jobs"]))

    def moves() -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = demo.get("/v1/transitions?limit=10000")["transitions"]
        return result

    for step in (("ready", "allocated"), ("allocated", "cleaning"), ("cleaning", "testing"), ("testing", "ready")):
        demo.until(lambda step=step: step in [(move["before"], move["after"]) for move in moves()])
    assert not [move for move in moves() if "check the gate" in move["reason"]]
