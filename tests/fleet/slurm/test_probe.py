"""The multi-node probe through a real Slurm's srun."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("torch", reason="torch is not installed: the probes' own part of the product needs it")
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))


def probe(slurm):
    words = ["--slurm", "node[1-2]", "--largest", "4KiB", "--pair-bytes", "256KiB", "--json"]
    return subprocess.run(
        [HOLDFAST, "probe", "run", *words], env=slurm.environ, capture_output=True, text=True, timeout=180
    )


def test_srun_starts_a_worker_on_every_node_and_leaves_none_behind_and_an_allocated_node_is_refused(slurm_cluster):
    slurm = slurm_cluster(nodes=2)
    done = probe(slurm)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["hosts"] == ["node1", "node2"]
    assert {row["correct"] for row in document["sweep"]} == {True}
    assert len(document["pairs"]) == 2
    slurm.eventually(lambda: slurm.run("squeue", "-h") == "")
    job = slurm.run("sbatch", "--parsable", "-w", "node2", "--output=/dev/null", "--wrap", "sleep 600")
    slurm.eventually(lambda: slurm.run("squeue", "-h", "-t", "R") != "")
    refused = probe(slurm)
    assert refused.returncode == 64 and f"node2 is allocated to job {job}" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    slurm.run("scancel", job)
