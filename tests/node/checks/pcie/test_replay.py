"""pcie.replay: scaled by generation and lanes, so that a fast wide link is not blamed for being one."""

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.model.verdict import Verdict
from holdfast.node.checks.pcie.replay import CHECK

GPU = "node/n1/gpu/0"


def ask(*replays: float, generation: float = 5.0, width: float = 16.0) -> Verdict:
    """One sample a minute."""
    history = History("n1")
    history.expect_freshness("nvml_slow", 200)
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    for minute, count in enumerate(replays):
        signals = [
            Signal(GPU, "gpu_pcie_replay_total", count),
            Signal(GPU, "gpu_pcie_generation", generation),
            Signal(GPU, "gpu_pcie_width_lanes", width),
        ]
        history.add(Reading(source="nvml_slow", at=minute * 60, signals=signals))
    return CHECK(history.window((len(replays) - 1) * 60, CHECK.span))


@pytest.mark.parametrize(
    ("generation", "width", "per_minute", "health"),
    [
        (5, 16, 30, Health.PASS),
        (5, 16, 32, Health.DEGRADED),
        (5, 16, 400, Health.FAIL),
        (4, 16, 16, Health.DEGRADED),
        (5, 8, 16, Health.DEGRADED),
        (1, 16, 2, Health.PASS),
        (1, 16, 3, Health.DEGRADED),
    ],
)
def test_replays_a_minute(generation: float, width: float, per_minute: float, health: Health) -> None:
    counts = [100 + per_minute * minute for minute in range(6)]
    assert ask(*counts, generation=generation, width=width).health is health


def test_one_sample_passes_and_says_so() -> None:
    verdict = ask(90000)
    assert verdict.health is Health.PASS
    assert verdict.evidence == ("one look: rates are not judged",)
    assert verdict.rows[0].reason == "one look: rates are not judged"


def test_without_the_links_generation_nothing_can_be_said() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    history.add(Reading(source="nvml", at=0, signals=[Signal(GPU, "gpu_pcie_replay_total", 5.0)]))
    assert CHECK(history.window(0, 600)).health is Health.UNKNOWN
