"""pcie.aer: what grew in the window decides; what happened before it is reported."""

from dataclasses import replace

import pytest

from holdfast.formats.kernel.log import KernelLog
from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event, Reading, Signal
from holdfast.model.verdict import Verdict
from holdfast.node.checks.pcie.aer import CHECK

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


def test_old_fatal_errors_are_reported_by_a_single_look_and_judged_as_by_later_ones() -> None:
    verdict = ask((3, 0, 0))
    assert verdict.health is Health.PASS, "a restart of the agent must not turn the verdict"
    assert "pci 0000:18:00.0: 3 fatal errors since boot" in verdict.evidence


def test_old_errors_that_stand_still_pass_and_are_reported() -> None:
    verdict = ask((3, 0, 900), (3, 0, 900), (3, 0, 900))
    assert verdict.health is Health.PASS
    assert "pci 0000:18:00.0: 3 fatal errors since boot" in verdict.evidence


def test_a_device_without_counters_is_unknown() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    history.add(Reading(source="pcie", at=0, absent={(GPU, "pci_aer_fatal_total"): "no AER counters"}))
    assert "no AER counters" in CHECK(history.window(0, 900)).summary()


UNLISTED = "node/n1/pci/0000:1b:00.0"
FATAL_TEXT = """\
pcieport 0000:15:01.0: AER: Uncorrected (Fatal) error received: 0000:1b:00.0
nvidia 0000:1b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)
nvidia 0000:1b:00.0:   device [10de:2330] error status/mask=00040000/00000000
"""


def verdict_of(*events: Event, now: float = 600.0) -> Verdict:
    """Quiet counters of one GPU, and what the kernel said."""
    history = History("n1")
    history.expect_freshness("pcie", 200)
    history.inventory = Inventory(
        node="n1", subjects=frozenset({GPU}), by_device={"0000:18:00.0": "node/n1/gpu/0", "0000:18:00": "node/n1/gpu/0"}
    )
    signals = [Signal(GPU, f"pci_aer_{kind}_total", 0.0) for kind in ("fatal", "nonfatal", "correctable")]
    for at in (now - 120, now - 60, now):
        history.add(Reading(source="pcie", at=at, signals=signals))
    history.add(Reading(source="kmsg", at=now, events=list(events)))
    return CHECK(history.window(now, CHECK.span))


def kernel_event(severity: str, device: str = "0000:18:00.0", at: float = 300.0, **more: object) -> Event:
    return Event(kind="aer", at=at, text="PCIe Bus Error", device=device, severity=severity, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("severity", "health"),
    [("fatal", Health.FAIL), ("nonfatal", Health.DEGRADED), ("correctable", Health.PASS), ("info", Health.PASS)],
)
def test_what_the_kernel_reported_is_judged_where_the_counters_are_silent(severity: str, health: Health) -> None:
    verdict = verdict_of(kernel_event(severity))
    assert [(row.subject, row.health) for row in verdict.rows] == [(GPU, health)]
    assert any("PCIe Bus Error" in line for line in verdict.evidence)


def test_a_fatal_error_reported_in_three_lines_fails_a_device_that_has_no_counters() -> None:
    log = KernelLog()
    events = [*log.feed(FATAL_TEXT.encode()), *log.finish()]
    assert events, "the lines are read as an event"
    verdict = verdict_of(*(replace(event, at=300.0) for event in events))
    (row,) = (row for row in verdict.rows if row.subject == UNLISTED)
    assert (row.health, verdict.failure_class) == (Health.FAIL, FailureClass.CRASH)
    assert "1 fatal PCIe error in the last hour" in row.reason


def test_an_event_about_a_pci_function_is_that_functions_whatever_device_it_names_besides() -> None:
    other = "node/n1/pci/0000:15:01.0"
    verdict = verdict_of(kernel_event("fatal", subject=other))
    assert [row.subject for row in verdict.rows if row.health is Health.FAIL] == [other]


def test_a_link_that_the_kernel_cut_is_fatal_and_reported_so() -> None:
    verdict = verdict_of(kernel_event("fatal", device="0000:15:01.0", code="contained"))
    (row,) = (row for row in verdict.rows if row.subject == "node/n1/pci/0000:15:01.0")
    assert row.health is Health.FAIL
    assert "DPC" in row.reason


def test_what_was_reported_more_than_an_hour_ago_no_longer_counts() -> None:
    assert verdict_of(kernel_event("fatal", at=300.0), now=3800.0).health is Health.FAIL
    assert verdict_of(kernel_event("fatal", at=300.0), now=4000.0).health is Health.PASS


def test_growth_of_more_than_fifteen_minutes_ago_no_longer_counts() -> None:
    samples = [(0.0, 0.0, 0.0), *[(0.0, 3.0, 0.0)] * 10]
    assert ask(*samples).health is Health.DEGRADED
    assert ask(*samples, *[(0.0, 3.0, 0.0)] * 10).health is Health.PASS


def test_an_error_without_an_address_is_reported_of_the_node() -> None:
    assert ("node/n1", Health.FAIL) in [
        (row.subject, row.health) for row in verdict_of(kernel_event("fatal", device="")).rows
    ]


def test_one_look_says_that_rates_are_not_judged() -> None:
    assert "one reading: rates are not judged" in ask((3, 0, 0)).evidence
    assert "one reading: rates are not judged" not in ask((3, 0, 0), (3, 0, 0)).evidence


@pytest.mark.parametrize(
    ("after", "health", "value", "limit"),
    [
        ((0, 9, 0), Health.DEGRADED, 9.0, 10.0),
        ((0, 10, 0), Health.FAIL, 10.0, 10.0),
        ((0, 0, 150), Health.PASS, 0.0, 0.0),  # ten a minute over fifteen minutes
        ((0, 0, 151), Health.DEGRADED, 10.07, 10.0),
        ((1, 12, 9000), Health.FAIL, 1.0, 0.0),  # the fatal one is told
        ((0, 1, 9000), Health.DEGRADED, 1.0, 10.0),
    ],
)
def test_how_much_may_grow(after: tuple[float, float, float], health: Health, value: float, limit: float) -> None:
    row = ask((0, 0, 0), (0, 0, 0), after).rows[0]
    assert (row.health, row.value, row.limit) == (health, value, limit)


def test_growth_counts_for_fifteen_minutes() -> None:
    for quiet, health in ((900.0, Health.FAIL), (901.0, Health.PASS)):
        history = History("n1")
        history.expect_freshness("pcie", 2000)
        history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
        for at, fatal in ((0.0, 0.0), (30.0, 1.0), (30.0 + quiet, 1.0)):
            counts = (("fatal", fatal), ("nonfatal", 0.0), ("correctable", 0.0))
            signals = [Signal(GPU, f"pci_aer_{kind}_total", count) for kind, count in counts]
            history.add(Reading(source="pcie", at=at, signals=signals))
        assert CHECK(history.window(30.0 + quiet, CHECK.span)).health is health


def test_a_minute_of_history_is_needed_to_say_that_nothing_grew() -> None:
    for every, reason in ((59.0, "one reading: rates are not judged"), (60.0, "")):
        assert ask((0, 0, 0), (0, 0, 0), every=every).rows[0].reason == reason


def test_only_what_was_counted_since_boot_is_reported() -> None:
    assert ask((0, 2, 0), (0, 2, 0)).evidence == ("pci 0000:18:00.0: 2 non-fatal errors since boot",)
    assert ask((0, 0, 5), (0, 0, 5)).evidence == ("pci 0000:18:00.0: 5 corrected errors since boot",)


def test_a_device_that_counts_fatal_errors_alone_is_not_judged_by_them() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    history.add(Reading(source="pcie", at=0, signals=[Signal(GPU, "pci_aer_fatal_total", 0.0)]))
    assert CHECK(history.window(0, CHECK.span)).health is Health.UNKNOWN
    both = [Signal(GPU, "pci_aer_fatal_total", 0.0), Signal(GPU, "pci_aer_correctable_total", 0.0)]
    history.add(Reading(source="pcie", at=0, signals=both))
    assert CHECK(history.window(0, CHECK.span)).rows[0].subject == GPU


def test_what_the_kernel_reported_is_counted_and_reported() -> None:
    row = verdict_of(kernel_event("fatal", count=2), kernel_event("fatal", at=310.0)).rows[0]
    assert (row.value, row.limit) == (3.0, 0.0)
    assert row.reason == "the kernel reported 3 fatal PCIe errors in the last hour [PCIe Bus Error]"
    row = verdict_of(kernel_event("nonfatal")).rows[0]
    assert "1 uncorrectable (non-fatal) PCIe error in" in row.reason
    assert "DPC" not in row.reason


def test_one_link_that_was_cut_among_several_errors_is_reported() -> None:
    assert "DPC" in verdict_of(kernel_event("fatal", code="contained"), kernel_event("fatal", at=310.0)).rows[0].reason


def test_counters_that_say_as_much_are_believed_before_the_kernels_words() -> None:
    history = History("n1")
    history.expect_freshness("pcie", 200)
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    for at, nonfatal in ((480.0, 0.0), (540.0, 0.0), (600.0, 2.0)):
        counts = (("fatal", 0.0), ("nonfatal", nonfatal), ("correctable", 0.0))
        signals = [Signal(GPU, f"pci_aer_{kind}_total", count) for kind, count in counts]
        history.add(Reading(source="pcie", at=at, signals=signals))
    history.add(Reading(source="kmsg", at=600.0, events=[kernel_event("nonfatal")]))
    assert "in 15 min" in CHECK(history.window(600.0, CHECK.span)).rows[0].reason
    history.add(Reading(source="kmsg", at=600.0, events=[kernel_event("fatal", at=310.0)]))
    worse = CHECK(history.window(600.0, CHECK.span))
    assert (worse.health, worse.failure_class) == (Health.FAIL, FailureClass.CRASH)


def test_a_harmless_word_about_a_device_no_one_counts_makes_no_row() -> None:
    assert [row.subject for row in verdict_of(kernel_event("correctable", device="0000:99:00.0")).rows] == [GPU]


def test_a_node_is_drained_for_a_fatal_error_alone() -> None:
    assert ask((0, 0, 0), (2, 0, 0)).remedy.startswith("drain the node; reseat")
    assert ask((0, 0, 0), (0, 0, 50000)).remedy.startswith("reseat")


@pytest.mark.parametrize("beside", ["pci_aer_nonfatal_total", "pci_aer_correctable_total"])
def test_a_device_is_judged_by_the_counters_that_it_has(beside: str) -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    for at, fatal in ((0.0, 0.0), (60.0, 1.0)):
        signals = [Signal(GPU, "pci_aer_fatal_total", fatal), Signal(GPU, beside, 0.0)]
        history.add(Reading(source="pcie", at=at, signals=signals))
    assert CHECK(history.window(60.0, CHECK.span)).health is Health.FAIL
