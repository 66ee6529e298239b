"""A training under a real sbatch: supervisors on four nodes, one node dies, the spare takes its place."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.supervisor import processes
from tests.supervisor.stage import BIN, EXAMPLE

pytestmark = pytest.mark.soak
pytest.importorskip("torch", reason="the training extra is not installed")
SCRIPT = """\
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
exec srun --no-kill --ntasks-per-node=1 {holdfast} run --folder {folder}/run --nodes 3 \\
  --store 127.0.0.1:{port} --lost-seconds 5 --grace-seconds 2 -- \\
  {torchrun} --nproc-per-node 1 {example} --steps 60 --checkpoints {folder}/saved
"""


def processes_of(node: str, job: str) -> list[int]:
    """The job's processes on a node of this test's cluster."""
    found = [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]
    on_node = [pid for pid in found if processes.variable(pid, "SLURMD_NODENAME") == node]
    return [pid for pid in on_node if processes.variable(pid, "SLURM_JOB_ID") == job]


def test_a_node_dies_and_the_spare_takes_its_place(slurm_cluster, tmp_path: Path) -> None:
    slurm = slurm_cluster(nodes=4)
    port = 20000 + os.getpid() % 9000
    script = SCRIPT.format(
        holdfast=BIN / "holdfast", folder=tmp_path, port=port, torchrun=BIN / "torchrun", example=EXAMPLE
    )
    output = tmp_path / "out"
    job = slurm.run("sbatch", "--parsable", "--no-kill", "-N4", "-o", str(output), "--wrap", script)
    slurm.eventually(lambda: output.exists() and "step 25 " in output.read_text(), within=120)
    spare = next(node for node in slurm.nodes if f"{node} waits as a spare" in output.read_text())
    hit = next(node for node in slurm.nodes[1:] if node != spare)
    slurmd = slurm.daemons[2 + slurm.nodes.index(hit)]
    slurmd.kill()
    slurmd.wait()
    for pid in processes_of(hit, job):
        with suppress(ProcessLookupError):  # it ended with the one before
            os.kill(pid, signal.SIGKILL)
    slurm.eventually(lambda: slurm.job(job) not in ("RUNNING", "COMPLETING"), within=180)
    printed = output.read_text()
    assert "training completed" in printed, printed[-5000:]
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["excluded"] == [hit]
    assert spare in run["attempts"][1]["nodes"]
    assert (run["finished"], run["exit_code"]) == (True, 0)
