"""The rule that blindness never passes and never hides a failure, on the Check class itself."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Run, Window
from holdfast.node.checks import ALL, STAGES, single_reading
from holdfast.node.checks.check import Check, Limits, disabled

GPUS = tuple(f"node/n1/gpu/{i}" for i in range(3))


def judge(window: Window, limits: Limits) -> Verdict:
    return Verdict(
        rows=tuple(
            Row(gpu, Health.FAIL if value > limits["max"] else Health.PASS, value, limits["max"], f"{value}")
            for gpu, value in window.values("temp").items()
        )
    )


CHECK = Check(
    name="gpu.hot", asks="Is it hot?", about="gpu", part="gpu", reads=("temp", "power"), judge=judge,
    failure_class=FailureClass.SLOWDOWN, remedy="cool it", owner="hardware", limits={"max": 90.0},
)  # fmt: skip


def seen(**values: dict[int, float]) -> History:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset(GPUS))
    for name, by_gpu in values.items():
        history.add(Reading(source="nvml", at=0, signals=[Signal(GPUS[i], name, v) for i, v in by_gpu.items()]))
    return history


def healths(verdict: Verdict) -> dict[str, Health]:
    return {row.subject: row.health for row in verdict.rows}


def test_a_gpu_no_one_read_is_unknown_beside_one_that_fails() -> None:
    verdict = CHECK(seen(temp={0: 95, 1: 50}, power={0: 1, 1: 1}).window(0, 600))
    assert healths(verdict) == {GPUS[0]: Health.FAIL, GPUS[1]: Health.PASS, GPUS[2]: Health.UNKNOWN}
    assert verdict.health is Health.FAIL
    assert verdict.remedy == "cool it"


def test_a_pass_without_everything_it_reads_is_unknown() -> None:
    verdict = CHECK(seen(temp={0: 50, 1: 50, 2: 50}, power={0: 1, 1: 1}).window(0, 600))
    assert healths(verdict)[GPUS[2]] is Health.UNKNOWN
    assert "power was never read" in verdict.summary()


def test_no_gpu_at_all_is_unknown_and_not_a_pass() -> None:
    history = History("n1")
    history.promise("nvml", ("temp", "power"))
    history.add(Reading(source="nvml", at=0, blind="no NVML library"))
    verdict = CHECK(history.window(0, 600))
    assert (verdict.health, verdict.summary()) == (Health.UNKNOWN, "n1: no NVML library")


def test_not_applicable_needs_the_catalog_or_the_manifest_to_say_so() -> None:
    history = seen(temp={})
    history.inventory = Inventory(node="n1", subjects=frozenset(GPUS), lacks={"gpu": "manifest: a CPU node"})
    verdict = CHECK(history.window(0, 600))
    assert set(healths(verdict).values()) == {Health.NOT_APPLICABLE}


def test_limits_are_overridden_by_name() -> None:
    verdict = CHECK(seen(temp={0: 95, 1: 1, 2: 1}, power={0: 1, 1: 1, 2: 1}).window(0, 600), {"max": 99.0})
    assert verdict.health is Health.PASS


def test_a_part_the_node_is_known_to_lack_is_not_judged_even_where_something_answers() -> None:
    history = seen(temp={0: 95, 1: 50, 2: 50}, power={0: 1, 1: 1, 2: 1})
    history.inventory = Inventory(node="n1", subjects=frozenset(GPUS), lacks={"gpu": "manifest: switched off here"})
    assert CHECK(history.window(0, 600)).health is Health.NOT_APPLICABLE


PAGE = (Path(__file__).parents[3] / "docs" / "checks.md").read_text()
REPORTED = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_operators_are_reported_how_far_a_check_looks_back_and_its_limits(check: Check) -> None:
    result = REPORTED[check.name]
    assert f"- history: {check.span:g} s\n" in result
    stages = [stage for stage in STAGES if re.search(rf"stages: .*\b{stage}\b", result)]
    assert stages == [stage for stage, names in STAGES.items() if check.name in names]
    assert dict(re.findall(r"`(\w+) = ([^`]+)`", result)) == {key: f"{value:g}" for key, value in check.limits.items()}


def test_a_signal_of_the_node_counts_for_every_subject() -> None:
    history = seen(temp={0: 50, 1: 50, 2: 50})
    history.add(Reading(source="bmc", at=0, signals=[Signal("node/n1", "power", 1.0)]))
    assert CHECK(history.window(0, 600)).health is Health.PASS


def test_a_failure_stands_though_something_was_not_read() -> None:
    verdict = CHECK(seen(temp={0: 95, 1: 50, 2: 50}).window(0, 600))
    assert healths(verdict) == {GPUS[0]: Health.FAIL, GPUS[1]: Health.UNKNOWN, GPUS[2]: Health.UNKNOWN}


def test_what_was_never_expected_is_judged_where_nothing_was_promised() -> None:
    history = seen(temp={0: 50}, power={0: 1})
    history.inventory = Inventory(node="n1")
    assert healths(CHECK(history.window(0, 600))) == {GPUS[0]: Health.PASS}


def test_remedy_owner_and_class_are_reported_of_trouble_only() -> None:
    good = CHECK(seen(temp={0: 1, 1: 1, 2: 1}, power={0: 1, 1: 1, 2: 1}).window(0, 600))
    assert (good.health, good.remedy, good.owner, good.failure_class) == (Health.PASS, "", "", None)
    bad = CHECK(seen(temp={0: 95, 1: 1, 2: 1}, power={0: 1, 1: 1, 2: 1}).window(0, 600))
    assert (bad.remedy, bad.owner, bad.failure_class) == ("cool it", "hardware", FailureClass.SLOWDOWN)


def test_a_verdicts_own_words_win_over_the_checks() -> None:
    def own(window: Window, limits: Limits) -> Verdict:
        rows = tuple(Row(gpu, Health.DEGRADED) for gpu in GPUS)
        return Verdict(rows=rows, remedy="move it", owner="network", failure_class=FailureClass.CRASH)

    verdict = replace(CHECK, judge=own)(seen(temp={}).window(0, 600))
    assert (verdict.remedy, verdict.owner, verdict.failure_class) == ("move it", "network", FailureClass.CRASH)


def test_a_check_that_is_switched_off_is_seen_to_be() -> None:
    verdict = disabled(CHECK, "the manifest says so")
    assert (verdict.check, verdict.disabled, verdict.reason, verdict.rows) == (
        "gpu.hot",
        True,
        "the manifest says so",
        (),
    )


@pytest.mark.parametrize(
    ("looks", "seconds"),
    [([], 0.0), ([(5.0, 5.0)], 0.0), ([(5.0, 9.0)], 4.0), ([(5.0, 9.0), (9.0, 30.0)], 25.0)],
)
def test_how_long_something_was_watched(looks: list[tuple[float, float]], seconds: float) -> None:
    assert single_reading.seconds_seen([Run(start, end, 0.0) for start, end in looks]) == seconds


def test_one_look_speaks_for_passes_only() -> None:
    passed, failed = Row("node/n1", Health.PASS), Row("node/n1", Health.FAIL, reason="hot")
    assert single_reading.not_judged(passed).reason == single_reading.ONE_READING
    assert single_reading.not_judged(Row("node/n1", Health.PASS, reason="cold")).reason == "cold"
    assert single_reading.not_judged(failed) is failed
    both = [failed, single_reading.not_judged(passed)]
    assert single_reading.evidence_of_one_reading(both) == (single_reading.ONE_READING,)
    assert single_reading.evidence_of_one_reading([failed]) == ()


def test_what_could_be_read_and_was_not_judged_is_reported_not_to_be_seen() -> None:
    no_reader = replace(CHECK, judge=lambda window, limits: Verdict(rows=()))
    verdict = no_reader(seen(temp={0: 1, 1: 1, 2: 1}, power={0: 1, 1: 1, 2: 1}).window(0, 600))
    assert {row.reason for row in verdict.rows} == {"not seen"}


@pytest.mark.parametrize(
    ("hot", "power", "health", "runbook", "remedy"),
    [
        (95, {0: 1, 1: 1, 2: 1}, "fail", "gpu.hot", "cool it"),
        (50, {0: 1, 1: 1, 2: 1}, "pass", "", ""),
        (50, {0: 1}, "unknown", "gpu.hot", ""),
    ],
)
def test_what_is_not_well_names_its_runbook_in_json_too(
    hot: float, power: dict[int, float], health: str, runbook: str, remedy: str
) -> None:
    shown = CHECK(seen(temp=dict.fromkeys(range(3), hot), power=power).window(0, 600)).as_json()
    assert (shown["health"], shown["runbook"], shown["remedy"]) == (health, runbook, remedy)


def test_the_runbook_of_every_check_is_there() -> None:
    assert all((Path(__file__).parents[3] / "runbooks" / f"{check.name}.md").is_file() for check in ALL)
