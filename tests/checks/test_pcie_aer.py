"""pcie.aer: what grew in the window decides; what happened before it is told."""

import pytest

from holdfast.checks.pcie_aer import CHECK
from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.model.verdict import Verdict

GPU = "node/n1/pci/0000:18:00.0"


def ask(*samples: tuple[float, float, float], every: float = 60.0) -> Verdict:
    """Samples are (fatal, nonfatal, correctable), a minute apart."""
    history = History("n1")
    history.expect_freshness("pcie", 200)
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    for number, counts in enumerate(samples):
        names = ("pci_aer_fatal_total", "pci_aer_nonfatal_total", "pci_aer_correctable_total")
        signals = [Signal(GPU, name, count) for name, count in zip(names, counts, strict=True)]
        history.add(Reading(source="pcie", at=number * every, signals=signals))
    return CHECK(history.window((len(samples) - 1) * every, CHECK.span))


@pytest.mark.parametrize(
    ("after", "health"),
    [
        ((0, 0, 0), Health.PASS),
        ((1, 0, 0), Health.FAIL),
        ((0, 1, 0), Health.DEGRADED),
        ((0, 12, 0), Health.FAIL),
        ((0, 0, 140), Health.PASS),
        ((0, 0, 50000), Health.DEGRADED),
    ],
)
def test_growth_in_the_window(after: tuple[float, float, float], health: Health) -> None:
    assert ask((0, 0, 0), (0, 0, 0), after).health is health


def test_a_fatal_error_is_a_crash_and_corrected_ones_a_slowdown() -> None:
    assert ask((0, 0, 0), (2, 0, 0)).failure_class is FailureClass.CRASH
    assert ask((0, 0, 0), (0, 0, 50000)).failure_class is FailureClass.SLOWDOWN


def test_old_fatal_errors_are_told_by_a_single_look_and_judged_as_by_later_ones() -> None:
    verdict = ask((3, 0, 0))
    assert verdict.health is Health.PASS, "a restart of the agent must not turn the verdict"
    assert "pci 0000:18:00.0: 3 fatal errors since boot" in verdict.evidence


def test_old_errors_that_stand_still_pass_and_are_told() -> None:
    verdict = ask((3, 0, 900), (3, 0, 900), (3, 0, 900))
    assert verdict.health is Health.PASS
    assert "pci 0000:18:00.0: 3 fatal errors since boot" in verdict.evidence


def test_a_device_without_counters_is_unknown() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    history.add(Reading(source="pcie", at=0, absent={(GPU, "pci_aer_fatal_total"): "no AER counters"}))
    assert "no AER counters" in CHECK(history.window(0, 900)).summary()
