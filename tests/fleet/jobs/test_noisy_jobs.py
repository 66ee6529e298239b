"""Healthy jobs with uneven steps are not called slow, and slow ones are found all the same."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counts import draws
from tests.fleet.jobs.noisy_job import NoisyJob, Unevenness

UNEVEN = st.builds(
    Unevenness,
    compute_seconds=st.sampled_from([0.2, 0.5, 1.0]),
    jitter=st.sampled_from([0.01, 0.05, 0.15]),
    drift=st.sampled_from([0.0, 0.02]),
    load_every=st.sampled_from([0, 7, 50, 200]),
    load_seconds=st.sampled_from([0.5, 3.0, 8.0]),
    save_every=st.sampled_from([0, 20, 100]),
    save_seconds=st.sampled_from([1.0, 5.0, 20.0]),
    evaluate_every=st.sampled_from([0, 150, 500]),
    evaluate_seconds=st.sampled_from([15.0, 60.0]),
    warm_up_steps=st.sampled_from([0, 5]),
    lengths=st.sampled_from([(1.0,), (0.5, 1.0, 1.5), (0.8, 1.0, 1.1, 1.2)]),
    own_lengths=st.booleans(),
)
WORLDS = st.sampled_from([4, 8, 16])
SEEDS = st.integers(0, 10**6)


@settings(max_examples=draws(6, 40), deadline=None, derandomize=True)
@given(how=UNEVEN, world=WORLDS, seed=SEEDS)
def test_a_healthy_job_is_not_called_slow(how: Unevenness, world: int, seed: int) -> None:
    assert NoisyJob(how, world, seed).run(900.0).reported == []


@settings(max_examples=draws(6, 40), deadline=None, derandomize=True)
@given(how=UNEVEN, world=WORLDS, seed=SEEDS)
def test_a_rank_that_computes_longer_by_a_third_of_its_time_is_named(how: Unevenness, world: int, seed: int) -> None:
    """Among ranks that get batches of one length; where lengths differ threefold, a few steps in 10 s do not tell."""
    job = NoisyJob(replace(how, own_lengths=False), world, seed).run(300.0).run(600.0, slow=1, ratio=1.3)
    assert "job/llama/rank/1" in {subject for _, subject in job.reported}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "how",
    [
        Unevenness(),
        Unevenness(warm_up_steps=5, evaluate_every=500, evaluate_seconds=60.0),
        Unevenness(load_every=50, load_seconds=1.0),
        Unevenness(save_every=100, save_seconds=5.0),
    ],
)
def test_a_job_all_of_whose_ranks_compute_longer_is_named(how: Unevenness, seed: int) -> None:
    job = NoisyJob(how, 8, seed).run(600.0)
    assert job.reported == []
    job.run(600.0, all_ratio=1.2)
    assert {subject for _, subject in job.reported} == {"job/llama"}
