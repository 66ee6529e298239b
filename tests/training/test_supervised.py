"""The example under `holdfast run` loses ranks, nodes and partners, and ends with the bits of a calm run."""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from crew import Run, end_keeper
from supervised import WORLD, Supervised

from holdfast.training.checkpoint.storage import storage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]
STEPS = 40


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("calm")
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


@contextmanager
def training(folder: Path, *options: str) -> Iterator[Supervised]:
    run = Supervised(folder, STEPS, options)
    run.start()
    try:
        yield run
    finally:
        run.end()


def kill_at_random(folder: Path, times: int, chance: random.Random) -> dict[str, Any]:
    with training(folder) as run:
        for at in range(1, times + 1):
            run.until_step(chance.randrange(1, STEPS - 10) if at == 1 else run.loads()[-1][0] + 1, starts=at)
            reached = run.kill(chance.randrange(WORLD))
            run.until(lambda: len(run.loads()) > at, "a new start")  # noqa: B023
            step, source = run.loads()[at]
            assert source == "own memory"
            assert step >= reached - 1, "more than one interval was lost"
        return run.finish()


def test_two_killed_ranks_cost_no_bit(place: Path, undisturbed: dict[str, Any]) -> None:
    assert kill_at_random(place, 2, random.Random(11)) == undisturbed


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_a_killed_rank_is_replaced_in_process_and_costs_no_bit(place: Path, undisturbed: dict[str, Any]) -> None:
    run = Supervised(place, STEPS, in_process=True)
    run.start()
    try:
        run.until_step(10, starts=1)
        before = run.ranks()
        run.kill(1)
        run.until(lambda: len(run.loads()) == 2, "a new generation")
        after = run.ranks()
        assert {rank: after[rank] for rank in (0, 2, 3)} == {rank: before[rank] for rank in (0, 2, 3)}
        assert run.finish() == undisturbed
    finally:
        run.end()


@pytest.mark.soak
@pytest.mark.timeout(14_400)
def test_twenty_killed_ranks_cost_no_bit(place: Path, tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    """Five in each of four runs: a supervisor that sees ten attempts within half an hour leaves it to the scheduler."""
    chance = random.Random()
    for at in range(4):
        folder = tmp_path / f"run{at}"
        folder.mkdir()
        assert kill_at_random(folder, 5, chance) == undisturbed


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_a_lost_node_is_taken_from_its_partner(place: Path, undisturbed: dict[str, Any]) -> None:
    with training(place) as run:
        run.until_step(12, starts=1)
        run.kill(2)  # a node: its rank and its keeper, in this order, since a rank starts its keeper again
        end_keeper(place, place.name, 2)
        run.until(lambda: all(len(run.loads(rank)) == 2 for rank in range(WORLD)), "a new start")
        assert run.loads(2)[1][1].startswith("partner ")
        assert run.loads(0)[1][1] == "own memory"
        assert run.finish() == undisturbed


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_without_both_partners_storage_is_left(place: Path, undisturbed: dict[str, Any]) -> None:
    """One of them is the node whose keeper counts."""
    with training(place, "--storage-every", "5") as run:
        run.until_step(15, starts=1)
        run.until(lambda: bool(storage.whole_steps(place)), "a step in storage")
        newest = max(step for step, _, _ in storage.whole_steps(place))
        trained = run.ranks()
        for rank in (0, 2):  # these keep each other's copies
            with suppress(ProcessLookupError):  # of the death of one the other may have died
                os.kill(trained[rank], signal.SIGKILL)
        for rank in (0, 2):
            end_keeper(place, place.name, rank)
        run.until(lambda: all(len(run.loads(rank)) == 2 for rank in range(WORLD)), "a new start")
        (step,) = {run.loads(rank)[1][0] for rank in range(WORLD)}
        assert step >= newest and step % 5 == 0
        assert {run.loads(rank)[1][1] for rank in (0, 2)} == {"storage"}
        assert run.finish() == undisturbed


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_a_run_that_is_reported_to_end_brings_its_memory_to_storage_first(place: Path) -> None:
    with training(place) as run:
        run.until_step(12, starts=1)
        run.end()  # SIGTERM, as a scheduler that takes the node back
        steps = [step for step, _, _ in storage.whole_steps(place)]
        assert steps
        assert max(steps) >= run.last_step() - 2
