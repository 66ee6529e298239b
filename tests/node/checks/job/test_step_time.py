"""Everyone is slow, distinguished from one is slow, and by what everyone waits for."""

import pytest

from holdfast.model.health import Health
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.job.step_time import CHECK

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
        ("data", "all ranks wait for data", "storage"),
        ("checkpoint", "all ranks wait for checkpoints", "storage"),
        ("wait", "all ranks wait in communication", "network"),
        ("own", "all ranks compute longer", "facility"),
    ],
)
def test_what_grew_says_what_everyone_waits_for(part, words, owner):
    reported = {**NOW, f"job_{part}_seconds": NOW[f"job_{part}_seconds"] + 0.5}
    verdict = CHECK(Ranks(16).look(lambda _: 1.5, **USUAL, **reported).window())
    assert verdict.health is Health.DEGRADED and words in verdict.summary() and verdict.owner == owner
    assert "45 % slow" in verdict.summary()


def test_what_most_gpus_have_in_common_is_reported_where_all_compute_longer():
    ranks = Ranks(16).look(lambda _: 1.5, **USUAL, **{**NOW, "job_own_seconds": 1.5})
    ranks.tell("job/llama", job_hardware="SW power cap on 16 of 16 GPUs")
    assert "power cap on 16 of 16" in CHECK(ranks.window()).summary()


def test_one_slow_rank_is_not_everyone():
    reported = {**NOW, "job_wait_seconds": 0.58}
    verdict = CHECK(Ranks(16).look(lambda rank: 1.5 if rank == 3 else 1.0, **USUAL, **reported).window())
    assert verdict.health is Health.PASS and "one rank is slow" in verdict.rows[0].reason


def test_a_job_that_was_never_steady_is_not_called_slow():
    noisy = {**USUAL, "job_usual_step_noise_ratio": 0.2}
    assert CHECK(Ranks(16).look(lambda _: 1.5, **noisy, **NOW).window()).health is Health.PASS


def test_where_waiting_is_not_distinguished_neither_cooling_nor_the_fabric_is_blamed():
    reported = {**NOW, "job_own_seconds": 1.5}
    ranks = Ranks(16).look(lambda _: 1.5, **USUAL, **reported)
    for rank in range(16):
        ranks.tell(Ranks.rank(rank), job_rank_split=0.0)
    verdict = CHECK(ranks.window())
    assert verdict.health is Health.DEGRADED and verdict.owner == "training"
    assert "waiting is not distinguished from computing" in verdict.summary()


def asked(slow: float, since: float | None = None, noise: float = 0.0, looks: int = 3, ranks: int = 16):
    """A job whose every step takes so much longer than the usual second."""
    usual = {**USUAL, "job_usual_step_seconds": 1.0, "job_usual_step_noise_ratio": noise}
    made = Ranks(ranks).look(
        lambda _: 0.9 + slow, looks, **usual, **NOW, **({} if since is None else {"job_slow_since_seconds": since})
    )
    return CHECK(made.window())


@pytest.mark.parametrize(
    ("slow", "since", "noise", "health"),
    [
        (0.09, None, 0.0, Health.PASS),
        (0.11, None, 0.0, Health.DEGRADED),
        (0.06, 900.0, 0.0, Health.DEGRADED),  # slow before: well only below half of that
        (0.04, 900.0, 0.0, Health.PASS),
        (0.19, None, 0.05, Health.PASS),  # four times what its steps differ by
        (0.21, None, 0.05, Health.DEGRADED),
        (0.11, 900.0, 0.05, Health.DEGRADED),
        (0.09, 900.0, 0.05, Health.PASS),
    ],
)
def test_how_slow_is_slow_and_when_it_is_over(slow, since, noise, health):
    assert asked(slow, since, noise).health is health


def test_two_looks_are_too_few_unless_the_pace_held_for_twenty_seconds():
    assert asked(0.5, looks=2).health is Health.UNKNOWN
    assert asked(0.5, looks=3).health is Health.DEGRADED
    held = Ranks(0)
    for at in (1000.0, 1019.0, 1020.0):
        signals = [Signal("job/llama", "job_step_seconds", 1.5), Signal("job/llama", "job_usual_step_seconds", 1.0)]
        held.history.add(Reading(source="progress", at=at, signals=signals))
        held.now = at
        assert CHECK(held.window()).health is (Health.DEGRADED if at == 1020.0 else Health.UNKNOWN)


@pytest.mark.parametrize(
    ("steps", "since", "health"),
    [
        ((1.5, 1.05, 1.5), None, Health.PASS),  # on a noisy machine: it does not last
        ((1.05, 1.5, 1.6), None, Health.PASS),
        ((1.5, 1.2, 1.6), None, Health.DEGRADED),
        ((1.5, 1.04, 1.5), 900.0, Health.DEGRADED),  # said already: one quick reading does not end it
    ],
)
def test_a_slowdown_is_reported_once_it_lasts(steps, since, health):
    ranks = Ranks(0)
    for step in steps:
        signals = [Signal("job/llama", "job_step_seconds", step), Signal("job/llama", "job_usual_step_seconds", 1.0)]
        signals += [] if since is None else [Signal("job/llama", "job_slow_since_seconds", since)]
        ranks.now += 10.0
        ranks.history.add(Reading(source="progress", at=ranks.now, signals=signals))
    assert CHECK(ranks.window()).health is health


@pytest.mark.parametrize(("at", "health"), [(1044.0, Health.PASS), (1045.0, Health.DEGRADED)])
def test_after_a_usual_step_two_slow_ones_are_enough_if_the_second_holds_for_twenty_seconds(at, health):
    ranks = Ranks(0)
    for ranks.now, step in ((1000.0, 1.05), (1010.0, 1.5), (1025.0, 1.6), (at, 1.6)):
        signals = [Signal("job/llama", "job_step_seconds", step), Signal("job/llama", "job_usual_step_seconds", 1.0)]
        ranks.history.add(Reading(source="progress", at=ranks.now, signals=signals))
    assert CHECK(ranks.window()).health is health


@pytest.mark.parametrize(("at", "health"), [(1044.0, Health.PASS), (1045.0, Health.DEGRADED)])
def test_a_usual_step_in_the_last_25_seconds_ends_a_slowdown_that_is_not_reported_yet(at, health):
    ranks = Ranks(0)
    for ranks.now, step in ((1000.0, 1.5), (1010.0, 1.05), (1020.0, 1.5), (at, 1.5)):
        signals = [Signal("job/llama", "job_step_seconds", step), Signal("job/llama", "job_usual_step_seconds", 1.0)]
        ranks.history.add(Reading(source="progress", at=ranks.now, signals=signals))
    assert CHECK(ranks.window()).health is health


def test_the_row_reports_by_how_much():
    verdict = asked(0.5, since=50_520.0)
    (row,) = (row for row in verdict.rows if row.health is Health.DEGRADED)
    assert (round(row.value, 3), row.limit) == (0.5, 0.05)
    assert "job llama is 50 % slow: " in row.reason


@pytest.mark.parametrize(("alone", "health"), [(0.26, Health.PASS), (0.24, Health.DEGRADED)])
def test_one_rank_explains_it_if_it_accounts_for_half(alone, health):
    usual = {**USUAL, "job_usual_step_seconds": 1.0}
    ranks = Ranks(16)
    for look in range(3):
        ranks.look(lambda rank: 1.0 + alone if rank == 3 else 1.0, 1, **usual, **NOW)
        result = [Signal("job/llama", "job_step_seconds", 1.5 + 1e-7 * look)]
        ranks.history.add(Reading(source="progress", at=ranks.now, signals=result))
    assert CHECK(ranks.window()).health is health


@pytest.mark.parametrize(("more", "health"), [(0.0, Health.PASS), (1e-9, Health.DEGRADED)])
def test_one_rank_explains_it_if_it_accounts_for_just_what_is_asked_for(more, health):
    usual = {**USUAL, "job_usual_step_seconds": 1.0}
    ranks = Ranks(16)
    for step in (1.4999, 1.5, 1.5001):
        ranks.look(lambda rank: 1.25 if rank == 3 else 1.0, 1, **usual, **NOW)
        ranks.history.add(
            Reading(source="progress", at=ranks.now, signals=[Signal("job/llama", "job_step_seconds", step)])
        )
    alone = 1.25 * (1 + 2e-7) - 1.0 * (1 + 2e-7)
    assert CHECK(ranks.window(), {"explains": 2 * alone + more}).health is health


def test_a_part_that_is_not_reported_now_did_not_grow():
    reported = {name: value for name, value in NOW.items() if name != "job_wait_seconds"}
    verdict = CHECK(Ranks(16).look(lambda _: 1.5, **USUAL, **{**reported, "job_data_seconds": 0.5}).window())
    assert verdict.owner == "storage"


def test_hardware_is_reported_only_where_everyone_computes_longer():
    ranks = Ranks(16).look(lambda _: 1.5, **USUAL, **{**NOW, "job_data_seconds": 0.9})
    ranks.tell("job/llama", job_hardware="SW power cap on 16 of 16 GPUs")
    assert "power cap" not in CHECK(ranks.window()).summary()


def test_one_rank_that_does_not_report_waiting_apart_makes_everyones_computing_doubtful():
    ranks = Ranks(16).look(lambda _: 1.5, **USUAL, **{**NOW, "job_own_seconds": 1.5})
    assert CHECK(ranks.window()).owner == "facility"
    ranks.tell(Ranks.rank(3), job_rank_split=0.0)
    assert CHECK(ranks.window()).owner == "training"
    alone = Ranks(1).look(lambda _: 1.5, **USUAL, **{**NOW, "job_own_seconds": 1.5})
    alone.tell(Ranks.rank(0), job_rank_split=0.0)
    assert CHECK(alone.window()).owner == "facility"  # it waits for nobody


def test_a_part_that_was_never_usual_is_not_what_grew():
    usual = {name: value for name, value in USUAL.items() if name != "job_usual_wait_seconds"}
    result = {**NOW, "job_wait_seconds": 9.0, "job_data_seconds": 0.1}
    assert CHECK(Ranks(16).look(lambda _: 1.5, **usual, **result).window()).owner == "storage"


def test_what_is_no_computing_is_blamed_though_waiting_is_not_distinguished_from_it():
    ranks = Ranks(16).look(lambda _: 1.5, **USUAL, **{**NOW, "job_data_seconds": 0.9})
    ranks.tell(Ranks.rank(3), job_rank_split=0.0)
    assert CHECK(ranks.window()).owner == "storage"
