"""Checkpoints: the figures beside each other, a target's storage, copies, and what is said twice."""

from dataclasses import replace
from math import exp, expm1, sqrt

import pytest

from holdfast.economics.costs import checkpointing as c
from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.planning import checkpoint
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.copies import CopyTexts
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.run import RunQuestion

# 1,000 GPUs that fail 8.76 times a year: one failure an hour.
HOURLY = RunQuestion(
    gpus="1000", rate="8.76/y", events=None, gpu_years=None, write="20s", state=None, bandwidth=None, restart="2m",
    interval=None, memory_write=None, memory_restart=None, memory_survives=None, target=None,
)  # fmt: skip


def asked(**more: object) -> PlanAnswer:
    return checkpoint.answer(PlanInputs(), replace(HOURLY, **more))  # type: ignore[arg-type]


def test_an_hour_between_failures_by_hand() -> None:
    found = asked().document()
    assert found["mean_seconds_between_failures"] == pytest.approx(3600.0)
    assert found["young_seconds"] == pytest.approx(sqrt(2 * 20 * 3600))
    assert found["daly_seconds"] == pytest.approx(sqrt(2 * 20 * 3600) - 20)
    interval = found["interval_seconds"]
    share = interval / (3600 * exp(120 / 3600) * expm1((interval + 20) / 3600))
    assert found["ettr"] == pytest.approx(share)
    assert sum(found["ledger"].values()) == pytest.approx(1.0)
    assert found["ledger"]["productive"] == pytest.approx(share)
    assert found["write_seconds"] == 20.0
    assert "ettr_95_percent" not in found


def test_a_write_is_reported_or_size_and_bandwidth() -> None:
    assert asked(write=None, state="40GB", bandwidth="2GB/s").document()["write_seconds"] == 20.0
    for wrong in (
        {"bandwidth": "2GB/s"},
        {"write": None},
        {"write": None, "state": "40GB"},
        {"write": None, "bandwidth": "2GB/s"},
        {"write": "0s"},
        {"write": None, "state": "0B", "bandwidth": "2GB/s"},
    ):
        with pytest.raises(BadNumber):
            asked(**wrong)


def test_another_interval_is_set_beside_the_best() -> None:
    there = asked(interval="1h").document()["ettr_at_interval"]
    assert there == pytest.approx(c.ettr(3600.0, 20.0, 3600.0, 120.0))
    assert "ettr_at_interval" not in asked().document()
    with pytest.raises(BadNumber):
        asked(interval="0s")


def test_counts_give_an_interval_from_the_worse_to_the_better() -> None:
    found = asked(rate=None, events="876", gpu_years="100").document()
    low, high = found["ettr_95_percent"]
    assert low < found["ettr"] < high
    hopeless = asked(rate=None, events="1", gpu_years="0.02", gpus="100000", write="1s", restart="1s").document()
    assert hopeless["ettr_95_percent"][0] >= 0.0


def test_storage_to_buy_reaches_the_target() -> None:
    found = asked(target="80%", state="1TB").document()
    write = 1e12 / found["storage_bytes_per_second_for_target"]
    assert c.best_ettr(write, 3600.0, 120.0) == pytest.approx(0.8, abs=1e-6)
    assert "storage_bytes_per_second_with_memory_tier" not in found
    both = asked(target="80%", state="1TB", memory_write="1s").document()
    assert both["storage_bytes_per_second_with_memory_tier"] < both["storage_bytes_per_second_for_target"]
    with pytest.raises(BadNumber, match="--target: expected --state"):
        asked(target="80%")


def test_a_memory_tier_by_hand() -> None:
    """First order: 95 % of failures are outlived by copies that cost a second, the rest by storage."""
    found = asked(memory_write="1s").document()
    multiple = found["memory_tier_multiples"][1]
    a, b = 1 + 20 / multiple, (0.95 + 0.05 * multiple) / 3600
    waste = sqrt(2 * a * b) + (0.95 * 120 + 0.05 * 120) / 3600  # two minutes to restart from either
    assert found["memory_tier_ettr"] == pytest.approx(1 - waste)
    assert (found["memory_wins"], found["memory_tier_valid"]) == (True, True)
    assert asked(memory_write="19s", memory_survives="5%").document()["memory_wins"] is False


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory_restart": "1m"},
        {"memory_survives": "0.9"},
        {"copies": CopyTexts(copies="2")},
        {"memory_write": "0s"},
        {"memory_write": "1s", "memory_survives": "1"},
        {"memory_write": "1s", "memory_survives": "0"},
        {"memory_write": "1s", "copies": CopyTexts(copies="17")},
        {"memory_write": "1s", "copies": CopyTexts(copies="2.5")},
        {"memory_write": "1s", "copies": CopyTexts(copies="2", gpus_per_node="0")},
        {"memory_write": "1s", "copies": CopyTexts(copies="2", gpus_per_node="501")},
        {"memory_write": "1s", "copies": CopyTexts(copies="2", rebuild="0s")},
        {"memory_write": "1s", "copies": CopyTexts(copies="2", domains=("rack=8@366",))},
        {"memory_write": "1s", "copies": CopyTexts(apart=True)},
        {"memory_write": "1s", "copies": CopyTexts(domains=("rack=8@1",))},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadNumber):
        asked(**wrong)


def test_two_copies_by_hand() -> None:
    """125 nodes make 62 pairs. Each of 124 nodes fails 70.08 times a year; the other dies within ten minutes."""
    found = asked(memory_write="1s", copies=CopyTexts(copies="2")).document()
    each = 8.76 * 8 / 31_536_000
    assert found["seconds_between_losses"] == pytest.approx(1 / (124 * each * each * 600))
    assert found["loss_chance_by_nodes_dead_at_once"] == {
        "2": pytest.approx(1 / 123),
        "3": pytest.approx(3 / 123),
        "4": pytest.approx(1 - (62 * 61 * 60 * 59 / 24) * 16 / (124 * 123 * 122 * 121 / 24)),
    }
    survived = 1 - 124 * each * each * 600 * 3600
    assert found["inputs"]["memory-survives"]["value"] == pytest.approx(survived)
    small = asked(gpus="24", memory_write="1s", copies=CopyTexts(copies="3")).document()
    assert set(small["loss_chance_by_nodes_dead_at_once"]) == {"2", "3"}


def test_a_rack_that_holds_both_copies_takes_them_unless_they_are_apart() -> None:
    def every(**more: object) -> float:
        texts = CopyTexts(copies="2", domains=("rack=4@10",), **more)  # type: ignore[arg-type]
        return float(asked(memory_write="1s", copies=texts).document()["seconds_between_losses"])

    each = 8.76 * 8 / 31_536_000
    alone = 124 * each * each * 600
    assert every(apart=True) == pytest.approx(1 / alone)
    assert every() == pytest.approx(1 / (alone + 124 / 4 * 10 / 31_536_000))


def test_a_run_that_stands_still_is_no_plan() -> None:
    with pytest.raises(NoProgress, match="no progress is possible"):
        asked(restart="8h")
    assert asked(restart="3h").document()["ettr"] > 0.001


def test_large_losses_are_doubted() -> None:
    assert not any("losses are large" in note for note in asked().notes)
    large = asked(write="10m", restart="20m")
    assert any("losses are large" in note for note in large.notes)
    assert large.document()["closed_form_valid"] is False
    assert any("do not use" in figure.shown for figure in large.figures if figure.key == "closed_form_ettr")
    assert not any("do not use" in figure.shown for figure in asked().figures)
    assert any("first order" in note for note in asked(memory_write="1s").notes)
    assert not any("memory tier" in note for note in asked().notes)


def test_the_curve_reaches_twentyfold_both_ways() -> None:
    chart = asked().chart()
    best = asked().document()["interval_seconds"]
    (line,) = chart.lines
    assert line.points[0][0] == pytest.approx(best / 20 / 60)
    assert line.points[-1] == (pytest.approx(best * 20 / 60), pytest.approx(c.ettr(best * 20, 20.0, 3600.0, 120.0)))
    assert chart.mark == (pytest.approx(best / 60), pytest.approx(asked().document()["ettr"]))


def test_what_is_missing_or_not_a_share_is_named() -> None:
    for wrong in ({"write": None}, {"write": None, "state": "40GB"}, {"write": None, "bandwidth": "2GB/s"}):
        with pytest.raises(BadNumber, match="--write is missing"):
            asked(**wrong)
    for share in ("0", "1"):
        with pytest.raises(BadNumber, match="--memory-survives: expected a share above 0 and below 1"):
            asked(memory_write="1s", memory_survives=share)


def test_what_is_shown_to_people() -> None:
    def shown(found: PlanAnswer, key: str) -> str:
        return next(figure.shown for figure in found.figures if figure.key == key)

    assert shown(asked(memory_write="1s"), "memory_tier_ettr").endswith(" without: worth it")
    poor = asked(memory_write="19s", memory_survives="5%")
    assert shown(poor, "memory_tier_ettr").endswith(" without: not worth it")
    assert [figure.key for figure in asked(rate=None, events="876", gpu_years="100").figures][1] == "ettr_95_percent"
    flag = {given.name: given.shown for given in asked(memory_write="1s", copies=CopyTexts(copies="2")).inputs}
    assert flag["apart"] == "no"
    there = {
        given.name: given.shown for given in asked(memory_write="1s", copies=CopyTexts(copies="2", apart=True)).inputs
    }
    assert there["apart"] == "yes"
    assert any("is a count" in note for note in asked(rate="0.9", gpus="10000").notes)
    assert not any("is a count" in note for note in asked().notes)


def test_a_curve_that_ends_in_a_standstill_says_nothing_gets_done() -> None:
    slow = asked(write="30m", restart="1s")
    assert slow.chart().lines[0].points[-1][1] < 0.001
    assert slow.chart().log_x


def test_the_worse_end_of_a_rate_may_be_hopeless() -> None:
    found = asked(rate=None, events="1", gpu_years="0.1", gpus="120000", write="60s", restart="1s").document()
    assert found["ettr_95_percent"][0] == 0.0
