"""pcie.link: width always counts; the speed of an idle GPU does not."""

import pytest

from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event, Reading, Signal, Value
from holdfast.model.verdict import Verdict
from holdfast.node.checks.pcie.link import CHECK

DEVICE, ABOVE, GPU = "node/n1/pci/0000:18:00.0", "node/n1/pci/0000:17:00.0", "node/n1/gpu/0"
WIDTH, SPEED = "pci_link_width_lanes", "pci_link_speed_transfers_per_second"
MAX_WIDTH, MAX_SPEED = "pci_max_link_width_lanes", "pci_max_link_speed_transfers_per_second"
USUAL: dict[str, Value] = {"pci_own_link": 1.0, "pci_rdma": 1.0, "pci_parent": "0000:17:00.0",
                           WIDTH: 16.0, MAX_WIDTH: 16.0, SPEED: 32e9, MAX_SPEED: 32e9}  # fmt: skip


def ask(
    role: str,
    device: dict[str, Value],
    above: dict[str, Value] | None = None,
    busy: float | None = None,
    seconds: int = 300,
    expect: dict[str, Value] | None = None,
) -> Verdict:
    history = History("n1")
    history.expect_freshness("pcie", 200)
    history.inventory = Inventory(
        node="n1",
        subjects=frozenset({DEVICE}),
        by_device={"0000:18:00.0": GPU},
        expect={DEVICE: expect} if expect else {},
    )
    port = {**USUAL, "pci_own_link": 0.0, "pci_role": "bridge", **(above or {})}
    for at in range(0, seconds + 1, 60):
        signals = [Signal(DEVICE, name, value) for name, value in {**USUAL, "pci_role": role, **device}.items()]
        signals += [Signal(ABOVE, name, value) for name, value in port.items()]
        history.add(Reading(source="pcie", at=at, signals=signals))
        if busy is not None:
            history.add(Reading(source="nvml", at=at, signals=[Signal(GPU, "gpu_utilization_ratio", busy)]))
    return CHECK(history.window(seconds, CHECK.span))


@pytest.mark.parametrize("role", ["gpu", "nic", "nvme", "nvswitch", "bridge"])
def test_a_full_link_passes(role: str) -> None:
    assert ask(role, {}).health is Health.PASS


@pytest.mark.parametrize("role", ["gpu", "nic", "nvswitch", "bridge"])
def test_half_the_width_fails_from_one_look(role: str) -> None:
    verdict = ask(role, {WIDTH: 8.0}, seconds=0)
    assert (verdict.health, verdict.failure_class) == (Health.FAIL, FailureClass.SLOWDOWN)
    assert "runs at x8, both ends support x16" in verdict.summary()


def test_a_drive_or_a_plain_network_card_only_degrades() -> None:
    assert ask("nvme", {WIDTH: 8.0}).health is Health.DEGRADED
    assert ask("nic", {WIDTH: 8.0, "pci_rdma": 0.0}).health is Health.DEGRADED


def test_a_wide_card_in_a_narrow_slot_is_as_good_as_it_gets() -> None:
    assert ask("nic", {WIDTH: 8.0}, above={MAX_WIDTH: 8.0}).health is Health.PASS


def test_the_manifest_may_expect_less_or_more() -> None:
    assert ask("nic", {WIDTH: 8.0}, expect={WIDTH: 8.0}).health is Health.PASS
    assert ask("nic", {WIDTH: 8.0, MAX_WIDTH: 8.0}, expect={WIDTH: 16.0}).health is Health.FAIL


def test_a_slow_network_card_counts_busy_or_not() -> None:
    verdict = ask("nic", {SPEED: 16e9}, seconds=0)
    assert verdict.health is Health.FAIL
    assert "runs at 16 GT/s, both ends support 32 GT/s" in verdict.summary()


def test_an_idle_gpu_may_lower_its_speed_and_it_is_reported() -> None:
    verdict = ask("gpu", {SPEED: 2.5e9}, busy=0.0)
    assert verdict.health is Health.PASS
    assert "to save power" in verdict.evidence[0]


def test_a_busy_gpu_may_not() -> None:
    assert ask("gpu", {SPEED: 2.5e9}, busy=0.9).health is Health.FAIL


def test_a_gpu_seen_slow_only_once_is_not_judged_yet() -> None:
    assert ask("gpu", {SPEED: 8e9}, busy=0.9, seconds=0).health is Health.PASS


def test_an_idle_gpu_at_a_speed_that_saves_no_power_is_degraded() -> None:
    assert ask("gpu", {SPEED: 8e9}, busy=0.0).health is Health.DEGRADED


def test_a_device_that_disappeared_is_unknown() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({DEVICE}))
    history.add(Reading(source="pcie", at=0, absent={(DEVICE, WIDTH): "the device disappeared from the PCI bus"}))
    verdict = CHECK(history.window(0, 600))
    assert verdict.health is Health.UNKNOWN
    assert "disappeared" in verdict.summary()


@pytest.mark.parametrize("role", ["gpu", "nic", "nvme"])
@pytest.mark.parametrize("expected", ["current_link_speed reads ''", "current_link_speed reads 'Unknown'"])
def test_a_speed_that_cannot_be_read_is_unknown(role: str, expected: str) -> None:
    history = reported({"pci_role": role}, absent={(DEVICE, SPEED): expected})
    verdict = CHECK(history.window(0, CHECK.span))
    assert verdict.health is Health.UNKNOWN
    assert expected in verdict.summary()


def test_half_the_width_fails_also_where_the_speed_cannot_be_read() -> None:
    history = reported({"pci_role": "gpu", WIDTH: 8.0}, absent={(DEVICE, SPEED): "current_link_speed reads ''"})
    assert CHECK(history.window(0, CHECK.span)).health is Health.FAIL


@pytest.mark.parametrize("name", [MAX_WIDTH, MAX_SPEED])
def test_a_link_with_nothing_to_compare_it_with_is_unknown(name: str) -> None:
    history = reported({"pci_role": "gpu"}, absent={(DEVICE, name): "reads 'Unknown'"}, without=(name,))
    assert "not known: reads 'Unknown'" in CHECK(history.window(0, CHECK.span)).summary()


def reported(
    device: dict[str, Value],
    events: tuple[Event, ...] = (),
    absent: dict[tuple[str, str], str] | None = None,
    without: tuple[str, ...] = (),
) -> History:
    """One look at a device without a known port above it, beside what the kernel said."""
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({DEVICE}), by_device={"0000:18:00.0": GPU})
    gone = {name for _, name in absent or {}}
    values = {name: value for name, value in {**USUAL, **device}.items() if name not in (*gone, *without)}
    signals = [Signal(DEVICE, name, value) for name, value in values.items()]
    history.add(Reading(source="pcie", at=0, signals=signals, absent=absent or {}))
    history.add(Reading(source="kmsg", at=0, events=list(events)))
    return history


def kernel_event(code: str, device: str, severity: str = "warning") -> Event:
    return Event(kind="pcie_link", at=0.0, text="limited by", device=device, code=code, severity=severity)


def test_a_link_down_is_a_crash_reported_at_the_port_above() -> None:
    verdict = CHECK(reported({}, (kernel_event("down", "0000:15:01.0", "fatal"),)).window(60, CHECK.span))
    (row,) = (row for row in verdict.rows if row.subject == "node/n1/pci/0000:15:01.0")
    assert (row.health, verdict.failure_class) == (Health.FAIL, FailureClass.CRASH)
    assert "1 min ago that its link went down" in row.reason


def test_a_link_that_came_back_only_degrades() -> None:
    verdict = CHECK(
        reported({"pci_parent": "0000:15:01.0"}, (kernel_event("down", "0000:15:01.0", "fatal"),)).window(0, 3600)
    )
    assert verdict.health is Health.DEGRADED
    assert "0000:18:00.0 below it has a link again" in verdict.summary()


@pytest.mark.parametrize("code", ["narrow", "slow"])
def test_a_badly_trained_link_that_sysfs_does_not_list_is_reported_from_the_kernel(code: str) -> None:
    verdict = CHECK(reported({}, (kernel_event(code, "0000:99:00.0"),)).window(0, CHECK.span))
    assert ("node/n1/pci/0000:99:00.0", Health.DEGRADED) in [(row.subject, row.health) for row in verdict.rows]
    assert (
        CHECK(reported({}, (kernel_event(code, "0000:99:00.0", "info"),)).window(0, CHECK.span)).health is Health.PASS
    )


def test_what_sysfs_reads_now_overrules_what_the_kernel_reported_and_that_stays_evidence() -> None:
    verdict = CHECK(reported({}, (kernel_event("narrow", "0000:18:00.0"),)).window(0, CHECK.span))
    assert verdict.health is Health.PASS
    assert any("limited by" in line for line in verdict.evidence)


def test_where_sysfs_cannot_report_the_kernels_word_is_the_one_row() -> None:
    history = reported(
        {}, (kernel_event("slow", "0000:18:00.0"),), absent={(DEVICE, SPEED): "current_link_speed reads ''"}
    )
    verdict = CHECK(history.window(0, CHECK.span))
    assert [(row.subject, row.health) for row in verdict.rows] == [(DEVICE, Health.DEGRADED)]


def test_a_gpu_seen_slow_once_says_that_one_look_does_not_judge_it() -> None:
    verdict = ask("gpu", {SPEED: 8e9}, busy=0.0, seconds=0)
    assert "one reading: not judged" in verdict.evidence[0]
    assert "runs at 8 GT/s" in verdict.rows[0].reason


@pytest.mark.parametrize(
    ("role", "device", "health"),
    [
        ("gpu", {WIDTH: 8.0}, Health.FAIL),
        ("gpu", {WIDTH: 9.0}, Health.DEGRADED),
        ("gpu", {WIDTH: 15.0}, Health.DEGRADED),
        ("nic", {SPEED: 16e9}, Health.FAIL),
        ("nic", {SPEED: 17e9}, Health.DEGRADED),
        ("nic", {SPEED: 16e9, "pci_rdma": 0.0}, Health.DEGRADED),
        ("nvme", {SPEED: 16e9}, Health.DEGRADED),
    ],
)
def test_half_is_the_line_between_slow_and_broken(role: str, device: dict[str, Value], health: Health) -> None:
    assert ask(role, device).health is health


def test_a_row_reports_what_is_and_what_should_be() -> None:
    (narrow,) = (row for row in ask("nvswitch", {WIDTH: 8.0}).rows if row.subject == DEVICE)
    assert (narrow.value, narrow.limit) == (8.0, 16.0)
    assert narrow.reason.startswith("NVSwitch runs at x8")
    (slow,) = (row for row in ask("nvme", {SPEED: 8e9}).rows if row.subject == DEVICE)
    assert (slow.value, slow.limit) == (8e9, 32e9)
    assert slow.reason.startswith("NVMe drive runs at 8 GT/s")


@pytest.mark.parametrize(("busy", "health"), [(0.1, Health.FAIL), (0.09, Health.PASS)])
def test_a_tenth_of_the_time_is_busy(busy: float, health: Health) -> None:
    assert ask("gpu", {SPEED: 2.5e9}, busy=busy).health is health


@pytest.mark.parametrize(("seconds", "health"), [(60, Health.FAIL), (0, Health.PASS)])
def test_a_busy_gpu_gets_a_minute(seconds: int, health: Health) -> None:
    assert ask("gpu", {SPEED: 2.5e9}, busy=0.9, seconds=seconds).health is health


@pytest.mark.parametrize(("speed", "health"), [(5e9, Health.PASS), (8e9, Health.DEGRADED)])
def test_only_the_two_slowest_speeds_save_power(speed: float, health: Health) -> None:
    assert ask("gpu", {SPEED: speed}, busy=0.0).health is health


def test_work_that_has_just_begun_gives_a_gpu_time_to_speed_up() -> None:
    history = History("n1")
    history.expect_freshness("pcie", 200)
    history.inventory = Inventory(node="n1", subjects=frozenset({DEVICE}), by_device={"0000:18:00.0": GPU})
    for at in range(0, 301, 60):
        signals = [Signal(DEVICE, name, value) for name, value in {**USUAL, "pci_role": "gpu", SPEED: 2.5e9}.items()]
        history.add(Reading(source="pcie", at=at, signals=signals))
        busy = 0.9 if at >= 300 or at < 180 else 0.0
        history.add(Reading(source="nvml", at=at, signals=[Signal(GPU, "gpu_utilization_ratio", busy)]))
    assert CHECK(history.window(300, CHECK.span)).health is Health.PASS


def test_a_switch_port_is_judged_only_where_both_ends_are_known() -> None:
    history = reported({"pci_role": "bridge", WIDTH: 8.0, "pci_parent": ""})
    assert CHECK(history.window(0, CHECK.span)).health is Health.PASS
    alone = reported({"pci_role": "gpu", WIDTH: 8.0, "pci_parent": ""})
    assert "GPU runs at x8, it supports x16" in CHECK(alone.window(0, CHECK.span)).summary()


def test_a_port_above_a_device_has_no_row_of_its_own() -> None:
    assert [row.subject for row in ask("gpu", {}).rows] == [DEVICE]


def test_a_narrow_link_is_reported_before_a_slow_one() -> None:
    assert "x8" in ask("nic", {WIDTH: 8.0, SPEED: 16e9}).summary()


def test_the_manifest_reports_the_speed_too() -> None:
    assert ask("nic", {SPEED: 16e9}, expect={SPEED: 16e9}).health is Health.PASS
    assert "the manifest says 32 GT/s" in ask("nic", {SPEED: 16e9}, expect={SPEED: 32e9}).summary()


def test_a_loss_outlives_a_later_word_about_the_same_link() -> None:
    down, slow = kernel_event("down", "0000:15:01.0", "fatal"), kernel_event("slow", "0000:15:01.0")
    verdict = CHECK(reported({}, (down, slow)).window(60, CHECK.span))
    assert verdict.health is Health.FAIL
    verdict = CHECK(reported({}, (slow, down)).window(60, CHECK.span))
    assert verdict.health is Health.FAIL


def test_a_badly_trained_link_is_no_crash() -> None:
    verdict = CHECK(reported({}, (kernel_event("slow", "0000:99:00.0"),)).window(0, CHECK.span))
    assert verdict.failure_class is FailureClass.SLOWDOWN
    assert "trained too slow" in verdict.summary()


@pytest.mark.parametrize(("ago", "counts"), [(3600.0, True), (3601.0, False)])
def test_a_word_of_the_kernel_counts_for_an_hour(ago: float, counts: bool) -> None:
    history = reported({}, (kernel_event("slow", "0000:99:00.0"),))
    history.add(Reading(source="pcie", at=ago, signals=[Signal(DEVICE, name, value) for name, value in USUAL.items()]))
    verdict = CHECK(history.window(ago, CHECK.span))
    assert ("node/n1/pci/0000:99:00.0" in [row.subject for row in verdict.rows]) is counts


def test_a_word_without_a_device_is_about_the_node() -> None:
    verdict = CHECK(reported({}, (kernel_event("slow", ""),)).window(0, CHECK.span))
    assert ("node/n1", Health.DEGRADED) in [(row.subject, row.health) for row in verdict.rows]
    assert CHECK(reported({}, (kernel_event("strange", ""),)).window(0, CHECK.span)).health is Health.PASS


def test_one_look_is_one_look_whenever_it_was() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({DEVICE}), by_device={"0000:18:00.0": GPU})
    signals = [Signal(DEVICE, name, value) for name, value in {**USUAL, "pci_role": "gpu", SPEED: 8e9}.items()]
    history.add(Reading(source="pcie", at=5000.0, signals=signals))
    verdict = CHECK(history.window(5000.0, CHECK.span))
    assert (verdict.health, "one reading: not judged" in verdict.evidence[0]) == (Health.PASS, True)
