"""Shaped loads: the device that falls behind half-way is named with its drift; profiles are data, or refused."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.lab import twin
from holdfast.node.probes.stress.profiles import ProfileError, read, shipped
from holdfast.node.probes.stress.run import speeds
from tests.waiting import alive

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
CGROUP = Path("/sys/fs/cgroup/cpu")
needs_quota = pytest.mark.skipif(
    os.geteuid() != 0 or not (CGROUP / "cpu.cfs_quota_us").parent.is_dir() or not os.access(CGROUP, os.W_OK),
    reason="a CPU quota needs root and a cgroup (v1) to write to",
)
SLOW = 2
PERIOD, LEAST_QUOTA = 1_000_000, 1_000  # microseconds; the kernel allows no more and no less


def test_the_one_that_falls_behind_comes_first_with_its_drift():
    steady = [(float(second), 10.0) for second in range(1, 21)]
    falling = [(second, 10.0 if second < 10 else 3.0) for second, _ in steady]
    first, *others = speeds({"a": steady, "b": falling, "c": steady}, 20.0)
    assert (first.subject, first.drift, first.against_median) == ("b", pytest.approx(-0.7), pytest.approx(0.3))
    assert {one.drift for one in others} == {0.0}


BESIDE = "[x]\nphases = [{{ do = 'beside', train = [{{ do = 'pause', seconds = 1 }}], serve = [{}] }}]"


@pytest.mark.slow
def test_inference_runs_beside_training_and_its_mistakes_are_received():
    pytest.importorskip("torch", reason="torch is not installed")
    from holdfast.node.probes.stress.worker import _beside

    meet = threading.Barrier(2, timeout=60.0)  # passed only by two that run at the same time
    turn = _beside([meet.wait], [meet.wait], "cpu")
    turn()
    turn()
    with pytest.raises(ZeroDivisionError):
        _beside([], [lambda: 1 // 0], "cpu")()
    assert "beside" in {phase["do"] for phase in shipped()["agentic"].phases}


def test_every_promised_profile_is_there_and_well_formed():
    assert {"pretrain", "rl", "agentic", "documents", "recommender", "vision"} <= set(shipped())


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("[x]\nphases = []", "a list of phases"),
        ('[x]\nphases = [{ do = "fly" }]', "expected do = one of"),
        ('[x]\nphases = [{ do = "pause" }]', "needs seconds"),
        ('[x]\nphases = [{ do = "pause", seconds = -1 }]', "positive number"),
        ('[x]\nphases = [{ do = "beside", train = [] }]', "beside needs serve and train"),
        (BESIDE.format("{ do = 'fly' }"), "expected do = one of"),
        (BESIDE.format("{ do = 'broadcast', mebibytes = 1, times = 1 }"), "of a single device"),
        (BESIDE.format("3"), "of a single device"),
        ("[x", "not valid TOML"),
    ],
)
def test_a_wrong_profile_is_refused_with_its_place(text, expected_text):
    with pytest.raises(ProfileError, match=expected_text):
        read(text, "mine.toml")


@pytest.fixture
def quota():
    """A group of its own for the process that is slowed."""
    group = CGROUP / f"holdfast-test-{os.getpid()}"
    group.mkdir()
    (group / "cpu.cfs_period_us").write_text(str(PERIOD))
    yield group
    until = time.monotonic() + 10
    while group.exists() and time.monotonic() < until:
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.1)


def slow_down(pid, quota, began, had):
    """To a quarter of what the process had so far: on a busy machine a fixed share may be no less than it has."""
    share = (cpu_seconds(pid) - had) / (time.monotonic() - began)
    (quota / "cpu.cfs_quota_us").write_text(str(max(LEAST_QUOTA, int(share / 4 * PERIOD))))
    (quota / "cgroup.procs").write_text(str(pid))  # all its threads at once: one that ends meanwhile is no error


def cpu_seconds(pid):
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def output(process, quota, seconds):
    """The load is over after half of the seconds; what is left is to end, for which a slowed process takes minutes."""
    with suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=seconds)[0]
    (quota / "cpu.cfs_quota_us").write_text("-1")
    return process.communicate(timeout=300)[0]


def squeeze(tmp_path, quota, seconds):
    """Half-way through, one worker is slowed and its twin GPU throttles."""
    pytest.importorskip("torch", reason="torch is not installed")
    twin.make_node(tmp_path / "n01")
    words = ["--profile", "rl", "--seconds", str(seconds), "--workers", "4", "--json"]
    process = subprocess.Popen(
        [HOLDFAST, "probe", "stress", *words, "--config", str(tmp_path / "n01/holdfast.toml")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    pids = [int(re.search(r"pid (\d+)", process.stderr.readline())[1]) for _ in range(4)]
    assert "runs for" in process.stderr.readline()
    had, began = cpu_seconds(pids[SLOW]), time.monotonic()
    time.sleep(seconds / 2)
    slow_down(pids[SLOW], quota, began, had)
    twin.inject(tmp_path / "n01", "throttle_thermal", gpu=SLOW)
    out = output(process, quota, seconds)
    assert not any(alive(pid) for pid in pids)
    return process.returncode, json.loads(out)


def check(code, document):
    gpu = f"node/n01/gpu/{SLOW}"
    slowest = document["devices"][0]
    assert code == 1
    assert slowest["subject"] == gpu and gpu in document["named"]
    assert slowest["drift_ratio"] < -0.5
    assert [one["subjects"] for one in document["surfaced"] if one["check"] == "gpu.throttle"] == [[gpu]]


@needs_quota
@pytest.mark.soak
def test_the_squeezed_and_throttled_gpu_is_named(tmp_path, quota):
    check(*squeeze(tmp_path, quota, 16))


@needs_quota
@pytest.mark.soak
def test_the_squeezed_and_throttled_gpu_is_named_in_a_minute(tmp_path, quota):
    check(*squeeze(tmp_path, quota, 60))


@pytest.mark.slow
def test_what_all_do_together_goes_on_without_one_that_died_and_it_is_reported(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    phases = '{ do = "decode", side = 64, times = 1 }, { do = "broadcast", mebibytes = 0.1, times = 1 }'
    phases += ', { do = "all_to_all", mebibytes = 0.1, times = 1 }, { do = "pause", seconds = 0.02 }'
    (tmp_path / "mine.toml").write_text(f"[tiny]\nphases = [{phases}]\n")
    process = subprocess.Popen(
        [HOLDFAST, "probe", "stress", "--profile", "tiny", "--file", str(tmp_path / "mine.toml"), "--seconds", "6"]
        + ["--workers", "3", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    pids = [int(re.search(r"pid (\d+)", process.stderr.readline())[1]) for _ in range(3)]
    assert "runs for" in process.stderr.readline()
    os.kill(pids[1], 9)
    out, _ = process.communicate(timeout=180)
    document = json.loads(out)
    (dead,) = document["not_reported"].items()
    assert dead[0].endswith("/worker/1") and dead[1] == "its worker was ended by signal 9"
    assert len(document["devices"]) == 2 and all(one["last_iterations_per_second"] > 0 for one in document["devices"])
    assert process.returncode == 2


@pytest.mark.slow
def test_many_hosts_are_loaded_at_once_and_one_that_cannot_is_distinguished(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    (tmp_path / "mine.toml").write_text('[tiny]\nphases = [{ do = "pause", seconds = 0.05 }]\n')
    (tmp_path / "hosts").write_text(
        "a 127.0.0.1\nb 127.0.0.1\nc 127.0.0.1 sh -c 'echo no route to host >&2; exit 255'\n"
    )
    words = ["--profile", "tiny", "--file", str(tmp_path / "mine.toml"), "--seconds", "2", "--workers", "1"]
    done = subprocess.run(
        [HOLDFAST, "probe", "stress", "--json", "--hosts", str(tmp_path / "hosts"), *words],
        capture_output=True,
        text=True,
        timeout=400,
    )
    document = json.loads(done.stdout)
    assert {one["subject"] for one in document["devices"]} == {"node/a/worker/0", "node/b/worker/0"}
    assert document["not_reported"] == {"c": "set-up failed: no route to host"}
    assert done.returncode == 2
