"""Effective prices, what three ways of recovering cost, and what an agreement pays back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.claims import Agreement, Outage, Tier, claims
from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.costs.pricing import Offer, Recovery, break_even_premium, restart_expense, restart_hours

STAGES = Recovery(
    job_gpus=4096,
    blast_gpus=8,
    identify_hours=0.25,
    checkpoint_hours=1,
    start_hours=0.2,
    repair_hours=1,
    failover_hours=0.02,
)


@pytest.mark.parametrize(
    ("price", "goodput", "effective"),
    [(2.00, 0.90, 2.222), (2.35, 0.97, 2.423), (1.84, 0.9386, 1.960), (2.0, 0.7909, 2.529)],
)
def test_known_effective_prices(price: float, goodput: float, effective: float) -> None:
    assert Offer(name="a", price=price, goodput=goodput).effective_price == pytest.approx(effective, abs=5e-4)


@given(st.floats(0.5, 10), st.floats(0.05, 1), st.floats(0.05, 1))
def test_at_the_break_even_premium_both_cost_the_same(price: float, better: float, worse: float) -> None:
    dear = Offer(name="a", price=price * (1 + break_even_premium(better, worse)), goodput=better)
    assert dear.effective_price == pytest.approx(Offer(name="b", price=price, goodput=worse).effective_price)


def test_cold_waits_for_the_repair_with_the_whole_job_and_hot_only_with_the_blast_radius() -> None:
    hours = restart_hours(STAGES)
    assert hours["cold"] == pytest.approx((0.25 + 0.5 + 0.2 + 1) * 4096)
    assert hours["hot"] == pytest.approx((0.25 + 0.5 + 0.2) * 4096 + 8)
    assert hours["tolerant"] == pytest.approx(0.27 * 4096 + 8)
    assert restart_expense(STAGES, 10, 2.0)["hot"] == pytest.approx(20 * hours["hot"])


def test_a_goodput_of_nothing_has_no_price() -> None:
    with pytest.raises(NoProgress, match="no progress is possible"):
        _ = Offer(name="a", price=1, goodput=0).effective_price
    with pytest.raises(BadNumber):
        _ = Offer(name="a", price=1, goodput=1.5).effective_price


AGREEMENT = Agreement(name="x", tiers=(Tier(0.999, 0.1), Tier(0.99, 0.25)), cap=0.2, claim_days=14)


def test_the_worst_tier_missed_counts_up_to_the_cap() -> None:
    assert AGREEMENT.credit_share(0.9995) == 0
    assert AGREEMENT.credit_share(0.995) == 0.1
    assert AGREEMENT.credit_share(0.9) == 0.2


def test_a_claim_holds_its_evidence_and_its_last_day() -> None:
    month = 30 * 86400.0
    outages = [
        Outage(node="n1", begin=1000, end=5000, what="gpu.lost: GPU 3"),
        Outage(node="n1", begin=4000, end=9000, what="fabric.port_down"),  # overlaps: counted once
        Outage(node="n2", begin=100, end=160, what="too short to count"),
        Outage(node="n3", begin=month + 1, end=month + 99, what="next month"),
    ]
    (claim,) = claims(outages, 0.0, month, fee=1000, agreement=AGREEMENT)
    assert (claim.node, claim.down_seconds) == ("n1", 8000)
    assert claim.credit == pytest.approx(100)
    assert claim.claim_until == month + 14 * 86400
    assert [o.what for o in claim.evidence] == ["gpu.lost: GPU 3", "fabric.port_down"]
    with pytest.raises(BadNumber):
        claims(outages, 10, 10, 1, AGREEMENT)


def test_a_tier_is_missed_only_below_it() -> None:
    assert AGREEMENT.credit_share(0.999) == 0
    assert AGREEMENT.credit_share(0.9989) == 0.1
    assert AGREEMENT.credit_share(0.99) == 0.1
    uncapped = Agreement(name="x", tiers=AGREEMENT.tiers)
    assert (uncapped.credit_share(0.9), uncapped.cap, uncapped.claim_days) == (0.25, 1.0, 30)
    with pytest.raises(BadNumber):
        AGREEMENT.credit_share(1.1)


def claimed(*spans: tuple[float, float]) -> float:
    """Seconds down within a period of a thousand seconds, from 0."""
    outages = [Outage(node="n1", begin=begin, end=end, what="x") for begin, end in spans]
    found = claims(outages, 0.0, 1000.0, fee=100, agreement=AGREEMENT)
    return found[0].down_seconds if found else 0.0


@pytest.mark.parametrize(
    ("spans", "down"),
    [
        ([(100, 200), (150, 180)], 100),  # one inside the other
        ([(100, 200), (300, 400)], 200),
        ([(100, 200), (200, 300)], 200),
        ([(-50, 50)], 50),  # what was before the period is not of it
        ([(950, 2000)], 50),
        ([(-50, 0), (1000, 1100)], 0),
    ],
)
def test_what_was_down_within_the_period_is_counted_once(spans: list[tuple[float, float]], down: float) -> None:
    assert claimed(*spans) == down


def test_the_largest_claim_comes_first_and_then_by_name() -> None:
    outages = [
        Outage(node="n3", begin=0, end=5, what="x"),
        Outage(node="n2", begin=0, end=50, what="x"),
        Outage(node="n1", begin=0, end=5, what="x"),
    ]
    found = claims(outages, 0.0, 1000.0, fee=100, agreement=AGREEMENT)
    assert [claim.node for claim in found] == ["n2", "n1", "n3"]
    assert [claim.credit for claim in found] == [pytest.approx(20), pytest.approx(10), pytest.approx(10)]
    assert found[0].uptime == pytest.approx(0.95)


def test_an_outage_reports_what_was_seen_where_it_was() -> None:
    assert Outage(node="n1", begin=0, end=1, what="gpu.lost", seen="GPU 3").description == "gpu.lost: GPU 3"
    assert Outage(node="n1", begin=0, end=1, what="gpu.lost").description == "gpu.lost"


def test_extras_are_paid_and_credits_paid_back() -> None:
    offer = Offer(name="a", price=2.0, goodput=0.5, extras=0.3, credits=0.1)
    assert (offer.paid, offer.effective_price) == (pytest.approx(2.2), pytest.approx(4.4))
    with pytest.raises(BadNumber):
        _ = Offer(name="a", price=0.0, goodput=0.5).effective_price
    with pytest.raises(BadNumber):
        restart_expense(STAGES, -1, 2.0)


def test_the_evidence_of_a_claim_is_of_the_period_alone() -> None:
    outages = [
        Outage(node="n1", begin=-50, end=0, what="before"),
        Outage(node="n1", begin=100, end=300, what="within"),
        Outage(node="n1", begin=1000, end=1100, what="after"),
        Outage(node="n2", begin=-50, end=-10, what="before"),
    ]
    (claim,) = claims(outages, 0.0, 1000.0, fee=1.0, agreement=AGREEMENT)
    assert [one.what for one in claim.evidence] == ["within"]
    assert claim.credit == pytest.approx(0.2)
    later = claims([Outage(node="n1", begin=5100, end=5300, what="x")], 5000.0, 6000.0, 1.0, AGREEMENT)
    assert later[0].uptime == pytest.approx(0.8)


def test_what_is_left_out_of_an_offer_or_a_recovery() -> None:
    assert Offer(name="a", price=2.0, goodput=1.0) == Offer(name="a", price=2.0, goodput=1.0, extras=0.0, credits=0.0)
    bare = Recovery(job_gpus=10, blast_gpus=8, identify_hours=1, checkpoint_hours=4, start_hours=3, repair_hours=5)
    assert restart_hours(bare) == {"cold": 110, "hot": 60 + 40, "tolerant": 10 + 40}
    assert restart_expense(bare, 2, 3.0) == {"cold": 660, "hot": 600, "tolerant": 300}
    assert restart_expense(bare, 0, 3.0)["cold"] == 0


def test_a_premium_by_hand() -> None:
    assert break_even_premium(0.9, 0.6) == pytest.approx(0.5)
    assert break_even_premium(0.5, 1.0) == pytest.approx(-0.5)
    with pytest.raises(BadNumber):
        break_even_premium(0.9, 0.0)


@pytest.mark.parametrize(("begin", "end"), [(10.0, 10.0), (10.0, 9.0)])
def test_a_period_has_a_length(begin: float, end: float) -> None:
    with pytest.raises(BadNumber):
        claims([], begin, end, 1, AGREEMENT)
