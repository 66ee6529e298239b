"""Who holds which GPU, and what NCCL was reported. Nothing else leaves an environment."""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.model.signal import Reading, Value
from holdfast.node.sources.jobs import jobs
from holdfast.node.sources.jobs.jobs import JobsSource

STAT = "{pid} (python (x) y) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {ticks} 0 0\n"


class Proc:
    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        (root / "stat").write_text("cpu 1 2 3\nbtime 1000000\n")
        (root / "uptime").write_text("500.00 1200.00\n")

    def process(self, pid: int, cgroup: str, environ: bytes = b"", maps: str = "", ticks: int = 5000) -> None:
        home = self.root / str(pid)
        home.mkdir(exist_ok=True)
        (home / "cgroup").write_text(cgroup)
        (home / "environ").write_bytes(environ)
        (home / "maps").write_text(maps)
        (home / "stat").write_text(STAT.format(pid=pid, ticks=ticks))


def of(reading: Reading, subject: str) -> dict[str, Value]:
    return {name: value for where, name, value in reading.signals if where == subject}


def test_a_slurm_job_holds_its_gpus_with_its_settings(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    for pid in (41, 42):
        environ = b"SECRET=x\0NCCL_IB_TIMEOUT=22\0NCCL_IB_RETRY_CNT=7\0NCCL_IB_HCA=mlx5"
        library = "7f-80 r-xp 0 08:01 1 /usr/lib/libnccl.so.2.21.5\n"
        proc.process(pid, "0::/system.slice/slurmstepd.scope/job_7/step_0\n", environ, library)
    reading = JobsSource("n1", str(proc.root), lambda: {0: [41], 1: [42, 41]}).read(0)
    seen = of(reading, "job/7")
    assert (seen["job_gpus"], seen["job_pids"], seen["job_processes"]) == ("0,1", "41,42", 2)
    assert (seen["job_nccl_ib_timeout"], seen["job_nccl_ib_retries"], seen["job_nccl_ib_hca"]) == (22, 7, "mlx5")
    assert seen["job_nccl_version"] == "2.21.5"
    assert seen["job_nccl_uses_rdma"] == 1
    assert "SECRET" not in repr(reading)
    assert of(reading, "node/n1")["jobs_running"] == 1


def test_pods_and_bare_processes_are_distinguished(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, f"0::/kubepods/pod0c3a7b1e-2f54-4d6a-9b8c-1a2b3c4d5e6f/{'a' * 64}\n")
    proc.process(51, "0::/user.slice\n")
    reading = JobsSource("n1", str(proc.root), lambda: {0: [50], 1: [51]}).read(0)
    assert of(reading, "job/pod-0c3a7b1e-2f54-4d6a-9b8c-1a2b3c4d5e6f")["job_gpus"] == "0"
    assert of(reading, "job/pod-0c3a7b1e-2f54-4d6a-9b8c-1a2b3c4d5e6f")["job_container"] == "a" * 12
    assert of(reading, "job/pid-51")["job_gpus"] == "1"


def test_the_version_comes_from_the_package_where_the_librarys_name_does_not_report(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, "0::/\n", maps="7f-80 r-xp 0 08:01 1 /venv/nvidia/nccl/lib/libnccl.so.2\n")
    packages = proc.root / "50/root/venv"
    (packages / "nvidia/nccl/lib").mkdir(parents=True)
    (packages / "nvidia_nccl_cu12-2.27.3.dist-info").mkdir()
    reading = JobsSource("n1", str(proc.root), lambda: {0: [50]}).read(0)
    assert of(reading, "job/pid-50")["job_nccl_version"] == "2.27.3"


def test_the_administrators_file_holds_where_the_environment_sets_nothing(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, "0::/\n", b"NCCL_IB_RETRY_CNT=5")
    (proc.root / "50/root/etc").mkdir(parents=True)
    (proc.root / "50/root/etc/nccl.conf").write_text("# ours\nNCCL_IB_TIMEOUT=22\nNCCL_IB_RETRY_CNT=7\nOTHER=1\n")
    seen = of(JobsSource("n1", str(proc.root), lambda: {0: [50]}).read(0), "job/pid-50")
    assert (seen["job_nccl_ib_timeout"], seen["job_nccl_ib_retries"]) == (22, 5)


def test_a_library_mapped_later_is_still_noticed(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, "0::/\n")
    source = JobsSource("n1", str(proc.root), lambda: {0: [50]})
    assert ("job/pid-50", "job_nccl_version") in source.read(0).absent
    proc.process(50, "0::/\n", maps="7f-80 r-xp 0 08:01 1 /l/libnccl.so.2.23.4\n")
    assert of(source.read(15), "job/pid-50")["job_nccl_version"] == "2.23.4"


def test_an_environment_that_cannot_be_read_is_absent_with_the_reason(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, "0::/\n")
    (proc.root / "50/environ").unlink()
    (proc.root / "50/environ").mkdir()  # a file even root cannot read
    reading = JobsSource("n1", str(proc.root), lambda: {0: [50]}).read(0)
    assert "cannot be read" in reading.absent[("job/pid-50", "job_nccl_ib_timeout")]
    assert of(reading, "job/pid-50")["job_gpus"] == "0"


def test_a_job_that_ended_is_reported_once_as_ended(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, "0::/\n")
    held = {0: [50]}
    source = JobsSource("n1", str(proc.root), lambda: held)
    source.read(0)
    held[0] = []
    reading = source.read(15)
    assert of(reading, "node/n1")["jobs_running"] == 0
    assert reading.absent == {("job/pid-50", "job_processes"): "the job ended"}


def test_processes_that_cannot_be_found_are_not_taken_for_an_idle_node(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    reading = JobsSource("n1", str(proc.root), lambda: {0: [51], 1: []}).read(0)
    assert not of(reading, "node/n1")
    assert "PID namespace" in reading.absent[("node/n1", "jobs_running")]


def test_a_pid_used_again_is_another_process(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, "0::/slurm/uid_0/job_1\n", b"NCCL_IB_TIMEOUT=22")
    source = JobsSource("n1", str(proc.root), lambda: {0: [50]})
    source.read(0)
    proc.process(50, "0::/slurm/uid_0/job_2\n", b"", ticks=9000)
    reading = source.read(15)
    assert "job_nccl_ib_timeout" not in of(reading, "job/2")
    assert not of(reading, "job/1")


def test_not_knowing_the_processes_is_blindness(tmp_path: Path) -> None:
    assert JobsSource("n1", str(tmp_path), lambda: None).read(0).blind


def test_a_job_started_as_long_ago_as_it_is_old_wherever_the_wall_clock_was_set(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, "0::/slurm/uid_0/job_1\n", ticks=440 * os.sysconf("SC_CLK_TCK"))
    for btime in (1_000_000, 996_400, 1_003_600):
        (proc.root / "stat").write_text(f"cpu 1 2 3\nbtime {btime}\n")
        reading = JobsSource("n1", str(proc.root), lambda: {0: [50]}).read(1_000_500)
        assert of(reading, "job/1")["job_start_timestamp_seconds"] == 1_000_440


def test_without_an_uptime_no_one_can_report_when_a_job_started(tmp_path: Path) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, "0::/\n")
    (proc.root / "uptime").unlink()
    seen = of(JobsSource("n1", str(proc.root), lambda: {0: [50]}).read(0), "job/pid-50")
    assert "job_start_timestamp_seconds" not in seen
    assert seen["job_gpus"] == "0"


@pytest.mark.parametrize(
    ("first", "second", "uses"),
    [
        (b"NCCL_IB_DISABLE=1", b"NCCL_NET=socket", 0),
        (b"NCCL_IB_DISABLE=1", b"NCCL_IB_DISABLE=0", 1),
        (b"NCCL_NET=Socket", b"", 1),
    ],
)
def test_a_job_keeps_off_rdma_only_if_all_its_processes_do(
    tmp_path: Path, first: bytes, second: bytes, uses: float
) -> None:
    proc = Proc(tmp_path / "proc")
    proc.process(50, "0::/slurm/uid_0/job_1\n", first)
    proc.process(51, "0::/slurm/uid_0/job_1\n", second)
    reading = JobsSource("n1", str(proc.root), lambda: {0: [50], 1: [51]}).read(0)
    assert of(reading, "job/1")["job_nccl_uses_rdma"] == uses


@contextmanager
def never_answering(place: Path) -> Iterator[None]:
    """A file system whose server took the request and is gone, as a hung network share."""
    libc = ctypes.CDLL(None)
    try:
        server = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"no /dev/fuse to mount a hung file system with: {error.strerror}")
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0"
    try:
        if libc.mount(b"hung", bytes(place), b"fuse", 0, options.encode()):
            pytest.skip("mounting a hung file system needs root")
        try:
            yield
        finally:
            libc.umount2(bytes(place), 2)  # MNT_DETACH
    finally:
        os.close(server)  # who waits for it is let go


def test_a_hung_share_under_a_job_s_files_costs_its_version_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_TIMEOUT_SECONDS", 0.1)
    proc = Proc(tmp_path / "proc")
    for pid in (50, 51, 52):
        maps = "7f-80 r-xp 0 08:01 1 /venv/nvidia/nccl/lib/libnccl.so.2\n"
        proc.process(pid, f"0::/slurm/uid_0/job_{pid}\n", b"NCCL_IB_TIMEOUT=22", maps)
        (proc.root / f"{pid}/root/venv").mkdir(parents=True)
        (proc.root / f"{pid}/root/etc").mkdir()
    source = JobsSource("n1", str(proc.root), lambda: {0: [50], 1: [51], 2: [52]})
    answers = []
    reader = threading.Thread(target=lambda: answers.append(source.read(0)), daemon=True)
    with never_answering(proc.root / "50/root/venv"), never_answering(proc.root / "51/root/etc"):
        reader.start()
        reader.join(60.0)
        assert answers, "the source hangs with the share"
    reader.join()
    assert ("job/50", "job_nccl_version") in answers[0].absent
    for job in ("job/50", "job/51", "job/52"):
        assert of(answers[0], job)["job_nccl_ib_timeout"] == 22
