"""GPUs and ports of a simulated node, as the supervisor looks at them; a hang that only they show."""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from holdfast.lab.twin.node import TwinNode, make_node
from holdfast.supervisor.hardware.hardware import Hardware
from tests.waiting import until

pytestmark = pytest.mark.slow

SUPERVISE = """
import sys
from pathlib import Path
from holdfast.supervisor.nodes.rendezvous import SingleNode
from holdfast.supervisor.decide import Budget
from holdfast.supervisor.loop import Supervisor
from holdfast.supervisor.options import Options
home, folder, program = sys.argv[1:]
options = Options(
    command=(sys.executable, "-c", program), node="n01", folder=Path(folder), hang_factor=1.0, hang_floor_seconds=6.0,
    kernel_log=f"{home}/dev/kmsg", sys=f"{home}/sys", nvml=f"{home}/nvml/libnvidia-ml.so.1", grace_seconds=1.0,
    budget=Budget(first_wait_seconds=0.1),
)
sys.exit(Supervisor(options, SingleNode("n01"), lambda said: print(said, file=sys.stderr, flush=True)).run())
"""
SPINS_ONCE = """
import os, time
for step in range(8):
    print(f"step {step} loss 1.0", flush=True)
    time.sleep(2.2 if os.environ["HOLDFAST_ATTEMPT"] == "1" else 0.1)
print("waits", flush=True)
if os.environ["HOLDFAST_ATTEMPT"] == "1":
    sum(iter(int, 1))
"""


def load(node: TwinNode, use: int, watts: int) -> None:
    for number in range(8):
        node.state.gpu[number].gpu_utilization = use
        node.state.gpu[number].power_milliwatts = watts * 1000


def test_a_node_is_looked_at(tmp_path: Path) -> None:
    node = make_node(tmp_path / "n01")
    load(node, 97, 620)
    hardware = Hardware("n01", str(node.sys.root), str(node.library))
    assert hardware.unseen() == ()
    sample = hardware.sample(os.getpid())
    assert sample.gpus == ((0.97, 620.0),) * 8
    counter = next(node.sys.root.glob("class/infiniband/*/ports/*/counters/port_xmit_data"))
    counter.write_text(f"{int(counter.read_text()) + 1000}\n")
    assert hardware.sample(os.getpid()).rdma_bytes == (sample.rdma_bytes or 0.0) + 4000.0


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    hardware = Hardware("n01", str(tmp_path), str(tmp_path / "none.so"))
    gpus, ports = hardware.unseen()
    assert "none.so" in gpus and "RDMA" in ports
    hardware.start(os.getpid())
    message = until(hardware.blind, "what it cannot see is said")
    assert message.startswith("not used as signs of a hang: GPUs (")
    assert [*hardware.samples()] == []


@pytest.mark.soak
def test_a_rank_that_spins_while_its_gpu_waits(tmp_path: Path) -> None:
    """A silence is no hang while the GPUs work; once they only wait, a rank that spins for them does nothing."""
    node = make_node(tmp_path / "n01")
    load(node, 97, 620)
    environ = {**os.environ, "RANK": "0"}
    command = [sys.executable, "-c", SUPERVISE, str(node.directory), str(tmp_path / "run"), SPINS_ONCE]
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environ)
    until(lambda: "waits" in (tmp_path / "out").read_text(), (tmp_path / "out").read_text)
    time.sleep(12)  # twice the silence that is too long
    assert "attempt 1 ended" not in (tmp_path / "out").read_text()
    load(node, 100, 210)
    try:
        assert process.wait(120) == 0, (tmp_path / "out").read_text()
    finally:
        process.kill()
    first = msgspec.json.decode((tmp_path / "run" / "run.json").read_bytes())["attempts"][0]
    assert "W where 620 W is usual" in first["ended_by"]
