"""The judge of bench/slurm_busy.py: which lines of a slurmd log are starts."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))

from slurm_busy_records import launches

REQUEST = "[2026-11-17T12:01:12.309] launch task StepId={}.0 request from UID:0 GID:0 HOST:127.0.0.1 PORT:42568\n"
REVOKED = "[2026-11-17T12:01:12.310] error: Invalid job credential from 0@127.0.0.1: Job credential revoked\n"
BATCH = "[2026-11-17T12:01:37.396] Launching batch job {} for UID 0\n"
DONE = "[2026-11-17T12:01:39.067] [{}.batch] done with job\n"
REFUSED = "[2026-11-17T12:01:40.000] do not launch StepId={}.0\n"


def started(tmp_path: Path, *lines: str) -> list[str]:
    (tmp_path / "log").write_text("".join(lines))
    return [job for _, job in launches(tmp_path / "log")[0]]


def test_a_request_that_slurmd_itself_refuses_is_no_start(tmp_path: Path) -> None:
    assert started(tmp_path, REQUEST.format(7), REVOKED, BATCH.format(8)) == ["8"]
    assert started(tmp_path, REQUEST.format(7), REFUSED.format(7)) == []


def test_a_refusal_of_another_request_takes_no_start_away(tmp_path: Path) -> None:
    assert started(tmp_path, REQUEST.format(7), BATCH.format(8), REVOKED) == ["7", "8"]
    assert started(tmp_path, BATCH.format(7), REQUEST.format(7), REVOKED) == ["7"]
    assert started(tmp_path, REQUEST.format(7), REFUSED.format(8)) == ["7"]


def test_a_job_that_comes_again_after_its_end_starts_again(tmp_path: Path) -> None:
    assert started(tmp_path, BATCH.format(7), DONE.format(7), BATCH.format(7)) == ["7", "7"]
