"""A controller ends by a signal from the moment at which it says that it listens."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra [controller]")

pytestmark = pytest.mark.slow
SIGNALLED_WHEN_READY = """
import signal, sys
from holdfast.fleet.controller.server import serve
from holdfast.fleet.controller.settings import Controlling, Listening
base = Listening(store=f"sqlite:///{sys.argv[1]}/holdfast.db", listen="127.0.0.1:0")
serve(Controlling(base=base), lambda address: signal.raise_signal(signal.Signals[sys.argv[2]]))
print("ended")
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_at_the_moment_it_listens_ends_it_properly(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", SIGNALLED_WHEN_READY, str(tmp_path), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
