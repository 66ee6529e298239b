"""The rule that blindness never passes and never hides a failure, on the Check class itself."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits

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


def test_a_gpu_nobody_read_is_unknown_beside_one_that_fails() -> None:
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
