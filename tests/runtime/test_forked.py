"""What can be started as a fork: only what its loader and interpreter would not have seen differently."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import can_fork
from tests.waiting import until


@pytest.mark.parametrize(
    ("changes", "forks"),
    [
        ({}, True),
        ({"PATH": "/elsewhere", "SLURM_CONF": "x"}, True),
        ({"LD_PRELOAD": "/clock.so"}, False),
        ({"PYTHONPATH": "/elsewhere"}, False),
    ],
)
def test_a_loader_that_would_do_something_else_needs_a_process_of_its_own(changes: dict[str, str], forks: bool) -> None:
    assert can_fork({**os.environ, **changes}) is forks


TEST_PROCESS = """
import os, sys, time, types
from pathlib import Path
from tests import forked
forked._PRELOADED = ()
sys.modules["imported_by_a_test"] = made = types.ModuleType("imported_by_a_test")
exec("import os, time\\ndef main():\\n    print(os.getpid(), flush=True)\\n    time.sleep(300)", vars(made))
forked.serve_forks()
one = forked.Forked(made.main, ["x"], Path(sys.argv[1]), os.environ)
print(one.stdout.readline().strip(), flush=True)
time.sleep(300)
"""


def test_a_fork_has_what_the_tests_imported_and_ends_with_their_process(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", TEST_PROCESS, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())  # a server that was started anew could not import `main`
        os.kill(pid, 0)
        process.send_signal(signal.SIGKILL)
    until(lambda: _ended(pid), "it ended")


def _ended(pid: int) -> bool:
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()  # empty: only to be reaped
    except OSError:
        return True
