"""Real failures of a real training of four processes: told apart with no hint, and survived where that is possible."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.supervisor.stage import supervise, training

pytest.importorskip("torch", reason="the training extra is not installed")
SOAK = pytest.mark.soak
HANG = ("--hang-floor-seconds", "4")


def first_cause(run: dict[str, Any]) -> str:
    return str(run["attempts"][0]["cause"])


def adds_up(run: dict[str, Any]) -> bool:
    wall = run["attempts"][-1]["ended"] - run["attempts"][0]["began"]
    parts = sum(run["ledger"].values())
    return abs(parts - run["wall_seconds"]) < 1e-6 and abs(parts - wall) < 5.0


@pytest.mark.slow
def test_a_killed_rank(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", training(tmp_path))
    job.until(lambda: "step 25 " in job.output)
    os.kill(job.worker(2), signal.SIGKILL)
    assert job.end() == 0, job.log
    assert first_cause(job.run) == "host.killed"
    assert job.run["attempts"][1]["first_step"] == 21  # from the checkpoint, not from the start
    assert "training completed" in job.output
    assert adds_up(job.run)


@pytest.mark.soak
def test_a_rank_that_sleeps(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", training(tmp_path, "sleep", "3", "25", timeout=600), *HANG)
    assert job.end() == 0, job.log
    assert first_cause(job.run) == "job.rank_slow"
    assert "rank 3 is in sleep" in job.run["attempts"][0]["evidence"][0]
    assert adds_up(job.run)


@pytest.mark.soak
def test_a_stopped_rank(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", training(tmp_path, timeout=600), *HANG)
    job.until(lambda: "step 25 " in job.output)
    os.kill(job.worker(1), signal.SIGSTOP)
    assert job.end() == 0, job.log
    assert first_cause(job.run) == "job.rank_slow"
    assert "rank 1 is stopped" in job.run["attempts"][0]["evidence"][0]


@pytest.mark.parametrize(
    ("fault", "rank", "cause", "says"),
    [
        pytest.param("shape", "1", "job.exception", "shapes cannot be multiplied", marks=SOAK),
        pytest.param("skip", "2", "job.collective_mismatch", "different", marks=SOAK),
    ],
)
def test_what_another_run_would_not_repair(tmp_path: Path, fault: str, rank: str, cause: str, says: str) -> None:
    job = supervise(tmp_path / "n1", training(tmp_path, fault, rank, "25", "--always"))
    assert job.end() == 93, job.log
    assert len(job.run["attempts"]) == 1
    assert first_cause(job.run) == cause
    assert says in job.log
    assert adds_up(job.run)


@pytest.mark.soak
def test_a_loss_that_is_no_number(tmp_path: Path) -> None:
    """The training itself does not mind, so it ends well; what it is worth is said."""
    job = supervise(tmp_path / "n1", training(tmp_path, "nan", "2", "25"))
    assert job.end() == 0, job.log
    assert first_cause(job.run) == "job.nan"
    assert "no longer a number" in job.run["outcome"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"needs to mount a tmpfs: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.soak
def test_a_full_disk_that_is_freed(tmp_path: Path, small_disk: Path) -> None:
    job = supervise(tmp_path / "n1", training(small_disk))
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (4 * 1024 * 1024 - 4096))
    job.until(lambda: "waits for storage" in job.log)
    filler.unlink()
    assert job.end() == 0, job.log
    assert first_cause(job.run) == "storage.full"
    assert job.run["ledger"]["waiting"] > 1.0
    assert adds_up(job.run)


@pytest.fixture
def memory_limit() -> Iterator[Path]:
    group = Path(f"/sys/fs/cgroup/memory/holdfast-test-{os.getpid()}")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(2 << 30))
    except OSError as error:
        pytest.skip(f"needs a memory cgroup to limit: {error}")
    yield group
    group.rmdir()


@pytest.mark.soak
def test_a_rank_that_eats_the_memory(tmp_path: Path, memory_limit: Path) -> None:
    enter = ["sh", "-c", f'echo $$ > {memory_limit}/cgroup.procs && exec "$@"', "sh"]
    job = supervise(tmp_path / "n1", [*enter, *training(tmp_path, "eat", "2", "25")])
    assert job.end() == 0, job.log
    assert first_cause(job.run) == "host.oom"
    assert adds_up(job.run)
