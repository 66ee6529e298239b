"""gpu.xid: which Xids take a GPU out of service, which only tell, and what is said about it."""

from dataclasses import replace

import pytest

from holdfast.catalog import xid as catalog
from holdfast.formats.kernel.folding import EventFolder
from holdfast.formats.kernel.log import KernelLog
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory, devices
from holdfast.model.signal import Event, Reading, Signal
from holdfast.model.verdict import Row, Verdict
from holdfast.node.checks.gpu.xid import CHECK, REMEDIES, REPAIRS, _placed

NOW = 1_700_000_000.0
GPUS = ("node/n1/gpu/0", "node/n1/gpu/1")


def events_of(*lines: str, at: float = NOW - 60) -> list[Event]:
    """Events of kernel lines, one second apart."""
    log, folder = KernelLog(), EventFolder()
    for second, line in enumerate(lines):
        folder.extend(log.feed(f"[{second}.0] {line}\n".encode()))
    events = folder.take()
    return [_at(event, at + float(event.detail["since_boot_seconds"])) for event in events]


def _at(event: Event, at: float) -> Event:
    return Event(
        kind=event.kind, at=at, text=event.text, device=event.device, code=event.code, severity=event.severity,
        action=event.action, count=event.count, detail=event.detail,
    )  # fmt: skip


def history(events: list[Event]) -> History:
    past = History("n1")
    past.inventory = Inventory(
        node="n1", subjects=frozenset(GPUS), by_device=devices([("0000:1b:00.0", GPUS[0]), ("0000:9b:00.0", GPUS[1])])
    )
    records = Signal("node/n1", "kmsg_records_total", 10.0)
    past.add(Reading(source="kmsg", at=NOW, signals=[records], events=events))
    return past


def judge(*lines: str, **limits: float) -> Verdict:
    return CHECK(history(events_of(*lines)).window(NOW, CHECK.span), limits)


def row(verdict: Verdict, subject: str = GPUS[1]) -> Row:
    return next(row for row in verdict.rows if row.subject == subject)


def xid(rest: str, bus: str = "9b") -> str:
    return f"NVRM: Xid (PCI:0000:{bus}:00): {rest}"


def test_without_an_xid_every_gpu_passes() -> None:
    verdict = judge()
    assert [row.health for row in verdict.rows] == [Health.PASS, Health.PASS]


@pytest.mark.parametrize(
    ("rest", "health"),
    [
        ("79, GPU has fallen off the bus.", Health.FAIL),
        ("95, pid=1, Uncontained: x. RST: Yes, D-RST: No", Health.FAIL),
        ("48, pid=1, x", Health.FAIL),
        ("119, pid=1, Timeout", Health.FAIL),
        ("54, power", Health.FAIL),
        ("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", Health.FAIL),
        ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x0)", Health.FAIL),
        ("145, RLW_SRC_TRACK Fatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x0)", Health.FAIL),
        ("145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x0)", Health.PASS),
        ("145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000001 0x0)", Health.DEGRADED),
        ("154, GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)", Health.DEGRADED),
        ("63, Row Remapper: New row marked for remapping, reset gpu to activate.", Health.DEGRADED),
        ("109, pid=1, name=p, Ch 00000008, errorString CTX SWITCH TIMEOUT", Health.DEGRADED),
        ("31337, never heard of", Health.DEGRADED),
        ("13, pid=1, name=p, Graphics SM Warp Exception", Health.PASS),
        ("31, pid=1, name=p, MMU Fault", Health.PASS),
        ("43, pid=1, name=p, Ch 00000008", Health.PASS),
        ("45, pid=1, name=p, Ch 00000008", Health.PASS),
        ("68, pid=1, name=p, NVDEC0", Health.PASS),
        ("92, High single-bit ECC error rate", Health.PASS),
        ("94, pid=1, Contained: SM (0x1). RST: No, D-RST: No", Health.PASS),
    ],
)
def test_what_one_xid_makes_of_its_gpu(rest: str, health: Health) -> None:
    verdict = judge(xid(rest))
    assert row(verdict).health is health
    assert row(verdict, GPUS[0]).health is Health.PASS
    assert any(rest[:20] in line for line in verdict.evidence), "an Xid is never dropped from the evidence"
    if health is not Health.PASS:
        assert f"Xid {rest.split(',')[0]}" in row(verdict).reason
        assert verdict.remedy


def test_the_remedy_is_that_of_the_gravest_action() -> None:
    verdict = judge(xid("63, reset gpu to activate"), xid("79, GPU has fallen off the bus."))
    assert "reboot it" in verdict.remedy


def test_a_storm_of_45_after_another_xid_adds_nothing() -> None:
    lines = [xid(f"45, pid={pid}, name=p, Ch 00000001") for pid in range(50)]
    assert (
        row(judge(xid("145, RLW_RXPIPE Nonfatal XC0 i0 Link 12 (0x040980c2 0x00000008 0x1)"), *lines)).health
        is Health.PASS
    )


def test_a_45_that_names_its_cause_stands_for_it_where_the_log_lacks_the_cause() -> None:
    caused = xid("45, pid=1, name=p, Ch 00000001 caused by previous Xid 149")
    alone = row(judge(caused))
    assert (alone.health, alone.value) == (Health.DEGRADED, "149")
    assert "Xid 149" in alone.reason
    both = row(judge(xid("149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x0)"), caused))
    assert (both.health, both.value) == (Health.FAIL, "149")
    assert row(judge(xid("45, pid=1, name=p, Ch 00000001 caused by previous Xid 13"))).health is Health.PASS


def test_a_154_that_asks_for_nothing_any_more_ends_what_came_before() -> None:
    reset = "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    assert row(judge(xid("119, pid=1, Timeout"), xid(reset))).health is Health.PASS
    assert row(judge(xid(reset), xid("119, pid=1, Timeout"))).health is Health.FAIL
    asks = "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    assert row(judge(xid("119, pid=1, Timeout"), xid(asks))).value == "119,154"


@pytest.mark.parametrize(
    "fault", ["119, pid=1, Timeout", "154, GPU recovery action changed from 0x0 (None) to 0x1 (x)"]
)
def test_a_fault_that_comes_back_after_its_recovery_fails_again(fault: str) -> None:
    reset = "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    assert row(judge(xid(fault), xid(reset), xid(fault))).health is Health.FAIL
    at_once = KernelLog().feed("".join(f"{xid(rest)}\n" for rest in (fault, reset, fault)).encode())
    for events in (at_once, [*at_once[:2], at_once[1], *at_once[2:]]):
        undated = history([_at(event, NOW - 60) for event in events])
        assert row(CHECK(undated.window(NOW, CHECK.span))).health is Health.FAIL, (
            "their order tells, where no time does"
        )
    undated = history([_at(event, NOW - 60) for event in at_once[:2]])
    assert row(CHECK(undated.window(NOW, CHECK.span))).health is Health.PASS


def test_a_global_fatal_error_of_the_memory_manager_fails_the_node() -> None:
    text = "NVRM: uvm encountered global fatal error 0x60, requiring os reboot to recover."
    event = Event(kind="uvm", at=NOW - 5, text=text, code="global_fatal_error", severity="fatal", action="restart_node")
    verdict = CHECK(history([event]).window(NOW, CHECK.span))
    assert [(row.subject, row.health) for row in verdict.rows if row.health is Health.FAIL] == [
        ("node/n1", Health.FAIL)
    ]
    assert "memory manager" in row(verdict, "node/n1").reason and "0x60" in row(verdict, "node/n1").reason
    assert "reboot" in verdict.remedy
    assert "uvm" in CHECK.event_kinds


def test_an_xid_of_a_gpu_that_is_lost_before_its_address_was_reported_is_that_gpu_s() -> None:
    past = history(events_of(xid("79, GPU has fallen off the bus.", "c4")))
    lost, bus = "node/n1/gpu/2", "node/n1/pci/0000:c4:00.0"
    past.inventory = replace(past.inventory, subjects=frozenset({*GPUS, lost, bus}))
    past.add(Reading(source="nvml", at=NOW, signals=[Signal(lost, "gpu_lost", 1.0)]))
    past.add(Reading(source="pcie", at=NOW, signals=[Signal(bus, "pci_role", "gpu")]))
    verdict = CHECK(past.window(NOW, CHECK.span))
    assert [row.subject for row in verdict.rows if row.health is Health.FAIL] == [lost]


def test_one_program_that_faults_often_is_its_own_fault_but_several_speak_against_the_gpu() -> None:
    same = [xid("31, pid=7, name=p, MMU Fault")] * 20
    assert row(judge(*same)).health is Health.PASS
    several = [xid(f"31, pid={pid}, name=p{pid}, MMU Fault") for pid in (71, 72, 73)]
    verdict = judge(*several)
    assert row(verdict).health is Health.DEGRADED
    assert row(judge(*several, program_fault_processes=9.0)).health is Health.PASS
    spread = [xid("31, pid=71, MMU Fault", "1b"), xid("31, pid=72, MMU Fault"), xid("31, pid=73, MMU Fault")]
    assert row(judge(*spread)).health is Health.PASS


def test_a_program_that_faults_on_several_gpus_is_its_own_fault_however_often_it_is_launched() -> None:
    launches = [
        xid(f"31, pid={launch}{rank}, name=train, MMU Fault", bus)
        for launch in (701, 702, 703)
        for rank, bus in enumerate(("1b", "9b"))
    ]
    assert [row.health for row in judge(*launches).rows] == [Health.PASS, Health.PASS]


def test_a_fatal_xid_outlives_a_talkative_program_that_is_launched_again_and_again() -> None:
    past = history(events_of(xid("95, pid=1, Uncontained: x. RST: Yes, D-RST: No"), at=NOW - 7200))
    for launch in range(20):
        places = [f"GPC {gpc}, TPC {tpc}, SM {sm}" for gpc in range(8) for tpc in range(9) for sm in range(2)]
        lines = [xid(f"13, pid={5000 + launch}, name=train, Warp Exception on ({at}): x", "1b") for at in places]
        past.add(Reading(source="kmsg", at=NOW, events=events_of(*lines, at=NOW - 3600 + 150 * launch)))
    verdict = CHECK(past.window(NOW, CHECK.span))
    assert row(verdict).health is Health.FAIL
    assert row(verdict, GPUS[0]).health is Health.DEGRADED, "the programs that faulted there are still distinguished"


def test_lost_kernel_messages_are_reported() -> None:
    past = history([])
    assert CHECK(past.window(NOW, CHECK.span)).evidence == ()
    gaps = [
        Event(kind="kmsg_gap", at=NOW - ago, text=f"{n} lost", count=n) for ago, n in ((100_000, 7), (50, 12), (30, 3))
    ]
    past.add(Reading(source="kmsg", at=NOW, events=gaps))
    (line,) = CHECK(past.window(NOW, CHECK.span)).evidence
    assert line.startswith("15 kernel messages were lost") and "30 s ago: an Xid" in line


def test_an_xid_of_a_device_no_one_knows_still_gets_a_row() -> None:
    verdict = judge(xid("79, GPU has fallen off the bus.", "c4"))
    assert row(verdict, "node/n1/pci/0000:c4:00").health is Health.FAIL
    assert row(verdict).health is Health.PASS


def test_old_events_are_forgotten_as_the_limit_says() -> None:
    past = history(events_of(xid("79, gone"), at=NOW - 7200))
    assert row(CHECK(past.window(NOW, CHECK.span))).health is Health.FAIL
    assert row(CHECK(past.window(NOW, CHECK.span), {"forget_seconds": 3600.0})).health is Health.PASS


def test_where_no_gpu_is_known_the_question_stays_open() -> None:
    past = history([])
    past.inventory = Inventory(node="n1")
    past.promise("nvml", ["gpu_lost"])
    past.add(Reading(source="nvml", at=NOW, blind="the NVIDIA kernel driver is not loaded"))
    verdict = CHECK(past.window(NOW, CHECK.span))
    why = "n1: no GPU is known on this node: the NVIDIA kernel driver is not loaded"
    assert (verdict.health, verdict.summary()) == (Health.UNKNOWN, why)
    past.inventory = Inventory(node="n1", lacks={"gpu": "manifest: a CPU node"})
    assert CHECK(past.window(NOW, CHECK.span)).health is Health.NOT_APPLICABLE


def test_without_kernel_messages_nothing_passes() -> None:
    past = history([])
    past.add(Reading(source="kmsg", at=NOW, blind="no permission to read /dev/kmsg"))
    verdict = CHECK(past.window(NOW, CHECK.span))
    assert verdict.health is Health.UNKNOWN
    assert "no permission" in verdict.summary()


def test_three_programs_are_several_and_two_are_not() -> None:
    def faults(*pids: int) -> Health:
        return row(judge(*(xid(f"31, pid={pid}, name=p{pid}, MMU Fault") for pid in pids))).health

    assert [faults(71, 72), faults(71, 72, 73)] == [Health.PASS, Health.DEGRADED]


def test_a_row_names_each_code_once_and_reports_the_last_in_words() -> None:
    found = row(judge(xid("79, gone"), xid("79, gone again"), xid("48, pid=1, x")))
    assert found.value == "79,48"
    assert found.reason.startswith("Xid 48, 58 s ago: ")
    assert " and 2 more [" in found.reason
    alone = row(judge(xid("79, gone")))
    assert " more [" not in alone.reason
    assert " times" not in alone.reason
    assert row(judge()).value is None


def test_repeats_of_one_line_are_counted() -> None:
    for count, times in ((1, ""), (2, ", 2 times"), (3, ", 3 times")):
        event = replace(events_of(xid("79, gone"))[0], count=count)
        found = row(CHECK(history([event]).window(NOW, CHECK.span)))
        assert found.reason.startswith(f"Xid 79{times}, 60 s ago: ")


def test_the_rest_of_a_gpus_xids_are_not_blamed_for_the_gravest() -> None:
    found = row(judge(xid("63, reset gpu to activate"), xid("79, GPU has fallen off the bus.")))
    assert found.value == "79"


def test_an_event_from_the_future_is_reported_as_now() -> None:
    past = history(events_of(xid("79, gone"), at=NOW + 5))
    assert "Xid 79, 0 s ago" in row(CHECK(past.window(NOW + 1, CHECK.span))).reason


def test_the_faults_of_the_programs_that_speak_against_a_gpu_are_reported() -> None:
    found = row(judge(*(xid(f"31, pid={pid}, name=p{pid}, MMU Fault") for pid in (71, 72, 73))))
    assert found.reason.startswith("Xid 31, 3 times, 60 s ago: ")
    assert found.value == "31"


def test_when_the_memory_manager_gave_up_is_reported() -> None:
    event = Event(
        kind="uvm", at=NOW - 5, text="uvm fatal", code="global_fatal_error", severity="fatal", action="restart_node"
    )
    found = row(CHECK(history([event]).window(NOW, CHECK.span)), "node/n1")
    assert found.reason.startswith("the driver's memory manager gave up 5 s ago")


def test_messages_that_are_lost_at_this_moment_were_lost_now() -> None:
    past = history([])
    past.add(Reading(source="kmsg", at=NOW, events=[Event(kind="kmsg_gap", at=NOW, text="3 lost", count=3)]))
    assert "the last 0 s ago" in CHECK(past.window(NOW, CHECK.span)).evidence[0]


@pytest.mark.parametrize(
    ("codes", "health"),
    [
        (("ring_timeout",), Health.FAIL),
        (("ring_timeout", "reset_ok"), Health.PASS),
        (("ring_timeout", "reset_ok", "ring_timeout"), Health.FAIL),
        (("bad_page", "reset_ok"), Health.FAIL),  # memory that is worn out is not repaired by a reset
    ],
)
def test_a_reset_of_an_amd_gpu_ends_what_a_reset_can_end(codes: tuple[str, ...], health: Health) -> None:
    events = [
        Event(kind="amdgpu", at=NOW - 60 + second, text=code, device="0000:1b:00.0", code=code,
              severity="info" if code == "reset_ok" else "fatal",
              action="monitor" if code == "reset_ok" else "reset_gpu", detail={})
        for second, code in enumerate(codes)
    ]  # fmt: skip
    verdict = CHECK(history(events).window(NOW, CHECK.span))
    assert verdict.rows[0].health is health


@pytest.mark.parametrize(
    ("line", "remedy", "owner"),
    [
        ("RAS records:257 exceed threshold:256", "replace the GPU", "hardware"),
        ("Saved bad pages(257) reaches threshold value(256).", "replace the GPU", "hardware"),
        ("This GPU is in BAD status. Please retire it.", "replace the GPU", "hardware"),
        ("ERROR: GPU over temperature range(SW CTF) detected!", "coolant flow", "facilities"),
        ("XGMI PCS DataLossErr", "reset all GPUs together", "hardware"),
        ("2 uncorrectable hardware errors detected in umc block", "amd-smi reset --gpureset", "hardware"),
    ],
)
def test_a_remedy_for_an_amd_gpu_is_that_of_its_message(line: str, remedy: str, owner: str) -> None:
    """Also from a log alone, which names no model."""
    verdict = judge(f"amdgpu 0000:9b:00.0: amdgpu: {line}")
    assert row(verdict).health is Health.FAIL
    assert remedy in verdict.remedy and "nvidia" not in verdict.remedy and verdict.owner == owner


def test_a_remedy_names_the_tools_of_the_driver_that_asks_for_it() -> None:
    amd = "amdgpu 0000:1b:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block"
    assert "nvidia-smi --gpu-reset" in judge(amd, xid("48, pid=1, name=a, DBE at 0x1")).remedy


@pytest.mark.parametrize(
    "fact", [one for one in catalog.all_codes() if one.action in REMEDIES], ids=lambda fact: fact.code
)
def test_every_xid_begins_with_a_repair_step_that_can_help(fact: catalog.Xid) -> None:
    """A GPU that left the bus cannot be reset (79, 167), nor can a cable be plugged in by a reset (54)."""
    verdict = judge(xid(f"{fact.code}, pid=41003, name=python, something happened"))
    if verdict.health is not Health.FAIL:
        return
    expected = {"restart_node": "reboot", "restart_vm": "reboot", "check_hardware": "inspect"}
    assert verdict.repair == expected.get(fact.action, "reset_gpu")


def test_the_xids_that_only_a_reboot_or_a_technician_ends() -> None:
    found = {code: judge(xid(f"{code}, pid=1, name=python, text")).repair for code in (54, 79, 119, 167)}
    assert found == {54: "inspect", 79: "reboot", 119: "reset_gpu", 167: "reboot"}
    assert judge().repair == ""


@pytest.mark.parametrize("lines", [("119", "79"), ("79", "119")])
def test_a_lost_gpu_beside_one_that_needs_a_reset_makes_it_a_reboot(lines: tuple[str, str]) -> None:
    first, second = (
        xid(f"{code}, pid=1, name=python, text", bus) for code, bus in zip(lines, ("1b", "9b"), strict=True)
    )
    assert judge(first, second).repair == "reboot"
    assert set(REPAIRS) <= set(REMEDIES)


def test_only_a_message_of_amdgpu_without_a_device_is_of_the_gpu_that_amdgpu_names() -> None:
    named, unnamed = (Event(kind="amdgpu", at=NOW, text="", device=device) for device in ("0000:1b:00.0", ""))
    manager = Event(kind="uvm", at=NOW, text="")
    assert [one.device for one in _placed([named, unnamed, manager])] == ["0000:1b:00.0", "0000:1b:00.0", ""]
