"""A training that loses ranks, keepers and nodes ends with the same bits as one that lost nothing."""

import random
import signal
from pathlib import Path
from typing import Any

import pytest
from crew import Run, end_keeper

pytestmark = pytest.mark.slow
STEPS = 24


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        runtime = folder / "r"
        runtime.mkdir(mode=0o700)
        patch.setenv("HOLDFAST_RUNTIME_DIR", str(runtime))
        run = Run(folder, STEPS)
        run.start()
        result = run.finish()
        for rank in range(run.world):
            end_keeper(folder, folder.name, rank)
    return result


def kill_ranks_at_random(place: Path, times: int, seed: int, steps: int = STEPS) -> Run:
    chance = random.Random(seed)
    run = Run(place, steps)
    run.start()
    for at in range(1, times + 1):
        run.until_step(1 + (steps - 4) * at // (times + 1))
        run.kill(chance.randrange(run.world))
        reached = [row["step"] for row in run.journal() if "step" in row][-1]
        run.start()
        run.until_step(reached)
        step, source = run.loads()[-1]
        assert source == "own memory"
        assert step >= reached - 1, "more than one interval was lost"
    return run


@pytest.mark.soak  # the same under a supervisor is in test_supervised.py
def test_a_killed_rank_costs_one_interval_and_no_bit(place: Path, undisturbed: dict[str, Any]) -> None:
    run = kill_ranks_at_random(place, times=3, seed=1)
    assert run.finish() == undisturbed


@pytest.mark.soak
def test_a_lost_node_is_taken_from_its_partner(place: Path, undisturbed: dict[str, Any]) -> None:
    run = Run(place, STEPS)
    run.start()
    run.until_step(8)
    run.kill(2)
    end_keeper(place, place.name, 2)
    run.start()
    run.until_step(8)
    assert run.loads(2)[-1][1].startswith("partner ")
    assert run.loads(0)[-1][1] == "own memory"
    assert run.finish() == undisturbed


@pytest.mark.soak
def test_after_a_flush_and_the_loss_of_all_keepers_storage_is_left(place: Path, undisturbed: dict[str, Any]) -> None:
    run = Run(place, STEPS)
    run.start()
    run.until_step(8)
    run.kill(0)
    for rank in range(run.world):
        end_keeper(place, place.name, rank, signal.SIGTERM)  # what a drain does: each writes what it holds, then ends
    run.start()
    run.until_step(8)
    step, source = run.loads(1)[-1]
    assert source == "storage"
    assert step >= 6
    assert run.finish() == undisturbed


@pytest.mark.soak
def test_twenty_killed_ranks_cost_no_bit(place: Path, tmp_path: Path) -> None:
    steady = Run(place, 60)
    steady.start()
    expected = steady.finish()
    (tmp_path / "again").mkdir()
    run = kill_ranks_at_random(tmp_path / "again", times=20, seed=2, steps=60)
    assert run.finish() == expected
