"""Everyone is slow, distinguished from one is slow, and by what everyone waits for."""

import pytest

from holdfast.model.health import Health
from holdfast.node.checks.job.pace import CHECK

from .job_ranks import Ranks

USUAL = {
    "job_usual_step_seconds": 1.1,
    "job_usual_own_seconds": 1.0,
    "job_usual_data_seconds": 0.02,
    "job_usual_wait_seconds": 0.08,
    "job_usual_checkpoint_seconds": 0.0,
    "job_usual_step_noise_ratio": 0.005,
}
NOW = {"job_own_seconds": 1.0, "job_data_seconds": 0.02, "job_wait_seconds": 0.08, "job_checkpoint_seconds": 0.0}


def test_a_job_at_its_usual_pace_passes():
    assert CHECK(Ranks(16).look(lambda _: 1.0, **USUAL, **NOW).window()).health is Health.PASS


def test_before_anything_is_usual_it_is_unknown():
    assert CHECK(Ranks(16).look(lambda _: 1.0).window()).health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("part", "words", "owner"),
    [
        ("data", "everyone waits for data", "storage"),
        ("checkpoint", "everyone waits for checkpoints", "storage"),
        ("wait", "everyone waits in communication", "network"),
        ("own", "everyone computes longer", "facility"),
    ],
)
def test_what_grew_says_what_everyone_waits_for(part, words, owner):
    reported = {**NOW, f"job_{part}_seconds": NOW[f"job_{part}_seconds"] + 0.5}
    verdict = CHECK(Ranks(16).look(lambda _: 1.5, **USUAL, **reported).window())
    assert verdict.health is Health.DEGRADED and words in verdict.summary() and verdict.owner == owner
    assert "45 % slow" in verdict.summary()


def test_what_most_gpus_have_in_common_is_told_where_all_compute_longer():
    ranks = Ranks(16).look(lambda _: 1.5, **USUAL, **{**NOW, "job_own_seconds": 1.5})
    ranks.tell("job/llama", job_hardware="SW power cap on 16 of 16 GPUs")
    assert "power cap on 16 of 16" in CHECK(ranks.window()).summary()


def test_one_slow_rank_is_not_everyone():
    reported = {**NOW, "job_wait_seconds": 0.58}
    verdict = CHECK(Ranks(16).look(lambda rank: 1.5 if rank == 3 else 1.0, **USUAL, **reported).window())
    assert verdict.health is Health.PASS and "one is slow" in verdict.rows[0].reason


def test_a_job_that_was_never_steady_is_not_called_slow():
    noisy = {**USUAL, "job_usual_step_noise_ratio": 0.2}
    assert CHECK(Ranks(16).look(lambda _: 1.5, **noisy, **NOW).window()).health is Health.PASS


def test_where_waiting_is_not_told_apart_neither_cooling_nor_the_fabric_is_blamed():
    reported = {**NOW, "job_own_seconds": 1.5}
    ranks = Ranks(16).look(lambda _: 1.5, **USUAL, **reported)
    for rank in range(16):
        ranks.tell(Ranks.rank(rank), job_rank_split=0.0)
    verdict = CHECK(ranks.window())
    assert verdict.health is Health.DEGRADED and verdict.owner == "training"
    assert "waiting is not distinguished from computing" in verdict.summary()
