"""Live: a prefill pool feeds two decode pools over links of their own; one link is limited, every device passes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.controller.running import Controller, running, until

FACTOR = 60.0
POOLS = Path(__file__).with_name("pools.py")
TOPOLOGY = """
[[edge]]
kind = "runs_on"
from = "node/d1"
to = "pool/decode1"
[[edge]]
kind = "runs_on"
from = "node/d2"
to = "pool/decode2"
[[edge]]
kind = "feeds"
from = "pool/prefill"
to = ["path/prefill-decode1", "path/prefill-decode2"]
[[edge]]
kind = "feeds"
from = "path/prefill-decode1"
to = "pool/decode1"
[[edge]]
kind = "feeds"
from = "path/prefill-decode2"
to = "pool/decode2"
[owners]
path = "network"
pool = "serving"
"""
BUSINESS_CONTEXT = """
[on_call]
network = "Sol, 555 0102"
[[job]]
name = "path/prefill-decode1"
gpus = 16
"""


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@contextmanager
def links() -> Iterator[list[tuple[str, str, str]]]:
    """(namespace, our end of the link, its address) of each decode pool."""
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("tc") is None:
        pytest.skip("needs root, ip and tc for links of its own")
    number = os.getpid() % 200
    made = [
        (f"hfp{os.getpid()}-{one}", f"hfv{os.getpid() % 100_000}-{one}", f"10.{96 - one}.{number}.2") for one in (1, 2)
    ]
    try:
        for space, link, address in made:
            run("ip", "netns", "add", space)
            run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
            run("ip", "addr", "add", f"{address[:-1]}1/24", "dev", link)
            run("ip", "link", "set", link, "up")
            run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", space, "link", "set", "eth0", "up")
        yield made
    finally:
        for space, _, _ in made:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


@contextmanager
def process(*words: str) -> Iterator[None]:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = subprocess.Popen(words, **pipes)
    try:
        assert started.stdout is not None and started.stdout.readline().strip() == "ready"
        yield
    finally:
        started.kill()
        started.communicate()


@pytest.mark.slow
def test_a_limited_link_between_two_pools_is_one_incident_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text(TOPOLOGY)
    (tmp_path / "business_context.toml").write_text(BUSINESS_CONTEXT)
    more = f"""demo = true
time_factor = {FACTOR}
[seams]
topology = "{tmp_path}/topology.toml"
business_context = "{tmp_path}/business_context.toml"
evaluate_seconds = 60
"""
    with ExitStack() as stack:
        made = stack.enter_context(links())
        controller = stack.enter_context(running(tmp_path / "controller", more=more))
        for name in ("d1", "d2"):
            controller.ready_node(name, twin=True).verdict("gpu.temperature", "pass")
        for space, _, address in made:
            stack.enter_context(process("ip", "netns", "exec", space, sys.executable, str(POOLS), "receive", address))
        addresses = [address for _, _, address in made]
        stack.enter_context(process(sys.executable, str(POOLS), "send", controller.url, controller.admin, *addresses))
        _calm(controller)
        run("tc", "qdisc", "add", "dev", made[0][1], "root", "tbf", "rate", "3mbit", "burst", "8kb", "latency", "400ms")
        incident = until(lambda: _found(controller), "the path has an incident", 150)
        account = incident["account"]
        assert incident["cause"] == "pools.path" and account["on_call"]["network"] == "Sol, 555 0102"
        assert account["bill"]["gpu_hours_per_hour"] > 0, "stalled GPUs are paid for"
        assert "the path prefill to decode1" in account["sentence"]
        assert {node["health"] for node in controller.get("/v1/nodes")["nodes"]} == {"pass"}
        assert {node["stage"] for node in controller.get("/v1/nodes")["nodes"]} == {"ready"}


def _calm(controller: Controller) -> None:
    until(lambda: controller.get("/v1/seams")["subjects"] >= 8, "both paths tell all four signals", 120)
    began = time.monotonic()
    until(lambda: time.monotonic() - began > 600 / FACTOR, "a calm beginning")
    assert controller.get("/v1/incidents", only="open")["incidents"] == []


def _found(controller: Controller) -> Any:
    found = controller.get("/v1/incidents", only="open")["incidents"]
    assert {one["subject"] for one in found} <= {"path/prefill-decode1"}, "one root, one incident"
    return next((one for one in found if one["account"]["bill"]["gpu_hours_per_hour"] > 0), None)
