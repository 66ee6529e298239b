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
def test_the_future_never_counts_and_more_history_never_helps(told: list[tuple[float, str]]) -> None:
    offences = [offence(days, cause) for days, cause in told]
    past = [one for one in offences if one.at < NOW]
    lemon = score(offences, (), ALONE, NOW)
    assert lemon == score(past, (), ALONE, NOW)
    assert lemon.score >= 0
    spaced = [*past, Offence(at=NOW - 3000 * DAY, cause="d")]
    assert score(spaced, (), ALONE, NOW).score >= lemon.score


def test_the_burden_of_a_group_is_the_sum_of_its_nodes() -> None:
    one, two = [offence(1)], [offence(9), offence(400)]
    assert burden([one, two], NOW) == pytest.approx(burden([one], NOW) + burden([two], NOW))
