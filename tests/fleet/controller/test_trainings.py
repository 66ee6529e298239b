"""From a training script to `holdfast job show`: real ranks, the real agent, a real controller."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.waiting import until

from .running import Controller, running

TIMEOUT_SECONDS = 600.0
RANKS = 4
SLOW = 2
HERE = Path(__file__).parent
BURN = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"


@contextmanager
def started(*command: str, log: Path, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as file, subprocess.Popen(command, stdout=file, stderr=file, **more) as process:
        try:
            yield process
        finally:
            process.kill()


def job(controller: Controller, *words: str) -> Any:
    holdfast = str(Path(sys.executable).with_name("holdfast"))
    command = [holdfast, "job", *words, "--url", controller.url, "--token", controller.admin]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)
    return json.loads(done.stdout) if done.returncode == 0 else done


def agent(controller: Controller, folder: Path) -> list[str]:
    (folder / "join").write_text(controller.token() + "\n")
    (folder / "agent.toml").write_text(
        f'node = "n1"\n[agent]\nstate_dir = "{folder}/state"\nverdict_file = "{folder}/verdict.json"\nlisten = ""\n'
        f'[controller]\nurl = "{controller.url}"\njoin_token_file = "{folder}/join"\nobeys = []\n'
        "[sources.job_socket]\nevery_seconds = 1\n"
    )
    return [sys.executable, "-m", "holdfast.node.agent", "--config", str(folder / "agent.toml")]


def rank_environment(rank: int, port: int, folder: Path) -> dict[str, str]:
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": RANKS, "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    places = {"MASTER_ADDR": "127.0.0.1", "HOLDFAST_AGENT_SOCKET": f"{folder}/jobs.sock"}
    return {**os.environ, **{name: str(value) for name, value in numbers.items()}, **places}


@pytest.mark.timeout(900)  # more than it waits for what it wants to see
@pytest.mark.slow
def test_a_rank_that_loses_its_processor_is_named_and_not_those_that_wait_for_it(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="a training needs torch: make torch")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))  # a socket's path is short
        controller = stack.enter_context(running(tmp_path / "c"))
        stack.enter_context(started(*agent(controller, folder), log=tmp_path / "agent.log"))
        patiently((folder / "jobs.sock").exists, "the agent listens")
        port = free_port()
        ranks = [
            stack.enter_context(
                started(
                    *(sys.executable, str(HERE / "training_rank.py"), "llama", str(folder / "stop"), str(SLOW)),
                    log=tmp_path / f"rank{rank}.log",
                    env=rank_environment(rank, port, folder),
                )
            )
            for rank in range(RANKS)
        ]
        patiently(lambda: _training(controller).get("ranks_reporting") == RANKS, "every rank trains")
        # It takes the processor from the slow rank, which is bound to the same one, and from no other.
        with started("nice", "-n", "10", sys.executable, "-c", BURN, log=tmp_path / "burner.log"):
            found = patiently(lambda: _only_the_slow_one(controller), "the slow rank, and no other, is named")
        (folder / "stop").touch()
        assert [rank.wait(TIMEOUT_SECONDS) for rank in ranks] == [0] * RANKS
        patiently(lambda: _ended(controller), "all ranks closed")
        ended = job(controller, "show", "llama", "--json")
        listed = job(controller, "list", "--json")["jobs"]
    assert f"rank {SLOW} = node n1 GPU {SLOW}" in found["reason"] and "% slow; " in found["reason"]
    [slow] = [one for one in found["slow"] if one["check"] == "job.slow_ranks"]
    assert slow["ratio"] > 0.1 and "% longer than its peers" in slow["reason"]
    assert ended["step"] > 0 and ended["tokens_per_second"] is None and ended["restarts"] == []
    assert sum(ended["gpu_hours"].values()) == pytest.approx(ended["elapsed_seconds"] * RANKS / 3600)
    assert ended["exposure"]["steps"] <= 10 and ended["exposure"]["gpu_hours"] >= 0
    assert [(one["job"], one["ranks_reporting"]) for one in listed] == [("llama", RANKS)]
    assert job(controller, "show", "nobody", "--json").returncode != 0


def patiently(holds: Callable[[], Any], what: str) -> Any:
    """Four ranks that load torch on a busy machine take their time."""
    return until(holds, what, TIMEOUT_SECONDS)


def _training(controller: Controller) -> dict[str, Any]:
    reply = controller.ask("GET", "/v1/trainings/llama")
    found: dict[str, Any] = reply.json() if reply.status_code == 200 else {}
    return found


def _only_the_slow_one(controller: Controller) -> Any:
    found = _training(controller)
    named = [one["subject"] for one in found.get("slow", ()) if one["check"] == "job.slow_ranks"]
    return found if named == [f"job/llama/rank/{SLOW}"] and found["health"] == "degraded" else None


def _ended(controller: Controller) -> Any:
    return controller.get("/v1/trainings/llama")["state"] == "closed"
