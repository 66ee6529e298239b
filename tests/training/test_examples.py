"""The small examples: killed in the middle and started again, each ends with the bits of a run that was not killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = 22

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # three processes that import a framework each


def run(name: str, folder: Path, *more: str) -> int:
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--dir", str(folder), "--steps", str(STEPS), *more]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "a DataLoader is in use" not in done.stderr and "was not kept" not in done.stderr
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-3000:]
    return done.returncode


@pytest.mark.parametrize("name", ["nanogpt", "accelerate_loop", "hf_trainer", "lightning_module", "megatron_loop"])
def test_an_example_that_was_killed_ends_with_the_bits_of_one_that_was_not(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_NODE", "node0")
    straight, killed = place / f"straight-{os.getpid()}-{name}", place / f"killed-{os.getpid()}-{name}"
    assert run(name, straight) == 0
    assert run(name, killed, "--die-at", "17") == -signal.SIGKILL
    assert run(name, killed, "--die-at", "3") == 0  # it went on behind that step: one that begins anew dies there
    results = [json.loads((folder / "result.json").read_text()) for folder in (straight, killed)]
    assert results[0] == results[1] and results[0]["step"] == STEPS
