"""The multi-node probe through a real Slurm's srun."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("torch", reason="torch is not installed: the probes' own part of the product needs it")
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))


def test_srun_starts_a_worker_on_every_node_and_leaves_none_behind(slurm_cluster):
    slurm = slurm_cluster(nodes=2)
    done = subprocess.run(
        [HOLDFAST, "probe", "run", "--slurm", "node[1-2]", "--largest", "4KiB", "--pair-bytes", "256KiB", "--json"],
        env=slurm.environ,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["hosts"] == ["node1", "node2"]
    assert {row["correct"] for row in document["sweep"]} == {True}
    assert len(document["pairs"]) == 2
    slurm.eventually(lambda: slurm.run("squeue", "-h") == "")
