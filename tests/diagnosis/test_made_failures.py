"""Failures made here with a real torchrun job over gloo, diagnosed with no hint from its output alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.diagnose.command import gather
from holdfast.diagnosis.rules.diagnose import diagnose

JOB = Path(__file__).with_name("gloo_job.py")
SLOW, SOAK = pytest.mark.slow, pytest.mark.soak
CASES = [
    pytest.param("kill", "host.killed", "restart_same", marks=SLOW),
    pytest.param("disk", "storage.full", "wait_for_storage", marks=SOAK),
    pytest.param("shape", "job.collective_mismatch", "stop", marks=SOAK),
    pytest.param("bug", "job.exception", "stop", marks=SOAK),
    pytest.param("nan", "job.nan", "restart_same", marks=SOAK),
    pytest.param("skip", "job.rank_missing", "restart_same", marks=SOAK),
    pytest.param("sleep", "job.rank_missing", "restart_same", marks=SOAK),
]


@pytest.mark.parametrize(("fault", "cause", "action"), CASES)
def test_a_failure_made_here(fault: str, cause: str, action: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the training extra is not installed")
    torchrun = Path(sys.executable).with_name("torchrun")
    log = tmp_path / "train.log"
    with log.open("wb") as output:
        subprocess.run(
            [torchrun, "--standalone", "--nproc-per-node=4", JOB, fault, tmp_path],
            stdout=output, stderr=subprocess.STDOUT, timeout=180, check=False,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    reported = diagnose(gather([log])[0])
    assert reported.causes, log.read_text()
    assert reported.next is not None
    assert (reported.causes[0].name, reported.next.action) == (cause, action), log.read_text()
