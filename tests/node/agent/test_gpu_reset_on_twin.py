"""A GPU reset as the agent carries it out, with everything it looks at read from the C twin's driver."""

import sys
import threading
import time
from pathlib import Path

import pytest

from holdfast.lab.twin.inject import inject
from holdfast.lab.twin.node import make_node, open_node
from holdfast.model.wire.report import OrderOutcome
from holdfast.node.agent.assemble import load_settings, node_name
from holdfast.node.agent.once import check_node
from holdfast.node.agent.orders.gpu_reset import DriverGate, reset_gpu
from holdfast.node.agent.orders.gpu_situation import situation
from holdfast.node.agent.orders.handler import Order
from holdfast.node.sources.host.repairs import FILE as REPAIRS

pytestmark = pytest.mark.slow
SICK = 3


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A node one of whose GPUs asks for a reset."""
    make_node(tmp_path / "n01")
    inject(tmp_path / "n01", "recovery_action", gpu=SICK, value="1")
    return tmp_path / "n01"


def tool(home: Path, script: str) -> str:
    """In nvidia-smi's place: writes down how it was called, and does to the driver what the script says."""
    path = home / "tool"
    lines = ["import sys", f"open({str(home / 'called')!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')", script]
    path.write_text(f"#!{sys.executable}\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)
    return str(path)


def perform(home: Path, script: str = "") -> OrderOutcome:
    settings = load_settings(str(home / "holdfast.toml"))
    node, now = check_node(settings, "passive"), time.time()
    action = reset_gpu(
        settings,
        node_name(settings),
        DriverGate(),
        lambda: situation(node, threading.Lock(), settings, time.time()),
        command=tool(home, script),
    )
    return action.perform(Order(id=1, verb="reset_gpu", reason="it asks for one"), now)


def mend(home: Path) -> str:
    return f"from holdfast.lab.twin.inject import clear; clear({str(home)!r}, 'recovery_action', gpu={SICK})"


def test_the_gpu_that_asks_for_it_is_reset_and_the_driver_says_that_it_helped(home: Path) -> None:
    outcome = perform(home, mend(home))
    assert outcome.ok, outcome.reason
    uuid = open_node(home).state.gpu[SICK].uuid.decode()
    assert (home / "called").read_text() == f"--gpu-reset -i {uuid}\n"
    assert f"gpu/{SICK}" in (home / "state" / REPAIRS).read_text()


def test_a_tool_that_says_yes_while_the_driver_says_no_is_not_believed(home: Path) -> None:
    outcome = perform(home)
    assert not outcome.ok
    assert f"GPU {SICK} still requests a reset" in outcome.reason
    assert not (home / "state" / REPAIRS).exists()


def test_it_is_refused_while_a_process_is_on_the_gpu(home: Path) -> None:
    gpu = open_node(home).state.gpu[SICK]
    gpu.process[0].pid, gpu.process_count = 4711, 1
    outcome = perform(home, mend(home))
    assert not outcome.ok
    assert "4711" in outcome.reason or "workload" in outcome.reason
    assert not (home / "called").exists()


def test_it_is_refused_while_a_job_owns_the_node_whichever_gpu_it_uses(home: Path) -> None:
    inject(home, "gpu_process", gpu=0)
    outcome = perform(home, mend(home))
    assert not outcome.ok
    assert "a workload owns the node" in outcome.reason
    assert not (home / "called").exists()
