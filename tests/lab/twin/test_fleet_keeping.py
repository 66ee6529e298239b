"""Simulated keepers tell one story: every rank of a committed step lies in its own node and in its partner's."""

import pytest

from holdfast.fleet.jobs.checkpoints import where
from holdfast.fleet.jobs.keepers import KeeperState
from holdfast.lab.twin.fleet.keeping import STORAGE_EVERY, kept
from holdfast.lab.twin.fleet.kinds import scenario
from holdfast.lab.twin.fleet.node import GPUS
from holdfast.lab.twin.fleet.simulation import Simulation
from holdfast.lab.twin.fleet.training import STEPS_BETWEEN, TrainingJob


def job_of(size: int, saved: int) -> TrainingJob:
    nodes = tuple(Simulation(scenario("demo"), 8, seed=1).nodes[:size])
    return TrainingJob(number=1, size=size, steps=10_000, saved=saved, nodes=nodes)


@pytest.mark.parametrize(("size", "twice"), [(1, 0), (2, 16), (3, 16), (4, 32)])
def test_a_committed_step_is_whole_in_memory_and_with_partners(size: int, twice: int) -> None:
    job = job_of(size, STORAGE_EVERY + STEPS_BETWEEN)
    result = [KeeperState(node.name, one, 100.0) for node in job.nodes for one in kept(node, job)]
    seen = where(result, 100.0)
    newest, older = seen.steps
    assert (seen.world, seen.keepers, seen.troubles) == (size * GPUS, size, ())
    assert (newest.step, newest.own_memory, newest.partner) == (job.saved - 1, size * GPUS, twice)
    assert (older.step, older.storage, seen.stored_step) == (STORAGE_EVERY - 1, size * GPUS, STORAGE_EVERY - 1)


def test_nothing_is_held_before_the_first_save_nor_by_others() -> None:
    job = job_of(2, 0)
    stranger = Simulation(scenario("demo"), 8, seed=2).nodes[7]
    assert kept(job.nodes[0], job) == kept(job.nodes[0], None) == ()
    assert kept(stranger, job_of(2, STORAGE_EVERY)) == ()
