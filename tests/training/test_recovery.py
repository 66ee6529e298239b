"""A training that loses ranks, keepers and nodes ends with the same bits as one that lost nothing."""

import random
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


def kill_ranks_at_random(place: Path, times: int, seed: int) -> Run:
    chance = random.Random(seed)
    run = Run(place, STEPS)
    run.start()
    for at in range(1, times + 1):
        run.until_step(1 + (STEPS - 4) * at // (times + 1))
        run.kill(chance.randrange(run.world))
        reached = [row["step"] for row in run.journal() if "step" in row][-1]
        run.start()
        run.until_step(reached)
        step, source = run.loads()[-1]
        assert source == "own memory"
        assert step >= reached - 1, "more than one interval was lost"
    return run


def test_a_killed_rank_costs_one_interval_and_no_bit(place: Path, undisturbed: dict[str, Any]) -> None:
    run = kill_ranks_at_random(place, times=3, seed=1)
    assert run.finish() == undisturbed
