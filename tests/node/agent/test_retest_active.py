"""The full suite with its active part on a twin: marked as standing in, and ended at once when the node is wanted."""

import importlib.util
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from holdfast.lab import twin
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.orders.handler import Order
from holdfast.node.agent.orders.retest import retest
from tests.node.probes.test_active import living_of_group, one_child, until

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
]


def home(tmp_path: Path, probes: str) -> Path:
    twin.make_node(tmp_path / "n01")
    config = tmp_path / "n01" / "holdfast.toml"
    with config.open("a") as file:
        file.write(f"\n[probes]\nactive = true\n{probes}\n")
    return config


def test_the_cpu_stands_in_for_every_gpu_of_a_twin_and_says_so(tmp_path: Path) -> None:
    config = home(tmp_path, "seconds = 0.4")
    with config.open("a") as file:
        file.write('\n[stages]\nbootstrap = ["probe.host_copy"]\n')
    done = subprocess.run(
        [HOLDFAST, "check", "--stage", "bootstrap", "--json", "--config", str(config)], capture_output=True, text=True
    )
    document = json.loads(done.stdout)
    paths = {row["subject"].rpartition("-")[2] for row in document["probes"]}
    assert paths == {f"gpu{index}" for index in range(8)}
    (verdict,) = document["verdicts"]
    assert "in place of simulated GPUs" in verdict["reason"]


def test_a_node_that_is_wanted_ends_its_suite_at_once(tmp_path: Path) -> None:
    config = home(tmp_path, "seconds = 120")
    with config.open("a") as file:
        file.write('\n[controller]\nurl = "http://127.0.0.1:1"\n[stages]\nbootstrap = ["probe.burn_in"]\n')
    settings = load_settings(str(config))
    Path(settings.agent.verdict_file).parent.mkdir(parents=True, exist_ok=True)
    outcomes = []
    order = Order(id=1, verb="retest", suite="1")
    worker = threading.Thread(target=lambda: outcomes.append(retest(settings).perform(order, 0.0)), daemon=True)
    worker.start()
    own = threading.main_thread().native_id
    suite = until(lambda: one_child(own, "holdfast.node.agent.suite"))
    probes = until(lambda: one_child(suite, "holdfast.node.probes.active.suite"))
    Path(settings.agent.verdict_file).with_suffix(".testing").unlink()
    worker.join(90.0)
    assert outcomes and outcomes[0].health == "unknown"
    assert "was used" in outcomes[0].reason
    until(lambda: not living_of_group(probes))
