"""A repeat offender is known by its own history and by what it shares; nothing after `now` counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.decisions.repeat_offenders import DAY, Group, JobDeath, Neighbours, Weights, burden, score
from holdfast.model.lifecycle import Offence

NOW = 1000 * DAY
ALONE = Neighbours(fleet=Group(name="fleet", nodes=100, burden=0.0))


def offence(days_ago: float, cause: str = "gpu.xid") -> Offence:
    return Offence(at=NOW - days_ago * DAY, cause=cause)


def test_a_clean_node_in_a_clean_fleet_scores_nothing() -> None:
    assert score((), (), ALONE, NOW).score == 0
    assert score((), (), ALONE, NOW).reasons == ()


def test_one_fresh_offence_is_about_one_and_fades_by_half() -> None:
    half = Weights().half_life_seconds / DAY
    assert score([offence(0.01)], (), ALONE, NOW).score == pytest.approx(1, abs=1e-3)
    assert score([offence(half)], (), ALONE, NOW).score == pytest.approx(0.5)


def test_the_same_cause_again_counts_more_than_another() -> None:
    same = score([offence(5), offence(2)], (), ALONE, NOW)
    other = score([offence(5, "fabric.errors"), offence(2)], (), ALONE, NOW)
    assert same.score > other.score
    assert any("a cause it had before" in reason for reason in same.reasons)


def test_a_technician_at_work_is_one_episode() -> None:
    storm = [offence(3 + minute / 1440) for minute in range(50)]
    assert score(storm, (), ALONE, NOW).score < 1


def test_a_dead_job_of_many_nodes_says_little_of_each() -> None:
    alone = score((), [JobDeath(at=NOW - 1, nodes=1)], ALONE, NOW)
    crowd = score((), [JobDeath(at=NOW - 1, nodes=128)], ALONE, NOW)
    assert alone.score == pytest.approx(128 * crowd.score)


def test_a_bad_place_adds_to_a_node_without_history_and_is_named() -> None:
    fleet = Group(name="fleet", nodes=1000, burden=50.0)
    bad = Neighbours(fleet=fleet, shared=(Group(name="level/top", nodes=330, burden=45.0),))
    good = Neighbours(fleet=fleet, shared=(Group(name="level/bottom", nodes=330, burden=1.0),))
    assert score((), (), bad, NOW).score > score((), (), good, NOW).score > 0
    assert "level/top has" in score((), (), bad, NOW).reasons[0]


def test_a_small_group_is_doubted() -> None:
    fleet = Group(name="fleet", nodes=1000, burden=50.0)
    small = Neighbours(fleet=fleet, shared=(Group(name="rack/r1", nodes=4, burden=2.0),))
    large = Neighbours(fleet=fleet, shared=(Group(name="row/1", nodes=400, burden=200.0),))
    assert score((), (), small, NOW).score < score((), (), large, NOW).score


@given(st.lists(st.tuples(st.floats(-2000, 2000), st.sampled_from("abc")), max_size=20))
def test_the_future_never_counts_and_more_history_never_helps(simulated: list[tuple[float, str]]) -> None:
    offences = [offence(days, cause) for days, cause in simulated]
    past = [one for one in offences if one.at < NOW]
    offender = score(offences, (), ALONE, NOW)
    assert offender == score(past, (), ALONE, NOW)
    assert offender.score >= 0
    spaced = [*past, Offence(at=NOW - 3000 * DAY, cause="d")]
    assert score(spaced, (), ALONE, NOW).score >= offender.score


def test_the_burden_of_a_group_is_the_sum_of_its_nodes() -> None:
    one, two = [offence(1)], [offence(9), offence(400)]
    assert burden([one, two], NOW) == pytest.approx(burden([one], NOW) + burden([two], NOW))


def test_a_job_that_died_long_ago_or_is_yet_to_die_says_little_or_nothing() -> None:
    half = Weights().half_life_seconds
    assert score((), [JobDeath(at=NOW - half, nodes=1)], ALONE, NOW).score == pytest.approx(0.5)
    assert score((), [JobDeath(at=NOW, nodes=1)], ALONE, NOW).score == 0
    assert score((), [JobDeath(at=NOW + 1, nodes=1)], ALONE, NOW).reasons == ()
    assert score((), [JobDeath(at=NOW - half, nodes=0)], ALONE, NOW).score == pytest.approx(0.5)  # nodes not known


def test_a_cause_that_returns_fades_as_its_offence_does() -> None:
    half = Weights().half_life_seconds / DAY
    found = score([offence(half + 400), offence(half)], (), ALONE, NOW)
    own = 0.5 + 0.5 ** (1 + 400 / half)
    assert found.score == pytest.approx(own + 0.5)
    assert found.reasons == (f"2 offences of its own (+{own:.2f})", "1 with a cause it had before (+0.50)")


def test_reasons_come_with_the_weightiest_first() -> None:
    found = score([offence(1)], [JobDeath(at=NOW - DAY, nodes=1)] * 3, ALONE, NOW)
    assert [reason.partition(" (")[0] for reason in found.reasons] == ["3 jobs died with it", "1 offences of its own"]


def test_offences_a_day_apart_are_two_and_closer_ones_are_one() -> None:
    def own(*days: float) -> str:
        found = score([offence(one, str(one)) for one in days], (), ALONE, NOW)
        return found.reasons[0].partition(" (")[0]

    assert own(5.0, 4.0) == "2 offences of its own"
    assert own(5.0, 4.01) == "1 offences of its own"
    assert own(5.0, 4.5, 4.0, 3.5, 3.0) == "1 offences of its own"  # one long episode
    assert own(0.5, 2.0) == "2 offences of its own"  # in whatever order they are told


def test_an_offence_at_this_very_moment_is_not_history_yet() -> None:
    assert score([Offence(at=NOW, cause="gpu.xid")], (), ALONE, NOW).score == 0


def test_the_burden_of_a_group_fades_too() -> None:
    half = Weights().half_life_seconds / DAY
    assert burden([[offence(half)], []], NOW) == pytest.approx(0.5)


def test_what_is_shared_counts_ten_times_the_rate_to_be_expected() -> None:
    fleet = Group(name="fleet", nodes=1000, burden=50.0)
    usual = score((), (), Neighbours(fleet=fleet), NOW)
    assert usual.score == pytest.approx(10 * 50 / 1000)
    assert usual.reasons == ("the fleet's usual rate (+0.50)",)
    # 300 nodes with three times the usual rate, doubted half: twice the usual.
    worse = Group(name="row/1", nodes=300, burden=45.0)
    better = Group(name="level/top", nodes=300, burden=0.0)
    found = score((), (), Neighbours(fleet=fleet, shared=(better, worse)), NOW)
    assert found.score == pytest.approx(0.5 * 2.0 * 0.5)
    assert found.reasons == ("row/1 has 2.0 times the fleet's offences (+0.50)",)


@pytest.mark.parametrize(
    ("nodes", "burdened", "expected"), [(0, 5.0, 0.0), (5, 0.0, 0.0), (1, 0.5, 5.0), (5, 1.0, 2.0)]
)
def test_an_empty_or_a_clean_fleet_has_no_usual_rate(nodes: int, burdened: float, expected: float) -> None:
    alone = Neighbours(fleet=Group(name="fleet", nodes=nodes, burden=burdened))
    assert score((), (), alone, NOW).score == pytest.approx(expected)


def test_the_weights_are_the_documented_ones() -> None:
    assert Weights() == Weights(
        half_life_seconds=31_536_000.0,
        episode_seconds=86_400.0,
        same_cause=1.0,
        job_death=1.0,
        shared=10.0,
        doubt_nodes=300.0,
    )


def test_in_a_clean_fleet_no_group_is_worse_than_another() -> None:
    clean = Neighbours(
        fleet=Group(name="fleet", nodes=100, burden=0.0), shared=(Group(name="rack/r1", nodes=4, burden=0.0),)
    )
    assert score((), (), clean, NOW).score == 0
