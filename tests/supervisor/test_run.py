"""The supervisor around small programs that say steps and end as they are told."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.supervisor.stage import supervise

pytestmark = pytest.mark.slow
STEPS = "for i in range(int(a) * 10, int(a) * 10 + 5): print(f'step {i} loss 1.0', flush=True)"
ATTEMPT = "import os, sys, time, signal; a = os.environ['HOLDFAST_ATTEMPT']"


def program(*lines: str) -> list[str]:
    return [sys.executable, "-c", "\n".join([ATTEMPT, STEPS, *lines])]


def test_a_program_that_ends_well(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", program())
    assert job.end() == 0
    assert job.output.splitlines()[0] == "step 10 loss 1.0"
    assert job.run["ledger"]["unknown"] == 0.0
    assert sum(job.run["ledger"].values()) == pytest.approx(job.run["wall_seconds"])


def test_streams_stay_apart_and_the_log_has_both(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", program("print('to stderr', file=sys.stderr)", "print('no newline', end='')"))
    assert job.end() == 0
    assert "to stderr" in job.log and "to stderr" not in job.output
    assert job.output.endswith("no newline")
    log = (tmp_path / "n1" / "run" / "attempt_1.log").read_text()
    assert "to stderr\n" in log and "no newline\n" in log


def test_a_program_that_is_killed_is_started_again(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", program("if a == '1': os.kill(os.getpid(), signal.SIGKILL)"))
    assert job.end() == 0, job.log
    first = job.run["attempts"][0]
    assert (first["cause"], first["exit_code"], first["last_step"]) == ("host.killed", -9, 14)


def test_the_same_exception_at_the_same_step_twice_stops(tmp_path: Path) -> None:
    raises = "print('step 3 loss 1.0', flush=True); raise RuntimeError('odd')"
    job = supervise(tmp_path / "n1", [sys.executable, "-c", raises])
    assert job.end() == 93
    assert len(job.run["attempts"]) == 2
    assert "for the second time at step 3" in job.log


def test_a_program_that_cannot_work_stops_at_once(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", [sys.executable, "-c", "import no_such_module"])
    assert job.end() == 93
    assert len(job.run["attempts"]) == 1
    assert "ModuleNotFoundError" in job.run["attempts"][0]["evidence"][0]


def test_an_end_without_a_word_is_tried_three_times(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", [sys.executable, "-c", "raise SystemExit(5)"])
    assert job.end() == 93
    assert len(job.run["attempts"]) == 3


def test_reported_to_end_it_ends_its_program_and_does_not_start_it_again(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", program("time.sleep(60)"))
    job.until(lambda: "step 14" in job.output)
    job.process.send_signal(signal.SIGTERM)
    assert job.end() == 128 + signal.SIGTERM
    assert job.run["finished"]


def test_a_supervisor_that_was_killed_goes_on(tmp_path: Path) -> None:
    command = program("if a == '1': os.kill(os.getpid(), signal.SIGKILL)", "time.sleep(60)")
    job = supervise(tmp_path / "n1", command)
    job.until(lambda: "step 24" in job.output)
    job.process.kill()
    job.process.wait()
    again = supervise(tmp_path / "n1", command)
    again.until(lambda: "step 24" in again.output)
    assert "continues the run that began" in again.log
    again.process.send_signal(signal.SIGTERM)
    again.end()
    assert [one["number"] for one in again.run["attempts"]] == [1, 2]
    assert again.run["ledger"]["unknown"] > 0.0


def test_nothing_of_the_program_outlives_it(tmp_path: Path) -> None:
    orphan = "import subprocess; print(subprocess.Popen(['sleep', '300'], start_new_session=True).pid, flush=True)"
    job = supervise(tmp_path / "n1", [sys.executable, "-c", orphan])
    assert job.end() == 0
    pid = int(job.output.split()[-1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_command_that_is_not_there_is_refused(tmp_path: Path) -> None:
    job = supervise(tmp_path / "n1", ["no-such-command"])
    assert job.end() == 64
    assert "no-such-command: no such command" in job.log


def test_a_lost_gpu_that_the_job_confirms_ends_the_attempt_at_once(tmp_path: Path) -> None:
    """The agent says it, the transport says it: nobody waits for the silence to grow long or for a watchdog."""
    verdicts = tmp_path / "verdict.json"
    lost = '{"verdicts": [{"check": "fabric.port_down", "health": "fail", "reason": "down 12 s"}]}'
    error = (
        "n1:77:99 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.9<1> with status=12 opcode=0 len=0"
    )
    hang = f"if a == '1': open({str(verdicts)!r}, 'w').write({lost!r}); print({error!r}, flush=True); time.sleep(600)"
    job = supervise(tmp_path / "n1", program(hang), "--verdict-file", str(verdicts), "--hang-floor-seconds", "500")
    assert job.end() == 0, job.log
    first = job.run["attempts"][0]
    assert "the job itself says that a connection is lost" in first["ended_by"]
    assert first["cause"].startswith("fabric."), first
    assert "the agent of n1 says fabric.port_down" in first["ended_by"]
    assert first["ended"] - first["began"] < 300.0


def test_a_restart_after_a_probe_probes_and_leaves_it_when_the_probe_fails(tmp_path: Path) -> None:
    probe = tmp_path / "probe.sh"
    probe.write_text("#!/bin/sh\necho no path to the others\nexit 5\n")
    probe.chmod(0o755)
    quiet = [sys.executable, "-c", "print('step 3 loss 1.0', flush=True); raise SystemExit(7)"]
    job = supervise(tmp_path / "n1", quiet, "--probe", str(probe))
    assert job.end() != 0
    first, second, *_ = job.run["attempts"]
    assert first["cause"] == "unknown"
    assert second["cause"] == "host.other"
    assert "n1 failed its probe: probe: exit code 5: no path to the others" in job.log
