"""A failure rate: a public one, a number that says what it is, or counts."""

from math import log

import pytest

from holdfast.catalog.economics import public_rates
from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.rate import rate


@pytest.mark.parametrize(
    ("text", "per_year", "doubted"),
    [
        ("1%", -log(0.99), False),
        ("0.01", -log(0.99), False),
        ("0.049", -log(0.951), False),
        ("0.05", -log(0.95), True),  # from here on a chance and a count differ by more than people mind
        ("0.5", -log(0.5), True),
        ("50%", -log(0.5), False),
        ("0.5/y", 0.5, False),
        ("1", 1.0, False),
        ("2.5", 2.5, False),
        ("365", 365.0, False),
    ],
)
def test_what_a_number_means(text: str, per_year: float, doubted: bool) -> None:
    found = rate(PlanInputs(), text)
    assert (found.per_gpu_year, found.posterior, bool(found.caveat)) == (pytest.approx(per_year), None, doubted)


@pytest.mark.parametrize("text", ["0", "0/y", "365.1", "x", "1e999", "100%", "-1"])
def test_what_no_gpu_has_is_refused(text: str) -> None:
    with pytest.raises(BadNumber):
        rate(PlanInputs(), text)


def test_own_counts_have_an_interval() -> None:
    found = rate(PlanInputs(), None, "3", "100")
    assert found.per_gpu_year == pytest.approx(0.035)
    assert found.posterior is not None
    assert (found.posterior.events, found.posterior.gpu_years) == (3, 100.0)


@pytest.mark.parametrize(
    ("text", "events", "years", "expected"),
    [
        ("llama3", "3", "100", "not both"),
        (None, "3", None, "--gpu-years is missing"),
        (None, None, "3", "--events is missing"),
        (None, "2.5", "3", "whole number"),
        (None, "2", "0", "above 0"),
        (None, "1000", "2", "say nothing yet"),
        (None, None, None, "--rate is missing"),
    ],
)
def test_counts_that_say_nothing_are_refused(text: str | None, events: str, years: str, expected: str) -> None:
    with pytest.raises(BadNumber, match=expected):
        rate(PlanInputs(), text, events, years)


def test_the_fleets_own_history_is_used_where_no_one_says_otherwise() -> None:
    counted = PlanInputs(known={"events": ("3", "history"), "gpu-years": ("100", "history")})
    assert rate(counted, None).per_gpu_year == pytest.approx(0.035)
    assert rate(PlanInputs(known={"rate": ("0.2/y", "business_context")}), None).per_gpu_year == pytest.approx(0.2)
    assert rate(counted, "0.5/y").per_gpu_year == pytest.approx(0.5)


@pytest.mark.parametrize("name", list(public_rates()))
def test_a_public_rate_is_that_of_its_counts_where_it_has_some(name: str) -> None:
    known, asked = public_rates()[name], PlanInputs()
    found = rate(asked, name)
    if known.events is not None and known.gpu_days is not None:
        assert found.per_gpu_year == pytest.approx(known.events / (known.gpu_days / 365))
        assert found.posterior is not None
        assert found.posterior.gpu_years == pytest.approx(known.gpu_days / 365)
    elif known.probability:
        assert found.per_gpu_year == pytest.approx(-log(1 - known.per_gpu_year))
    else:
        assert found.per_gpu_year == known.per_gpu_year
    assert (found.name, found.caveat, asked.given[0].name) == (name, known.caveat, "rate")


def test_how_a_number_was_read_is_reported() -> None:
    for text, how in (
        ("0.5/y", "given, as failures per GPU-year: 0.5/y"),
        ("1%", "given, as the chance to fail within a year: 1%"),
    ):
        asked = PlanInputs()
        rate(asked, text)
        assert asked.given[0].source == how


def test_counts_without_time_are_refused_in_words() -> None:
    with pytest.raises(BadNumber, match="own counts: expected"):
        rate(PlanInputs(), None, "2", "0")
    with pytest.raises(BadNumber, match="--rate: expected failures per GPU-year such as"):
        rate(PlanInputs(), "1e999")
