"""What plans answer: intervals that hold the answer, doubts that are said, and nothing that is passed over silently."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.planning import checkpoint, cost, limit, price, risk, spares
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.copies import CopyTexts
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.run import RunQuestion

RUN = RunQuestion(
    gpus="16384", rate="llama3", events=None, gpu_years=None, write="25s", state=None, bandwidth=None, restart=None,
    interval=None, memory_write="2s", memory_restart=None, memory_survives=None, target=None,
)  # fmt: skip
INCIDENT = cost.CostQuestion(
    **dict.fromkeys(cost.CostQuestion.__dataclass_fields__, None) | {"gpus": "1024", "price": "h100"}
)
STAGES: dict[str, str | None] = dict.fromkeys(("identify", "interval", "start", "repair", "failover", "blast"))


def risk_of(rate: str | None, shape: str | None = None, age: str | None = None, **counts: str) -> dict[str, Any]:
    asked = (counts.get("events"), counts.get("gpu_years"), shape, age)
    return risk.answer(PlanInputs(), "256", "30", rate, *asked).document()


def spares_of(crews: str | None, **counts: str) -> dict[str, Any]:
    rate, events, years = counts.get("rate"), counts.get("events"), counts.get("gpu_years")
    return spares.answer(PlanInputs(), "128", None, rate, events, years, None, None, crews, None).document()


@pytest.mark.parametrize("shape", ["0.5", "1", "2"])
def test_the_interval_of_the_rate_holds_the_answer_whatever_the_shape(shape: str) -> None:
    found = risk_of(None, shape, events="3", gpu_years="100")
    low, high = found["probability_95_percent"]
    assert low < found["probability"] < high and low < found["probability_over_the_rate"] < high
    assert found["probability_at_public_rates"]["llama3"] == pytest.approx(risk_of("llama3", shape)["probability"])


def test_new_parts_that_fail_early_have_their_first_failure_sooner() -> None:
    found = risk_of("llama3", "0.5")
    assert found["mean_seconds_between_failures"] == pytest.approx(30 * 86_400 / found["expected_failures"])
    assert found["mean_seconds_to_first_failure"] < found["mean_seconds_between_failures"]
    assert "mean_seconds_to_first_failure" not in risk_of("llama3")


def test_a_rate_says_whether_it_is_a_chance_or_a_count() -> None:
    assert risk_of("0.17291/y")["probability"] == pytest.approx(risk_of("llama3")["probability"], rel=1e-3)
    assert risk_of("1%") == risk_of("0.01") | {"inputs": risk_of("1%")["inputs"]}
    assert (
        risk_of("0.9/y")["expected_failures"] < risk_of("1")["expected_failures"] < risk_of("0.9")["expected_failures"]
    )
    assert any("0.9/y is a count" in note for note in risk_of("0.9")["notes"])
    assert not any("is a count" in note for text in ("0.01", "90%", "0.9/y") for note in risk_of(text)["notes"])


def test_spares_are_reported_though_the_upper_end_of_the_rate_is_hopeless() -> None:
    found = spares_of("5", events="20", gpu_years="50")
    assert found["spares"] > 0 and found["spares_95_percent"][1] is None
    assert found["spares_with_one_more_crew"] < found["spares"]


def test_the_curve_of_the_spares_is_that_of_the_crews() -> None:
    chart = spares.answer(PlanInputs(), "128", None, "rsc1", None, None, None, None, "5", None).chart()
    unlimited = spares.answer(PlanInputs(), "128", None, "rsc1", None, None, None, None, None, None).chart()
    assert chart.mark is not None and chart.mark[1] >= 0.99 and chart.lines[0].name == "5 crews"
    assert dict(chart.lines[0].points)[5.0] < dict(unlimited.lines[0].points)[5.0]


def test_copies_say_what_memory_survives() -> None:
    def with_copies(**expected: Any) -> dict[str, Any]:
        return checkpoint.answer(PlanInputs(), replace(RUN, copies=CopyTexts(**expected))).document()

    alone = with_copies(copies="2")
    together = with_copies(copies="2", domains=("rack=8@0.2",))
    assert together["seconds_between_losses"] == pytest.approx(365 * 86_400 / (2048 / 8 * 0.2), rel=0.01)
    assert (
        together["memory_tier_ettr"]
        < alone["memory_tier_ettr"]
        == pytest.approx(with_copies(copies="2", domains=("rack=8@0.2",), apart=True)["memory_tier_ettr"])
    )
    assert alone["loss_chance_by_nodes_dead_at_once"]["2"] == pytest.approx(1 / 2047)
    assert with_copies(copies="3")["seconds_between_losses"] > 1000 * alone["seconds_between_losses"]


def test_numbers_that_change_nothing_are_named() -> None:
    notes = cost.answer(PlanInputs(), replace(INCIDENT, slow="20%", hours="3h", critical="50%")).notes
    assert {"--slow changes nothing without --slow-for", "--hours changes nothing without --people"} <= set(notes)
    assert "--critical changes nothing without --day-value" in notes
    assert not any("changes nothing" in note for note in cost.answer(PlanInputs(), INCIDENT).notes)


def test_extras_and_credits_are_in_the_effective_price() -> None:
    found = price.answer(PlanInputs(), ["a=2.00+0.30-0.05@90%"], None, None, None, STAGES, None, None).document()
    assert found["effective_price"]["a"] == pytest.approx(2.25 / 0.9)


def test_one_link_is_no_storage() -> None:
    found = limit.answer(PlanInputs(), "epoch", None, None, None, None, None, "2/3", False, "0s").document()
    assert found["wall_gpus"] == pytest.approx(5.832e18, rel=1e-3)


def test_the_memory_tier_outside_its_validity_says_so() -> None:
    found = checkpoint.answer(PlanInputs(), replace(RUN, memory_write="1h"))
    assert any("outside its validity" in figure.shown for figure in found.figures if figure.key == "memory_tier_ettr")


@pytest.mark.parametrize(
    ("make", "expected_text"),
    [
        (lambda: risk_of("0.2", age="1e300"), "--age-days: expected a number from 0 to 36,500"),
        (lambda: risk_of("120%"), "yearly probability"),
        (lambda: spares_of("0", rate="rsc1"), "--crews: expected 1 or more"),
        (
            lambda: checkpoint.answer(PlanInputs(), replace(RUN, restart="3d")),
            "no progress is possible: a write takes 25 s",
        ),
        (lambda: checkpoint.answer(PlanInputs(), replace(RUN, copies=CopyTexts(copies="1"))), "from 2 to 16"),
        (lambda: checkpoint.answer(PlanInputs(), replace(RUN, copies=CopyTexts(rebuild="3m"))), "--copies is missing"),
        (
            lambda: checkpoint.answer(PlanInputs(), replace(RUN, copies=CopyTexts(copies="2", domains=("rack",)))),
            "--domain: expected NAME=NODES@FAILURES_PER_YEAR",
        ),
        (
            lambda: checkpoint.answer(
                PlanInputs(), replace(RUN, copies=CopyTexts(copies="2", domains=("rack=2@365",)))
            ),
            "copies in memory outlive nothing",
        ),
        (
            lambda: checkpoint.answer(PlanInputs(), replace(RUN, memory_survives="0.9", copies=CopyTexts(copies="2"))),
            "say the same twice",
        ),
        (lambda: cost.answer(PlanInputs(), replace(INCIDENT, wage="1e300")), "--wage: expected a number from 0"),
        (
            lambda: cost.answer(PlanInputs(), replace(INCIDENT, price="0")),
            "--price: expected dollars per GPU-hour, above 0",
        ),
        (
            lambda: price.answer(PlanInputs(), ["a=2@.9"], "8", None, "1", STAGES, None, "2h"),
            "--down: expected --sla with it",
        ),
        (
            lambda: price.answer(PlanInputs(), ["a=0@.9"], None, None, None, STAGES, None, None),
            "a: price: expected a number above",
        ),
        (lambda: price.answer(PlanInputs(), ["a=2-3@.9"], None, None, None, STAGES, None, None), "credits below"),
        (lambda: price.answer(PlanInputs(), ["a=2@.9"], "8", "1e12", "1", STAGES, None, None), "--days: expected"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(make: Any, expected_text: str) -> None:
    with pytest.raises((BadNumber, NoProgress)) as refused:
        make()
    assert expected_text in str(refused.value)


@given(st.text(max_size=30) | st.from_regex(r"[a-z]=[0-9.+@-]{1,12}", fullmatch=True))
def test_any_offer_domain_or_rate_is_answered_or_refused(text: str) -> None:
    makes: list[Callable[[], PlanAnswer]] = [
        lambda: price.answer(PlanInputs(), [text], None, None, None, STAGES, None, None),
        lambda: checkpoint.answer(PlanInputs(), replace(RUN, copies=CopyTexts(copies="2", domains=(text,)))),
        lambda: risk.answer(PlanInputs(), "8", "3", text, None, None, None, None),
    ]
    for make in makes:
        try:
            assert make().document()["headline"]
        except (BadNumber, NoProgress) as refusal:
            assert str(refusal)
