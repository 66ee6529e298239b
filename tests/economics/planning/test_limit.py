"""How far a run scales: sentences, intervals and what may be asked."""

from math import inf

import pytest

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.limits import ScaledRun, largest, stalled_by_restarts, wall
from holdfast.economics.planning import limit
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.inputs import PlanInputs

YEAR = 31_536_000.0


def asked(rate: str | None = "1", **more: str | bool | None) -> PlanAnswer:
    texts = {"events": None, "years": None, "state": None, "gpus": None, "bandwidth": None, "exponent": None,
             "growing": False, "restart": None} | more  # fmt: skip
    return limit.answer(PlanInputs(), rate, *texts.values())  # type: ignore[arg-type]


def test_what_no_one_reported_is_a_frontier_model_on_llamas_storage() -> None:
    run = ScaledRun(gpu_seconds_between=YEAR, state_bytes=5e12, bytes_per_second=2e12, reference_gpus=16384.0,
              growing=False, network_exponent=0.0, restart_seconds=600.0)  # fmt: skip
    found = asked().document()
    assert found["gpus_at_90_percent"] == pytest.approx(largest(run, 0.9))
    assert found["gpus_at_50_percent"] == pytest.approx(largest(run, 0.5))
    assert found["wall_gpus"] == pytest.approx(wall(run))
    assert found["restart_wall_gpus"] == pytest.approx(stalled_by_restarts(run))
    assert found["write_seconds_at_reference"] == pytest.approx(2.5)


def test_one_link_is_the_bandwidth_where_the_network_grows() -> None:
    assert asked(exponent="2/3").document()["inputs"]["bandwidth"]["value"] == 50e9
    assert any("our own derivation" in note for note in asked(exponent="2/3").notes)
    assert not any("our own derivation" in note for note in asked().notes)


@pytest.mark.parametrize(("text", "good"), [("0", True), ("1", True), ("2/3", True), ("1.1", False), ("-0.1", False),
                                            ("1/0", False), ("x", False)])  # fmt: skip
def test_an_exponent_is_from_storage_to_full_bisection(text: str, good: bool) -> None:
    if good:
        assert asked(exponent=text).headline
    else:
        with pytest.raises(BadNumber, match="--network-exponent"):
            asked(exponent=text)


def test_sizes_without_an_end_and_runs_without_a_beginning_are_reported() -> None:
    assert "any size" in asked(exponent="1", restart="0s").headline
    poor = asked("365", state="1PB", bandwidth="1TB/s")
    assert poor.headline.startswith("Not even one GPU is productive 90 % of the time; 50 % up to ")
    assert poor.document()["gpus_at_90_percent"] is None


def test_the_interval_of_the_rate_is_from_the_worse_to_the_better_end() -> None:
    found = asked(None, events="10", years="10").document()
    low, high = found["gpus_at_90_percent_95_percent"]
    assert low < found["gpus_at_90_percent"] < high
    assert "gpus_at_90_percent_95_percent" not in asked().document()


def test_a_restart_of_nothing_does_not_matter() -> None:
    def names(found: PlanAnswer) -> set[str]:
        return {one["input"] for one in found.document()["what_matters_most"]}

    assert "restart" in names(asked())
    assert "restart" not in names(asked(restart="0s"))


def test_the_curve_reaches_a_hundredfold_both_ways() -> None:
    chart = asked().chart()
    most = asked().document()["gpus_at_90_percent"]
    (line,) = chart.lines
    assert (line.points[0][0], line.points[-1][0]) == (pytest.approx(most / 100), pytest.approx(most * 100))
    assert chart.mark == (pytest.approx(most), pytest.approx(0.9, abs=1e-3))
    endless = asked(exponent="1", restart="0s").chart()
    assert endless.mark is not None
    assert endless.mark[0] == 16384.0


@pytest.mark.parametrize("wrong", [{"state": "0B"}, {"bandwidth": "0B/s"}, {"gpus": "0"}])
def test_nothing_is_written_nowhere(wrong: dict[str, str]) -> None:
    with pytest.raises(BadNumber):
        asked(**wrong)


def test_growing_is_reported_among_the_inputs() -> None:
    assert asked(growing=True).document()["inputs"]["growing"]["value"] == 1.0
    assert asked(growing=True).document()["wall_gpus"] < asked().document()["wall_gpus"] < inf


def test_what_is_shown_to_people() -> None:
    def shown(found: PlanAnswer, key: str) -> str:
        return next(figure.shown for figure in found.figures if figure.key == key)

    assert shown(asked(exponent="1", restart="0s"), "wall_gpus") == "none"
    assert shown(asked(), "wall_gpus").endswith(" GPUs")
    assert shown(asked(), "gpus_at_90_percent").endswith(" GPUs")
    assert asked().headline.startswith("90 % of the time is productive up to ")
    sources = {given.name: given.source for given in asked().inputs}
    assert sources["network-exponent"].startswith("default")
    assert {given.name: given.source for given in asked(exponent="0").inputs}["network-exponent"] == "given"
    assert {given.name: given.shown for given in asked(growing=True).inputs}["growing"] == "yes"
    assert {given.name: given.shown for given in asked().inputs}["growing"] == "no"


def test_a_doubtful_rate_is_reported() -> None:
    assert any("is a count" in note for note in asked("0.9").notes)
    assert len(asked("0.9/y").notes) == 1


def test_what_matters_is_of_the_size_at_ninety_percent() -> None:
    found = asked().document()
    half = next(one for one in found["what_matters_most"] if one["input"] == "time between failures")
    run = ScaledRun(gpu_seconds_between=YEAR / 2, state_bytes=5e12, bytes_per_second=2e12, restart_seconds=600.0)
    assert half["halved"] == pytest.approx(largest(run, 0.9))


def test_a_curve_starts_with_one_gpu() -> None:
    assert asked("365", restart="1h").chart().lines[0].points[0][0] == pytest.approx(1.0)
    assert asked("365", state="1PB", bandwidth="1TB/s").chart().mark[0] == 16384.0  # type: ignore[index]
    assert asked().chart().log_x
