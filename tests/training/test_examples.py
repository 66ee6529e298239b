"""The small examples: killed in the middle and started again, each ends with the bits of a run that was not killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNNER = Path(__file__).with_name("forked_script.py")
STEPS = 22

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # a process that imports a framework


def run(name: str, runs: list[list[str]]) -> list[int]:
    """The exit code of each of these runs of an example, one after the other."""
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(RUNNER), str(EXAMPLES / f"{name}.py")]
    words = "".join(f"{json.dumps(one)}\n" for one in runs)
    done = subprocess.run(command, input=words, env=environment, capture_output=True, text=True)
    assert "a DataLoader is in use" not in done.stderr and "was not kept" not in done.stderr
    codes = [int(word) for word in done.stdout.split()]
    assert len(codes) == len(runs), done.stderr[-3000:]
    assert set(codes) <= {0, -signal.SIGKILL}, done.stderr[-3000:]
    return codes


@pytest.mark.parametrize("name", ["nanogpt", "accelerate_loop", "hf_trainer", "lightning_module", "megatron_loop"])
def test_an_example_that_was_killed_ends_with_the_bits_of_one_that_was_not(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_NODE", "node0")
    straight, killed = place / f"straight-{os.getpid()}-{name}", place / f"killed-{os.getpid()}-{name}"
    one, other = (["--dir", str(folder), "--steps", str(STEPS)] for folder in (straight, killed))
    # The last goes on behind the step at which it would die: one that begins anew dies there.
    codes = run(name, [one, [*other, "--die-at", "17"], [*other, "--die-at", "3"]])
    assert codes == [0, -signal.SIGKILL, 0]
    results = [json.loads((folder / "result.json").read_text()) for folder in (straight, killed)]
    assert results[0] == results[1] and results[0]["step"] == STEPS
