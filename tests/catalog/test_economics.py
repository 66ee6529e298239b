"""Public rates and prices: each has its source, and what is derived from counts follows from them."""

import pytest

from holdfast.catalog.economics import gpu_prices, public_rates, wage


def test_every_rate_has_a_source_a_caveat_and_one_way_to_be_reported() -> None:
    for rate in public_rates().values():
        assert rate.source and rate.caveat and rate.counts
        assert (rate.events is None) == (rate.gpu_days is None) == bool(rate.per_gpu_year)


@pytest.mark.parametrize(("name", "per_node_day"), [("rsc1", 6.50e-3), ("rsc2", 2.34e-3)])
def test_node_days_became_gpu_years_of_eight_to_a_node(name: str, per_node_day: float) -> None:
    assert public_rates()[name].per_gpu_year == pytest.approx(per_node_day * 365 / 8, rel=1e-4)


def test_llama3_is_its_counts() -> None:
    llama = public_rates()["llama3"]
    assert (llama.events, llama.gpu_days) == (419, 16_384 * 54)


def test_every_price_has_a_date_and_lies_in_its_range() -> None:
    for price in gpu_prices().values():
        assert price.source and price.date and price.low <= price.per_hour <= price.high
    assert wage()[0] == pytest.approx(200_000 / 2000 * 1.4)
