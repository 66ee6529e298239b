"""Who is slow, and not who waits for them."""

import pytest

from holdfast.model.health import Health
from holdfast.node.checks.job import facts as job_facts
from holdfast.node.checks.job.facts import middle
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
    message = verdict.summary()
    assert "job llama is 10 % slow; rank 37 = node n4 GPU 5, thermal throttle" in message
    assert "evicting it saves 8.9 GPU-hours an hour" in message


def test_a_rank_that_an_open_incident_explains_is_not_evicted():
    ranks = Ranks(96).look(lambda rank: jitter(rank) * (1.11 if rank == 37 else 1.0), 4)
    ranks.tell(Ranks.rank(37), job_rank_hardware="", job_rank_incident="cdu/c2", job_slow_since_seconds=50_520.0)
    verdict = CHECK(ranks.window())
    message = verdict.summary()
    assert "rank 37 = node n4 GPU 5, explained by the incident on cdu/c2" in message
    assert "evicting" not in message and "no hardware signal" not in message
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


def test_a_small_slowdown_takes_longer_to_be_reported_from_chance():
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
    assert verdict.health is Health.UNKNOWN and "fewer than 3 comparable ranks" in verdict.summary()


def test_where_waiting_is_not_distinguished_no_one_is_blamed():
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


def test_a_job_that_reports_nothing_is_unknown():
    assert CHECK(Ranks(0).window()).health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1.0, 1.0, 1.0, 5.0], 1.0),
        ([1.0, 5.0], 1.0),  # of few the lower middle: two slow ones must not become the measure
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 4.0),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 4.5),
    ],
)
def test_the_middle_of_few_is_the_lower_one(values, found):
    assert middle(values) == found


def test_one_look_counts_for_little_and_what_is_below_half_a_unit_speaks_against():
    assert job_facts._evidence([0.1] * 3, 0.05, 1.2) == pytest.approx(3.6)  # 1.5 units above half, cut to 1.2
    assert job_facts._evidence([9.0], 0.05, 1.2) == pytest.approx(1.2)
    assert job_facts._evidence([0.05, 0.0], 0.05, 1.2) == 0.0
    assert job_facts._evidence([0.05, 0.05, -9.0, 0.05], 0.05, 1.2) == pytest.approx(0.5)


def test_how_much_evidence_one_rank_needs():
    assert CHECK(Ranks(64).look(slow_by(0.5), 3).window()).health is Health.PASS
    assert CHECK(Ranks(64).look(slow_by(0.5), 4).window()).health is Health.DEGRADED


def test_three_looks_and_three_ranks_are_needed():
    assert CHECK(Ranks(8).look(jitter, 2).window()).health is Health.UNKNOWN
    assert CHECK(Ranks(8).look(jitter, 3).window()).health is Health.PASS
    assert CHECK(Ranks(3).look(jitter, 3).window()).health is Health.PASS


def test_ranks_of_one_node_vouch_for_each_other_from_four_nodes_on():
    def asked(nodes: int) -> bool:
        slow = Ranks(8 * nodes).look(jitter, 3).look(node_slow(0.1, 1), 3)
        return bool(guilty(CHECK(slow.window())))

    assert [asked(3), asked(4)] == [False, True]


def test_one_rank_a_node_is_no_witness_for_itself():
    alone = Ranks(32, per_node=1).look(jitter, 3).look(slow_by(0.1), 3)
    assert guilty(CHECK(alone.window())) == set()
    pairs = Ranks(32, per_node=2).look(jitter, 3).look(lambda rank: jitter(rank) * (1.1 if rank in (2, 3) else 1.0), 3)
    assert guilty(CHECK(pairs.window())) == {Ranks.rank(2), Ranks.rank(3)}


def test_evidence_goes_back_twelve_looks():
    ranks = Ranks(64).look(slow_by(0.5), 4).look(lambda rank: jitter(rank) * (1.025 if rank == 3 else 1.0), 8)
    assert guilty(CHECK(ranks.window())) == {Ranks.rank(3)}
    ranks.look(lambda rank: jitter(rank) * (1.025 if rank == 3 else 1.0), 2)
    assert guilty(CHECK(ranks.window())) == set()


def test_what_would_be_won_is_reported_with_a_place_after_the_comma_below_ten():
    def won(world: int) -> str:
        ranks = Ranks(world).look(lambda rank: 1.2 if rank == 3 else 1.0, 6)
        return CHECK(ranks.window()).summary().rpartition("saves ")[2]

    assert won(64) == "9.8 GPU-hours an hour"
    assert won(66) == "10 GPU-hours an hour"


def test_four_are_named_and_the_rest_counted():
    def message(count: int) -> str:
        slow = range(0, 8 * count, 8)
        return CHECK(Ranks(96).look(lambda rank: 1.2 if rank in slow else 1.0, 6).window()).summary()

    assert "more" not in message(4)
    assert " and 1 more; evicting them" in message(5)


def test_a_node_is_named_as_one_only_if_all_of_it_is_slow():
    some = CHECK(Ranks(64).look(lambda rank: 1.2 if 24 <= rank < 31 else 1.0, 6).window()).summary()
    assert "rank 24 = node n3 GPU 0" in some
    assert "with its" not in some
    single = CHECK(Ranks(16, per_node=1).look(lambda rank: 1.2 if rank == 3 else 1.0, 6).window()).summary()
    assert "rank 3 = node n3 GPU 0, no hardware signal gives the reason" in single


def test_a_row_reports_where_a_rank_is_and_by_how_much_it_is_slow():
    (row,) = (
        row for row in CHECK(Ranks(64).look(lambda rank: 1.2 if rank == 3 else 1.0, 6).window()).rows if row.reason
    )
    assert row.reason == "computes 20 % longer than its peers, node n0 GPU 3"
    assert (round(row.value, 3), row.limit) == (0.2, 0.05)


def test_one_unexplained_rank_leaves_the_remedy_as_it_is():
    ranks = Ranks(64).look(lambda rank: 1.2 if rank in (3, 40) else 1.0, 6)
    ranks.tell(Ranks.rank(3), job_rank_incident="cdu/c2")
    verdict = CHECK(ranks.window())
    assert "leave the node out" in verdict.remedy
    assert "evicting" not in verdict.summary()


def test_the_slowest_comes_first_and_the_earliest_since_is_reported():
    ranks = Ranks(64).look(lambda rank: {3: 1.2, 40: 1.4}.get(rank, 1.0), 6)
    ranks.tell(Ranks.rank(3), job_slow_since_seconds=50_520.0).tell(Ranks.rank(40), job_slow_since_seconds=54_120.0)
    verdict = CHECK(ranks.window())
    assert [row.subject for row in verdict.rows[:2]] == [Ranks.rank(40), Ranks.rank(3)]
    assert "slow; rank 40 = " in verdict.summary()


def test_a_row_says_what_the_hardware_reports():
    ranks = Ranks(64).look(lambda rank: 1.2 if rank == 3 else 1.0, 6)
    ranks.tell(Ranks.rank(3), job_rank_hardware="thermal throttle")
    (row,) = (row for row in CHECK(ranks.window()).rows if row.reason)
    assert row.reason.endswith("node n0 GPU 3, thermal throttle")


@pytest.mark.parametrize(
    ("score", "shared", "ratio", "slow"),
    [(5.0, 0.0, 0.0, True), (4.9, 5.0, 0.05, True), (4.9, 5.0, 0.04, False), (4.9, 4.9, 1.0, False)],
)
def test_a_rank_is_slow_by_its_own_evidence_or_by_that_of_its_node_if_it_is_slow_now(score, shared, ratio, slow):
    limits = {"evidence": 5.0, "well_share": 0.5}
    found = job_facts.Excess("job/llama/rank/0", ratio, 1.0, 1.0, 0.1, score, shared, None, limits)
    assert found.slow is slow


@pytest.mark.parametrize(("ranks", "why"), [(1, "comparable ranks"), (2, "waiting is not distinguished")])
def test_a_single_rank_has_no_peers_whether_it_tells_waiting_apart_or_not(ranks, why):
    job = Ranks(ranks).look(jitter, 3)
    for rank in range(ranks):
        job.tell(Ranks.rank(rank), job_rank_split=0.0)
    assert why in CHECK(job.window()).summary()


def test_how_far_the_readings_of_a_rank_lie_apart_is_told_as_a_standard_deviation():
    assert job_facts._swing({"a": [0.0, 0.0, 0.3]}) == pytest.approx(1.2533 * 0.1)


def test_lately_is_the_last_four_looks_and_a_rank_without_a_node_has_no_witness():
    rows = {"a": [2.0, 1.0, 1.0, 2.0, 2.0], "b": [1.0] * 5, "c": [1.0] * 5}
    limits = {"slow_ratio": 0.05, "noises": 3.0, "evidence": 5.0, "well_share": 0.5}
    found = job_facts._excesses(Ranks(0).window(), rows, 5, limits, {})["a"]
    assert (found.ratio, found.own, found.usual, found.shared) == (0.5, 1.5, 1.0, 0.0)


def test_of_a_job_whose_size_nobody_knows_an_eviction_saves_nothing_that_is_known():
    ranks = Ranks(96).look(lambda rank: jitter(rank) * (1.11 if rank == 37 else 1.0), 4)
    ranks.tell("job/llama", job_world=0.0)
    assert "evicting it saves 0.0 GPU-hours an hour" in CHECK(ranks.window()).summary()
