"""lspci -vvv and sysfs AER counters."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.kernel import aer
from holdfast.formats.kernel.log import KernelLog
from holdfast.model.signal import Event

ALL_CLEAR = "DLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq- ACSViol-"


def device(header: str, capable: str, now: str, uncorrected: str = ALL_CLEAR, corrected: str = "RxErr- BadTLP-") -> str:
    return "\n".join(
        [
            header,
            "\tSubsystem: Some Vendor Device 1234",
            "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping-",
            "\tCapabilities: [60] Express (v2) Endpoint, MSI 00",
            f"\t\tLnkCap:\tPort #0, {capable}, ASPM not supported",
            "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+",
            f"\t\tLnkSta:\t{now}",
            "\tCapabilities: [100 v2] Advanced Error Reporting",
            f"\t\tUESta:\t{uncorrected}",
            f"\t\tUEMsk:\t{ALL_CLEAR}",
            "\t\tUESvrt:\tDLP+ SDES+ TLP- FCP+ CmpltTO- CmpltAbrt- UnxCmplt- RxOF+ MalfTLP+ ECRC- UnsupReq- ACSViol-",
            f"\t\tCESta:\t{corrected}",
            "\t\tCEMsk:\tRxErr+ BadTLP+",
            "",
        ]
    )


def read(text: str, chunk: int = 1 << 18) -> list[Event]:
    log = KernelLog()
    data = text.encode()
    found = [event for start in range(0, len(data), chunk) for event in log.feed(data[start : start + chunk])]
    return found + log.finish()


GPU = "9b:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)"
BRIDGE = "0001:17:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)"
FULL = "Speed 32GT/s, Width x16"


def test_a_healthy_device_is_no_event() -> None:
    assert read(device(GPU, FULL, "Speed 32GT/s (ok), Width x16 (ok)")) == []


def test_a_narrow_link_of_a_gpu_is_a_warning_and_of_a_bridge_is_worth_knowing() -> None:
    gpu, bridge = read(
        device(GPU, FULL, "Speed 32GT/s (ok), Width x8 (downgraded)")
        + device(BRIDGE, FULL, "Speed 16GT/s (downgraded), Width x16 (ok)")
    )
    assert (gpu.kind, gpu.device, gpu.severity, gpu.code, gpu.line) == (
        "pcie_link",
        "0000:9b:00.0",
        "warning",
        "narrow",
        7,
    )
    assert (gpu.detail["width_lanes"], gpu.detail["capable_width_lanes"]) == (8, 16)
    assert (bridge.device, bridge.severity, bridge.code) == ("0001:17:00.0", "info", "slow")


def test_old_lspci_without_the_word_downgraded_is_compared_with_the_capability() -> None:
    (event,) = read(device(GPU, FULL, "Speed 32GT/s, Width x4, TrErr- Train-"))
    assert event.detail["width_lanes"] == 4


def test_an_empty_slot_is_no_event() -> None:
    assert read(device(BRIDGE, FULL, "Speed 2.5GT/s (downgraded), Width x0 (downgraded)")) == []


def test_status_bits_are_events_with_the_severity_of_their_register() -> None:
    fatal, corrected = read(
        device(GPU, FULL, FULL, ALL_CLEAR.replace("MalfTLP-", "MalfTLP+"), "RxErr+ BadTLP+ BadDLLP- Rollover- Timeout-")
    )
    assert (fatal.kind, fatal.code, fatal.severity) == ("aer", "MalfTLP", "fatal")
    assert (corrected.code, corrected.severity, corrected.device) == ("RxErr,BadTLP", "correctable", "0000:9b:00.0")
    (nonfatal,) = read(device(GPU, FULL, FULL, ALL_CLEAR.replace("UnsupReq-", "UnsupReq+")))
    assert nonfatal.severity == "nonfatal"


def test_an_error_has_the_name_that_the_kernel_gives_it() -> None:
    (event,) = read(device(GPU, FULL, FULL, corrected="RxErr- BadTLP- AdvNonFatalErr+"))
    assert event.code == "NonFatalErr"


@given(st.integers(1, 700))
def test_where_chunks_are_cut_changes_nothing(size: int) -> None:
    text = device(BRIDGE, FULL, FULL) + device(GPU, FULL, "Speed 8GT/s (downgraded), Width x16 (ok)")
    assert read(text, size) == read(text)


def test_sysfs_counters_give_one_event_per_counter_and_never_the_total() -> None:
    text = "RxErr 3\nBadTLP 0\nTimeout 12\nTOTAL_ERR_COR 15\n"
    found = aer.from_sysfs(text, "0000:9B:00.0", "correctable")
    assert [(e.code, e.count, e.device, e.line) for e in found] == [
        ("RxErr", 3, "0000:9b:00.0", 1),
        ("Timeout", 12, "0000:9b:00.0", 3),
    ]


@given(st.text(max_size=200))
def test_no_counter_file_makes_it_fail(text: str) -> None:
    aer.from_sysfs(text, "0000:9b:00.0", "fatal")
