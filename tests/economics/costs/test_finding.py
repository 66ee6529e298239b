"""What a finding costs so far and if it goes on, by hand for two jobs; what is not known is said and costs nothing."""

import pytest

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.finding import LAYERS, Prices, bill
from holdfast.model.account import Bill, Loss


def loss(**more: object) -> Loss:
    known: dict[str, object] = {"subject": "job/a", "gpus": 100.0, "share_now": 0.2, "share_so_far": 0.1}
    return Loss(**{**known, **more})  # type: ignore[arg-type]


def costs(of: Bill) -> dict[str, tuple[float | None, float | None]]:
    return {layer.name: (layer.so_far, layer.if_it_goes_on) for layer in of.layers}


def test_a_slow_job_by_hand() -> None:
    """100 GPUs at 2.00: 10 % lost for 6 h so far, then 20 % for 24 h more. Two people, two hours each, at 100."""
    prices = Prices(gpu_hour=2.0, wage=100.0)
    found = bill([loss()], prices, hours=6.0)
    assert found.gpu_hours == pytest.approx(60.0)
    assert found.gpu_hours_if_it_goes_on == pytest.approx(60.0 + 480.0)
    assert found.gpu_hours_per_hour == 20.0
    assert costs(found) == {
        "direct compute": (pytest.approx(120.0), pytest.approx(1080.0)),
        "reserved capacity": (0.0, 0.0),
        "rollback": (0.0, 0.0),
        "labour": (400.0, 400.0),
        "schedule slip": (None, None),
    }
    assert (found.finish_shift_hours, found.finish_shift_hours_if_it_goes_on) == (
        pytest.approx(0.6),
        pytest.approx(5.4),
    )
    assert (found.hours, found.horizon_hours, found.currency) == (6.0, 24.0, "USD")
    assert tuple(layer.name for layer in found.layers) == LAYERS


@pytest.mark.parametrize(("hours", "worked"), [(0.5, 0.5), (2.0, 2.0), (9.0, 2.0)])
def test_people_have_worked_no_longer_than_it_lasted(hours: float, worked: float) -> None:
    labour = costs(bill([loss()], Prices(), hours=hours))["labour"]
    assert labour == (2 * worked * 140.0, 2 * 2 * 140.0)


def test_jobs_add_up_and_the_latest_finish_counts() -> None:
    small = loss(subject="job/b", gpus=10.0, share_now=0.5, share_so_far=0.5)
    found = bill([loss(), small], Prices(gpu_hour=2.0), hours=10.0, horizon_hours=10.0)
    assert found.gpu_hours == pytest.approx(100.0 + 50.0)
    assert found.gpu_hours_per_hour == 25.0
    assert found.finish_shift_hours == pytest.approx(5.0)
    assert costs(found)["direct compute"] == (pytest.approx(300.0), pytest.approx(2 * (300.0 + 100.0)))
    assert costs(found)["labour"][0] == 560.0, "people are called once, not for each job"


def test_a_day_has_a_price_only_where_somebody_gave_it() -> None:
    valued = loss(subject="job/b", day_value=24_000.0)
    found = bill([loss(), valued], Prices(), hours=10.0)
    assert costs(found)["schedule slip"][0] == pytest.approx(1000.0)  # an hour late
    assert found.unpriced == ("job/a: the value of a day is not in the business context",)
    floating = bill([loss(day_value=24_000.0, float_days=1.0)], Prices(), hours=10.0)
    assert costs(floating)["schedule slip"][0] == 0.0
    unlikely = bill([loss(day_value=24_000.0, critical_chance=0.5)], Prices(), hours=10.0)
    assert costs(unlikely)["schedule slip"][0] == pytest.approx(500.0)


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [
        ({"gpus": None}, "job/a: how many GPUs it holds is not known"),
        ({"gpus": 0.0}, "job/a: how many GPUs it holds is not known"),
        ({"share_now": None}, "job/a: its slowdown is not measured"),
    ],
)
def test_what_is_not_measured_is_reported_and_not_priced(unknown: dict[str, object], expected: str) -> None:
    found = bill([loss(day_value=1.0, **unknown)], Prices(), hours=10.0)
    assert found.unpriced == (expected,)
    assert found.gpu_hours == 0.0
    assert costs(found)["rollback"] == (None, None) and costs(found)["labour"][0] is not None
    assert not found.measured and bill([], Prices(), hours=10.0).measured
    assert bill([loss(day_value=1.0, **unknown), loss(day_value=1.0)], Prices(), hours=10.0).measured
    assert found.layers[0].formula == "no measured loss"
    known = bill([loss(day_value=1.0)], Prices(), hours=10.0)
    assert known.unpriced == ()
    assert known.layers[0].formula != "no measured loss"


def test_a_job_whose_past_is_not_measured_is_not_priced() -> None:
    assert bill([loss(share_so_far=None)], Prices(), hours=10.0).gpu_hours == 0.0


def test_tokens_are_counted_where_a_service_reports_them() -> None:
    assert bill([loss()], Prices(), hours=10.0).tokens is None
    served = loss(subject="pool/a", tokens_per_second=50.0)
    assert bill([loss(), served], Prices(), hours=2.0).tokens == pytest.approx(50 * 0.1 * 2 * 3600)


def test_more_than_all_of_it_cannot_be_lost() -> None:
    found = bill([loss(share_now=3.0, share_so_far=1.5)], Prices(), hours=1.0)
    assert found.gpu_hours == pytest.approx(100.0)
    assert found.gpu_hours_if_it_goes_on == pytest.approx(2500.0)
    assert bill([loss(share_now=-1.0, share_so_far=-1.0)], Prices(), hours=1.0).gpu_hours == 0.0


def test_what_has_just_begun_has_cost_nothing_yet() -> None:
    found = bill([loss()], Prices(), hours=0.0, horizon_hours=0.0)
    assert (found.gpu_hours, found.gpu_hours_if_it_goes_on) == (0.0, 0.0)
    assert bill([loss()], Prices(), hours=0.0).gpu_hours_if_it_goes_on == pytest.approx(480.0)


def test_prices_left_out_are_the_documented_ones() -> None:
    assert Prices() == Prices(
        gpu_hour=2.35, alternative_gpu_hour=0.0, queued_chance=0.0, wage=140.0, people=2.0, people_hours=2.0
    )


@pytest.mark.parametrize(
    "wrong",
    [{"gpu_hour": 0.0}, {"gpu_hour": -1.0}, {"wage": -1.0}, {"people": -1.0}, {"people_hours": -0.1},
     {"alternative_gpu_hour": -0.1}, {"queued_chance": 1.1}, {"queued_chance": -0.1}],
)  # fmt: skip
def test_a_price_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadNumber):
        Prices(**wrong)  # type: ignore[arg-type]


def test_what_costs_nothing_is_a_price() -> None:
    free = Prices(wage=0.0, people=0.0, people_hours=0.0, queued_chance=1.0, gpu_hour=0.01)
    assert costs(bill([loss()], free, hours=1.0))["labour"] == (0.0, 0.0)


def test_the_latest_finish_counts_if_it_goes_on_too_and_nothing_is_late_without_a_loss() -> None:
    late = loss(subject="job/b", share_now=0.9, share_so_far=0.0)
    found = bill([loss(), late], Prices(), hours=10.0, horizon_hours=10.0)
    assert (found.finish_shift_hours, found.finish_shift_hours_if_it_goes_on) == (
        pytest.approx(1.0), pytest.approx(9.0)
    )  # fmt: skip
    nothing = bill([], Prices(), hours=10.0)
    assert (nothing.finish_shift_hours, nothing.finish_shift_hours_if_it_goes_on) == (0.0, 0.0)
    well = bill([loss(share_now=0.0, share_so_far=0.0, tokens_per_second=5.0)], Prices(), hours=10.0)
    assert (well.gpu_hours, well.gpu_hours_if_it_goes_on, well.tokens) == (0.0, 0.0, 0.0)
    over = bill([loss(share_now=0.0)], Prices(), hours=10.0, horizon_hours=10.0)
    assert over.gpu_hours_if_it_goes_on == pytest.approx(over.gpu_hours)


@pytest.mark.parametrize(("hours", "lost"), [(0.0, 0.0), (1e-9, 0.0), (1.1e-9, 1.1e-8)])
def test_a_span_of_nothing_has_no_mean(hours: float, lost: float) -> None:
    found = bill([loss()], Prices(), hours=hours, horizon_hours=0.0)
    assert found.gpu_hours_if_it_goes_on == pytest.approx(lost, rel=1e-6, abs=0)


@pytest.mark.parametrize(
    ("worked", "labour"),
    [(0.0, (0.0, 560.0)), (1.0, (280.0, 560.0)), (2.0, (560.0, 560.0)), (5.0, (1400.0, 1400.0))],
)
def test_hours_that_were_worked_are_reported_and_no_fewer_than_expected_follow(
    worked: float, labour: tuple[float, float]
) -> None:
    assert costs(bill([loss()], Prices(), hours=9.0, worked_hours=worked))["labour"] == labour


@pytest.mark.parametrize(
    ("first", "second", "slip_hours"),
    [
        ({"milestone": "v1"}, {"milestone": "v2"}, 2.0),  # each delays its own
        ({}, {}, 2.0),
        ({"milestone": "v1"}, {"milestone": "v1"}, 1.0),  # as late as the other: once
        ({"milestone": "v1"}, {"milestone": "v1", "share_so_far": 0.3}, 3.0),
        ({"milestone": "v1", "share_so_far": 0.3}, {"milestone": "v1"}, 3.0),
        ({"milestone": "v1"}, {"milestone": "v1", "down_hours": 4.0}, 5.0),
        ({"milestone": "v1", "rework_hours": 4.0}, {"milestone": "v1"}, 5.0),
        ({"milestone": "v1", "down_hours": 4.0}, {"milestone": "v1", "rework_hours": 5.0}, 6.0),
        ({"milestone": "v1", "share_so_far": 0.0, "down_hours": 0.1}, {"milestone": "v1", "share_so_far": 0.9}, 9.0),
    ],
)
def test_jobs_of_one_milestone_slip_once(
    first: dict[str, object], second: dict[str, object], slip_hours: float
) -> None:
    """10 % of 10 hours are an hour late unless said otherwise; an hour is worth 1,000."""
    both = [loss(day_value=24_000.0, **first), loss(subject="job/b", day_value=24_000.0, **second)]
    assert costs(bill(both, Prices(), hours=10.0))["schedule slip"][0] == pytest.approx(1000 * slip_hours)


@pytest.mark.parametrize(
    ("slip", "slack", "share_now", "so_far", "then"),
    [
        (None, 0.0, 0.5, 2.4, 2.4 + 12.0),  # no ledger: this incident alone, against its own float of 0
        (1.0, 0.0, 0.5, 1.0, 1.0 + 12.0),  # the float is used up: every further hour is late
        (0.0, 5.0, 0.5, 0.0, 7.0),  # five hours of the float are left
        (0.0, 12.0, 0.5, 0.0, 0.0),
        (1.0, 0.0, 0.0, 1.0, 1.0),
    ],
)
def test_a_milestone_is_later_by_what_is_lost_beyond_its_slack(
    slip: float | None, slack: float, share_now: float, so_far: float, then: float
) -> None:
    """10 % of 24 hours so far, a day worth 24: an hour of slip costs 1."""
    one = loss(day_value=24.0, slip_hours=slip, slack_hours=slack, share_now=share_now)
    layer = bill([one], Prices(), 24.0, 24.0).layers[4]
    assert (layer.so_far, layer.if_it_goes_on) == (pytest.approx(so_far), pytest.approx(then))


def test_a_job_that_stands_still_goes_on_to_stand_still() -> None:
    """100 GPUs: an hour down so far, a day more of it is direct compute and reserved capacity, not a slow day."""
    one = loss(share_now=1.0, share_so_far=0.0, down_hours=1.0, stopped_since=0.0)
    made = bill([one], Prices(gpu_hour=2.0, alternative_gpu_hour=3.0, queued_chance=0.5), 1.0, 24.0)
    assert [layer.so_far for layer in made.layers[:2]] == [200.0, 50.0]
    assert [layer.if_it_goes_on for layer in made.layers[:2]] == [25 * 200.0, 25 * 50.0]
    assert made.gpu_hours_per_hour == 100.0


def test_what_is_measured_as_nothing_is_nothing() -> None:
    still = loss(share_now=0.0, share_so_far=0.0, tokens_per_second=9.0)
    assert (bill([still], Prices(), hours=1.0).gpu_hours_per_hour, bill([still], Prices(), hours=1.0).tokens) == (0, 0)
    assert bill([loss(tokens_per_second=0.0)], Prices(), hours=1.0).tokens == 0.0
    found = bill([loss(share_now=0.0, share_so_far=0.5)], Prices(), hours=10.0, horizon_hours=10.0)
    assert found.gpu_hours_if_it_goes_on == pytest.approx(500.0)
    assert found.layers[0].inputs.startswith("(100 x (0 h + 0.5 x 10 h)")


def test_a_finding_that_hurts_no_job_costs_nothing_that_is_known_and_not_something_unknown() -> None:
    found = costs(bill([], Prices(gpu_hour=2.0, wage=100.0), hours=6.0))
    assert found["direct compute"] == (0.0, 0.0)
