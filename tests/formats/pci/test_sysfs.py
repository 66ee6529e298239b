"""PCI values of sysfs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.pci import sysfs as pcie


@pytest.mark.parametrize(
    ("text", "speed"),
    [
        ("32.0 GT/s PCIe", 32e9),
        ("8 GT/s", 8e9),
        ("2.5 GT/s PCIe", 2.5e9),
        ("Unknown", None),
        ("0 GT/s", None),
        ("", None),
    ],
)
def test_link_speed_or_none_when_the_kernel_does_not_know(text: str, speed: float | None) -> None:
    assert pcie.link_speed(text) == speed


@pytest.mark.parametrize(
    ("text", "width"), [("16\n", 16), ("1", 1), ("0", None), ("255", None), ("x8", None), ("3", None)]
)
def test_a_width_that_no_link_has_is_none(text: str, width: int | None) -> None:
    assert pcie.link_width(text) == width


@pytest.mark.parametrize(
    ("vendor", "pci_class", "role"),
    [
        (0x10DE, 0x030200, "gpu"),
        (0x10DE, 0x030000, "gpu"),
        (0x10DE, 0x068000, "nvswitch"),
        (0x15B3, 0x020700, "nic"),
        (0x14E4, 0x020000, "nic"),
        (0x144D, 0x010802, "nvme"),
        (0x102B, 0x030000, ""),
        (0x10DE, 0x040300, ""),
    ],
)
def test_what_a_device_is(vendor: int, pci_class: int, role: str) -> None:
    assert pcie.role(vendor, pci_class) == role


def test_aer_total_is_the_kernels_own_line_or_else_the_sum() -> None:
    assert pcie.aer_total(pcie.aer_counters("RxErr 1\nBadTLP 2\nTOTAL_ERR_COR 7\n")) == 7
    assert pcie.aer_total(pcie.aer_counters("RxErr 1\nBadTLP 2\n")) == 3
    assert pcie.aer_total(pcie.aer_counters("garbage\n")) is None


def test_aer_names_of_older_kernels_hold_spaces() -> None:
    counters = pcie.aer_counters("Receiver Error 2\nRELAY_NUM Rollover 0\nAdvisory Non-Fatal 1\n")
    assert counters == {"Receiver Error": 2, "RELAY_NUM Rollover": 0, "Advisory Non-Fatal": 1}
    assert pcie.aer_signal("correctable", "Advisory Non-Fatal") == "pci_aer_correctable_advisory_non_fatal_total"


def test_addresses_are_reported_in_lower_case() -> None:
    assert pcie.address("0000:9B:00.0") == "0000:9b:00.0"
    assert pcie.address("pci0000:00") == ""


@given(st.text(max_size=200))
def test_no_text_makes_a_parser_raise(text: str) -> None:
    pcie.address(text), pcie.hex_id(text), pcie.link_speed(text), pcie.link_width(text)
    pcie.aer_total(pcie.aer_counters(text))
