"""Readings of an incident as people write them, and what moved alike told once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.api.post_mortem.readings import many, measured, moments, paths, readable, rivals


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ("node/a/gpu/0 gpu_clock_sm_hertz: 1.755e+09 -> 1.246e+09", "gpu_clock_sm_hertz from 1.755 GHz to 1.246 GHz"),
        ("node/a/gpu/0 gpu_clock_sm_hertz went from 1.755e+09 to 1.246e+09 Hz", "from 1.755 GHz to 1.246 GHz"),
        ("cdu/c2 cdu_differential_pressure_pascals: 1.505e+05 -> 9.1e+04", "from 150.5 kPa to 91 kPa"),
        ("cdu/c2 cdu_pump_speed_ratio went from 0.8 to 0.4 alone", "from 80 % to 40 % alone"),
        ("it made 1.5e+05 of them", "it made 150,000 of them"),
        ("the node n1e+05x is left", "the node n1e+05x is left"),
    ],
)
def test_a_reading_is_reported_in_its_unit(expected: str, shown: str) -> None:
    assert readable(expected).endswith(shown)


def test_what_there_are_many_of() -> None:
    assert (many(93.6e6), many(1.25e9), many(12.0)) == ("93.6 M", "1.25 B", "12")
    assert measured("node_power_watts", 12_345.0) == "12,345 W"


def test_gpus_that_moved_alike_are_one_line() -> None:
    moved = [
        {"at": 30.0 - one, "domain": "gpu", "text": f"node/n{one}/gpu/0 gpu_clock_sm_hertz: 1.7e+09 -> 1.2e+09"}
        for one in range(24)
    ]
    event = {"at": 1.0, "domain": "events", "text": "cdu/c2 maintenance: a filter was changed"}
    assert moments([*moved, event]) == [
        (1.0, "events", "cdu/c2 maintenance: a filter was changed"),
        (7.0, "gpu", "node/n23/gpu/0 gpu_clock_sm_hertz from 1.7 GHz to 1.2 GHz and 23 more alike"),
    ]


def test_paths_through_others_of_the_same_kinds_are_one_line() -> None:
    lines = [f"cdu/c2 > rack/r1 > node/n{one} > job/{'ab'[one == 3]}" for one in range(4)]
    assert paths(lines) == [f"{lines[0]} and 2 more alike", lines[3]]
    ranks = [f"cdu/c2 > node/n1 > node/n1/gpu/{one} > job/a/rank/{one}" for one in range(12)]
    assert paths(ranks) == [f"{ranks[0]} and 11 more alike"]


def test_rivals_that_lost_for_the_same_reason_are_one_line() -> None:
    lost = [{"cause": f"rack/r{one}", "kind": "cooling.rack_blocked", "why": "it follows"} for one in (2, 1)]
    assert rivals(lost) == ["rack/r1, rack/r2 (cooling.rack_blocked): it follows"]


@given(st.text(max_size=80))
def test_any_sentence_can_be_reported(expected: str) -> None:
    assert (
        isinstance(readable(expected), str)
        and paths([expected])
        and moments([{"at": 0.0, "domain": "", "text": expected}])
    )
