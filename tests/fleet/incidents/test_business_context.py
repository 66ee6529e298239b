"""The business context file: every mistake is named, with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.incidents.business_context import parse
from holdfast.model.settings import SettingsError

GOOD = """
horizon_hours = 12
[prices]
gpu_hour = 3.1
[on_call]
facilities = "Dana, 555 0100"
[[job]]
name = "llama"
gpus = 512
milestone = "final"
[[milestone]]
name = "final"
due = 2026-12-01T00:00:00Z
value_per_day = 250000
float_days = 2
"""


def test_a_good_one() -> None:
    business_context = parse(GOOD, "p.toml")
    assert business_context.prices.gpu_hour == 3.1 and business_context.horizon_hours == 12
    milestone = business_context.milestone_of("job/llama")
    assert milestone is not None and milestone.value_per_day == 250_000
    assert business_context.on_call == {"facilities": "Dana, 555 0100"}


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("gpu_hour = 3.1", "gpu_hour = -3.1", "gpu_hour: expected a number above 0, found -3.1"),
        ("value_per_day = 250000", "value_per_day = -1", "final: value_per_day: expected 0 or more, found -1"),
        ("gpus = 512", "gpus = -512", "llama: gpus: expected 0 or more"),
        ("gpus = 512", "gpus = 'many'", "line 9: job[0].gpus"),
        ('milestone = "final"', 'milestone = "last"', "line 10: job[0].milestone: no milestone is called 'last'"),
        ("due = 2026-12-01T00:00:00Z", "due = 2026-12-01T00:00:00", "expected a time with its zone"),
        ("due = 2026-12-01T00:00:00Z", "", "milestone[0].due: is missing"),
        ("horizon_hours = 12", "horizon_hours = true", "expected hours above 0"),
        ("horizon_hours = 12", "horizons = 12", "horizons: unknown key"),
        ('facilities = "Dana, 555 0100"', "facilities = 5", "expected an on-call contact"),
        ("[prices]", "[prices", "not valid TOML"),
    ],
)
def test_each_mistake_is_named(before: str, after: str, why: str) -> None:
    assert before in GOOD
    with pytest.raises(SettingsError, match=r"p\.toml") as refused:
        parse(GOOD.replace(before, after), "p.toml")
    assert why in str(refused.value)


def test_all_mistakes_at_once() -> None:
    text = GOOD.replace("gpu_hour = 3.1", "gpu_hour = 0").replace("gpus = 512", "gpus = -1")
    with pytest.raises(SettingsError) as refused:
        parse(text, "p.toml")
    assert "gpu_hour" in str(refused.value) and "gpus" in str(refused.value)


@given(st.text(max_size=200))
def test_whatever_is_in_it_is_refused_in_words(text: str) -> None:
    try:
        parse(text, "p.toml")
    except SettingsError as error:
        assert "p.toml" in str(error)
