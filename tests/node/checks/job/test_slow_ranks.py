"""Who is slow, and not who waits for them."""

import pytest

from holdfast.model.health import Health
from holdfast.node.checks.job.slow_ranks import CHECK

from .job_ranks import Ranks


def jitter(rank: int) -> float:
    return 1.0 + 0.004 * ((rank * 7919) % 11 - 5) / 5


def guilty(verdict):
    return {row.subject for row in verdict.rows if row.health is Health.DEGRADED}


def test_ranks_that_compute_alike_pass():
    verdict = CHECK(Ranks(64).look(jitter).window())
    assert verdict.health is Health.PASS and len(verdict.rows) == 64


def test_one_slow_gpu_is_named_with_its_place_its_price_and_why():
    ranks = Ranks(96).look(lambda rank: jitter(rank) * (1.11 if rank == 37 else 1.0), 4)
    ranks.tell(Ranks.rank(37), job_rank_hardware="thermal throttle", job_slow_since_seconds=50_520.0)
    verdict = CHECK(ranks.window())
    assert guilty(verdict) == {"job/llama/rank/37"}
    said = verdict.summary()
    assert "job llama is 10 % slow since 14:02; rank 37 = node n4 GPU 5, thermal throttle" in said
    assert "evicting it wins back 8.9 GPU-hours an hour" in said


def test_whom_an_open_incident_explains_is_not_to_be_evicted():
    ranks = Ranks(96).look(lambda rank: jitter(rank) * (1.11 if rank == 37 else 1.0), 4)
    ranks.tell(Ranks.rank(37), job_rank_hardware="", job_rank_incident="cdu/c2", job_slow_since_seconds=50_520.0)
    verdict = CHECK(ranks.window())
    said = verdict.summary()
    assert "rank 37 = node n4 GPU 5, explained by the incident on cdu/c2" in said
    assert "evicting" not in said and "no hardware signal" not in said
    assert verdict.remedy == "follow the runbook of the incident on cdu/c2"


def test_a_node_all_of_whose_ranks_are_slow_is_named_as_one():
    verdict = CHECK(Ranks(64).look(lambda rank: jitter(rank) * (1.2 if rank // 8 == 3 else 1.0), 4).window())
    assert len(guilty(verdict)) == 8
    assert "node n3 with its 8 ranks" in verdict.summary() and "evicting them" in verdict.summary()


def node_slow(ratio: float, node: int = 3):
    return lambda rank: jitter(rank) * (1 + ratio if rank // 8 == node else 1.0)


def test_the_ranks_of_a_node_bear_witness_for_each_other():
    """Three looks are enough where all of a node are slow, and one slow rank does not draw its neighbours in."""
    ranks = Ranks(64).look(jitter, 6).look(node_slow(0.1), 2)
    assert CHECK(ranks.window()).health is Health.PASS
    ranks.look(node_slow(0.1), 1)
    assert guilty(CHECK(ranks.window())) == {Ranks.rank(rank) for rank in range(24, 32)}
    alone = Ranks(64).look(jitter, 6).look(slow_by(0.5), 3)
    assert CHECK(alone.window()).health is Health.PASS
    alone.look(slow_by(0.5), 9)
    assert guilty(CHECK(alone.window())) == {"job/llama/rank/3"}


def test_among_few_nodes_each_rank_stands_for_itself():
    ranks = Ranks(24).look(jitter, 6).look(node_slow(0.1, 1), 3)
    assert CHECK(ranks.window()).health is Health.PASS
    ranks.look(node_slow(0.1, 1), 3)
    assert len(guilty(CHECK(ranks.window()))) == 8


def test_a_rank_that_began_later_than_most_does_not_blind_the_others():
    ranks = Ranks(32).look(slow_by(0.2), 1)
    ranks.world = 33
    ranks.look(slow_by(0.2), 5)
    assert guilty(CHECK(ranks.window())) == {"job/llama/rank/3"}


def slow_by(ratio: float, slow: int = 3):
    return lambda rank: jitter(rank) * (1 + ratio if rank == slow else 1.0)


def test_a_stall_is_no_slow_rank_however_long_and_four_slow_looks_are_one():
    ranks = Ranks(64).look(jitter, 6).look(slow_by(9.0), 3)
    assert CHECK(ranks.window()).health is Health.PASS
    ranks.look(slow_by(0.1), 1)
    assert guilty(CHECK(ranks.window())) == {"job/llama/rank/3"}


def test_a_small_slowdown_takes_longer_to_be_told_from_chance():
    ranks = Ranks(64).look(jitter, 6).look(slow_by(0.05), 5)
    assert CHECK(ranks.window()).health is Health.PASS
    ranks.look(slow_by(0.05), 5)
    assert guilty(CHECK(ranks.window())) == {"job/llama/rank/3"}


def test_who_was_slow_is_well_again_only_well_below_the_limit():
    between = Ranks(64).look(slow_by(0.03), 12)
    assert CHECK(between.window()).health is Health.PASS
    between.tell(Ranks.rank(3), job_slow_since_seconds=900.0)
    assert guilty(CHECK(between.window())) == {"job/llama/rank/3"}
    between.look(jitter).tell(Ranks.rank(3), job_slow_since_seconds=900.0)
    assert CHECK(between.window()).health is Health.PASS


def test_ranks_of_another_group_do_other_work():
    groups = {rank: "first" if rank < 8 else "rest" for rank in range(32)}
    work = {"first": 2.0, "rest": 1.0}
    verdict = CHECK(Ranks(32, groups=groups).look(lambda rank: work[groups[rank]] * jitter(rank)).window())
    assert verdict.health is Health.PASS


def test_where_all_ranks_are_noisy_more_is_asked_for():
    def noisy(rank: int) -> float:
        return 1.0 + 0.1 * ((rank * 7919) % 11 - 5) / 5

    assert CHECK(Ranks(64).look(lambda rank: noisy(rank) * (1.1 if rank == 3 else 1.0)).window()).health is Health.PASS


def test_four_ranks_are_peers_enough():
    assert guilty(CHECK(Ranks(4).look(slow_by(0.4, 2), 6).window())) == {"job/llama/rank/2"}


@pytest.mark.parametrize("world", [1, 2])
def test_too_few_peers_is_unknown(world):
    verdict = CHECK(Ranks(world).look(jitter).window())
    assert verdict.health is Health.UNKNOWN and "fewer than 3 ranks" in verdict.summary()


def test_where_waiting_is_not_told_apart_nobody_is_blamed():
    ranks = Ranks(16).look(lambda rank: 1.5 if rank == 3 else 1.0)
    for rank in range(16):
        ranks.tell(Ranks.rank(rank), job_rank_split=0.0)
    verdict = CHECK(ranks.window())
    assert verdict.health is Health.UNKNOWN and "waiting is not distinguished" in verdict.summary()


def test_a_rank_whose_waiting_is_in_its_computing_is_not_blamed_for_it():
    """One that does not `watch` its model: what it waits for the others looks like work of its own."""
    ranks = Ranks(16).look(lambda rank: 1.5 if rank == 3 else 1.0, 8)
    ranks.tell(Ranks.rank(3), job_rank_split=0.0)
    assert guilty(CHECK(ranks.window())) == set()


def test_a_job_that_tells_nothing_is_unknown():
    assert CHECK(Ranks(0).window()).health is Health.UNKNOWN
