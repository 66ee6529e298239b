"""The chance of a failure, with the sentence, the interval and the curve that go with it."""

from math import exp

import pytest

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.planning import risk
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.inputs import PlanInputs


def asked(gpus: str = "365", days: str = "10", rate: str | None = "0.1/y", **more: str) -> PlanAnswer:
    """365 GPUs for ten days are ten GPU-years: at 0.1 a year one failure is to be expected."""
    return risk.answer(
        PlanInputs(), gpus, days, rate, more.get("events"), more.get("gpu_years"), more.get("shape"), more.get("age")
    )


def test_one_failure_to_expect_by_hand() -> None:
    found = asked().document()
    assert found["expected_failures"] == pytest.approx(1.0)
    assert found["probability"] == pytest.approx(1 - exp(-1))
    assert found["failures_95_percent"] == [0, 3]
    assert found["mean_seconds_between_failures"] == pytest.approx(864_000.0)
    assert found["headline"] == "365 GPUs for 10 days meet at least one failure with a chance of 63.2 %."
    assert "probability_95_percent" not in found


def test_one_gpu_and_one_day_are_reported_so() -> None:
    assert asked("1", "1").headline.startswith("1 GPU for 1 day meets at least")
    assert asked("2", "2").headline.startswith("2 GPUs for 2 days meet at least")


def test_no_chance_is_certain() -> None:
    assert asked("1e6", "1000", "1").headline.endswith("almost 100 %.")


def test_old_parts_that_wear_fail_more_often() -> None:
    """With shape 2 and a first year of 0.1: (age in years)^2 * 0.1 failures each."""
    new, old = (asked("100", "365", shape="2", age=age).document() for age in ("0", "365"))
    assert new["expected_failures"] == pytest.approx(100 * 0.1)
    assert old["expected_failures"] == pytest.approx(100 * 0.1 * (4 - 1))
    assert "mean_seconds_to_first_failure" in new
    assert "mean_seconds_to_first_failure" not in old


def test_notes_say_what_changes_nothing_and_what_is_missing() -> None:
    assert any("age of the parts makes no difference" in note for note in asked(age="10").notes)
    assert not any("age of the parts" in note for note in (*asked().notes, *asked(age="10", shape="2").notes))
    assert any("has no interval" in note for note in asked().notes)
    assert not any("has no interval" in note for note in asked(rate=None, events="3", gpu_years="100").notes)


@pytest.mark.parametrize(
    ("more", "good"),
    [
        ({"shape": "0.1"}, True),
        ({"shape": "0.09"}, False),
        ({"shape": "10"}, True),
        ({"shape": "10.1"}, False),
        ({"days": "0"}, False),
        ({"days": "36500"}, True),
        ({"days": "36501"}, False),
    ],
)
def test_what_can_be_asked(more: dict[str, str], good: bool) -> None:
    if good:
        assert asked(**more).headline
    else:
        with pytest.raises(BadNumber):
            asked(**more)


def test_own_counts_have_their_interval_and_three_curves() -> None:
    found = asked(rate=None, events="10", gpu_years="100")
    document = found.document()
    assert document["rate_95_percent"] == [pytest.approx(0.0514, abs=1e-4), pytest.approx(0.1774, abs=1e-4)]
    # The rate's uncertainty inside: 1 - (T / (T + e))^k with T = 100 seen, e = 10 to come and k = 10.5.
    assert document["probability_over_the_rate"] == pytest.approx(1 - (100 / 110) ** 10.5)
    chart = found.chart()
    assert [line.name for line in chart.lines] == ["rate your own counts", "its 2.5 % end", "its 97.5 % end"]
    low, own, high = (chart.lines[n].points[30][1] for n in (1, 0, 2))
    assert low < own < high


def test_the_curve_reaches_from_rare_failures_to_sixty_four_times_the_run() -> None:
    chart = asked().chart()
    (line,) = chart.lines
    assert line.points[0] == (pytest.approx(3.65), pytest.approx(1 - exp(-0.01)))
    assert line.points[-1] == (pytest.approx(365 * 64), pytest.approx(1 - exp(-64)))
    assert chart.mark == (365.0, pytest.approx(1 - exp(-1)))
    assert (chart.log_x, chart.title) == (True, "Chance of at least one failure in 10 days")
    seldom = asked(rate="0.0001/y").chart()
    assert seldom.lines[0].points[0][0] == pytest.approx(365 / 64)
    assert asked("3", "1").chart().lines[0].points[0][0] == pytest.approx(1.0)


def test_the_interval_of_the_count_holds_ninety_five_of_a_hundred() -> None:
    """Poisson with mean 10: at most 3 in 1.0 % of runs, at most 4 in 2.9 %, at most 17 in 98.6 %."""
    assert asked("3650").document()["failures_95_percent"] == [4, 17]


def test_the_first_failure_of_new_parts_by_hand() -> None:
    """Shape 1/2 and a first year of 0.1: scale 100 years, over N squared, times two."""
    found = asked("100", "365", shape="0.5").document()
    assert found["mean_seconds_to_first_failure"] == pytest.approx(100 / 100**2 * 2 * 31_536_000)
