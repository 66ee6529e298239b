"""The PCI bus as the source sees it."""

from pathlib import Path

import pytest

from holdfast.model.signal import Reading, Value
from holdfast.node.sources.host.pcie import PcieSource

ROOT, UP, DOWN_GPU, DOWN_NIC = "0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:17:01.0"
GPU, NIC, DRIVE = "0000:18:00.0", "0000:19:00.0", "0000:40:00.0"
AER = {"correctable": "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0\n", "nonfatal": "DLP 0\nTOTAL_ERR_NONFATAL 0\n",
       "fatal": "DLP 0\nTOTAL_ERR_FATAL 0\n"}  # fmt: skip


class Bus:
    """A bus with a GPU and a NIC behind one switch and a drive on a root port of its own."""

    def __init__(self, sys: Path) -> None:
        self.sys = sys
        (sys / "bus/pci/devices").mkdir(parents=True)
        for vendor, pci_class, chain in (
            ("0x8086", "0x060400", (ROOT,)),
            ("0x1000", "0x060400", (ROOT, UP)),
            ("0x1000", "0x060400", (ROOT, UP, DOWN_GPU)),
            ("0x1000", "0x060400", (ROOT, UP, DOWN_NIC)),
            ("0x10de", "0x030200", (ROOT, UP, DOWN_GPU, GPU)),
            ("0x15b3", "0x020700", (ROOT, UP, DOWN_NIC, NIC)),
            ("0x8086", "0x060400", ("0000:3f:01.0",)),
            ("0x144d", "0x010802", ("0000:3f:01.0", DRIVE)),
            ("0x8086", "0x080700", ("0000:00:00.1",)),
        ):
            self.add(vendor, pci_class, chain)

    def add(self, vendor: str, pci_class: str, chain: tuple[str, ...]) -> None:
        home = self.sys / "devices/pci0000:00" / "/".join(chain)
        home.mkdir(parents=True, exist_ok=True)
        (self.sys / "bus/pci/devices" / chain[-1]).symlink_to(home)
        files = {
            "vendor": vendor,
            "class": pci_class,
            "device": "0x2330",
            "numa_node": "1",
            "current_link_speed": "32.0 GT/s PCIe",
            "max_link_speed": "32.0 GT/s PCIe",
            "current_link_width": "16",
            "max_link_width": "16",
            **{f"aer_dev_{kind}": text for kind, text in AER.items()},
        }
        for name, text in files.items():
            self.set(chain[-1], name, text)

    def set(self, address: str, name: str, text: str) -> None:
        (self.sys / "bus/pci/devices" / address / name).write_text(text + "\n")


@pytest.fixture
def bus(tmp_path: Path) -> Bus:
    return Bus(tmp_path / "sys")


def of(reading: Reading, address: str) -> dict[str, Value]:
    return {name: value for where, name, value in reading.signals if where == f"node/n1/pci/{address}"}


def test_link_role_and_place_of_each_device(bus: Bus) -> None:
    seen = of(PcieSource("n1", str(bus.sys)).read(0), GPU)
    assert seen["pci_link_speed_transfers_per_second"] == 32e9
    assert (seen["pci_link_width_lanes"], seen["pci_max_link_width_lanes"]) == (16, 16)
    assert (seen["pci_role"], seen["pci_vendor"], seen["pci_class"]) == ("gpu", "0x10de", "0x030200")
    assert (seen["pci_parent"], seen["pci_switch"], seen["pci_numa_node"]) == (DOWN_GPU, UP, 1)


def test_which_gpu_shares_a_switch_with_which_nic_can_be_reported(bus: Bus) -> None:
    reading = PcieSource("n1", str(bus.sys)).read(0)
    assert of(reading, GPU)["pci_switch"] == of(reading, NIC)["pci_switch"]
    assert "pci_switch" not in of(reading, DRIVE)


def test_only_devices_of_interest_and_the_ports_above_them_are_reported(bus: Bus) -> None:
    reading = PcieSource("n1", str(bus.sys)).read(0)
    assert not of(reading, "0000:00:00.1")
    assert of(reading, UP)["pci_role"] == "bridge"
    own_links = [GPU, NIC, DRIVE, UP]
    assert sorted(reading.present) == sorted(f"node/n1/pci/{address}" for address in own_links)


def test_aer_totals_and_the_errors_that_make_them_up(bus: Bus) -> None:
    bus.set(GPU, "aer_dev_correctable", "RxErr 0\nBadTLP 41\nTOTAL_ERR_COR 41")
    seen = of(PcieSource("n1", str(bus.sys)).read(0), GPU)
    assert (seen["pci_aer_correctable_total"], seen["pci_aer_correctable_badtlp_total"]) == (41, 41)
    assert (seen["pci_aer_fatal_total"], seen["pci_aer_nonfatal_total"]) == (0, 0)
    assert "pci_aer_correctable_rxerr_total" not in seen


def test_an_unknown_speed_is_absent_and_the_rest_goes_on(bus: Bus) -> None:
    bus.set(GPU, "current_link_speed", "Unknown")
    reading = PcieSource("n1", str(bus.sys)).read(0)
    assert "Unknown" in reading.absent[(f"node/n1/pci/{GPU}", "pci_link_speed_transfers_per_second")]
    assert of(reading, GPU)["pci_link_width_lanes"] == 16
    assert of(reading, NIC)["pci_link_speed_transfers_per_second"] == 32e9


def test_a_device_without_aer_says_so(bus: Bus) -> None:
    (bus.sys / "bus/pci/devices" / GPU / "aer_dev_fatal").unlink()
    reading = PcieSource("n1", str(bus.sys)).read(0)
    assert "no AER counters" in reading.absent[(f"node/n1/pci/{GPU}", "pci_aer_fatal_total")]


def test_a_device_that_falls_off_the_bus_stays_present_and_is_absent(bus: Bus) -> None:
    source = PcieSource("n1", str(bus.sys))
    source.read(0)
    (bus.sys / "bus/pci/devices" / GPU).unlink()
    reading = source.read(60)
    assert f"node/n1/pci/{GPU}" in reading.present
    assert "disappeared" in reading.absent[(f"node/n1/pci/{GPU}", "pci_link_width_lanes")]


def test_virtual_functions_and_devices_without_a_link_are_not_expected_to_have_one(bus: Bus) -> None:
    bus.add("0x15b3", "0x020700", (ROOT, "0000:19:00.1"))
    (bus.sys / "bus/pci/devices/0000:19:00.1/physfn").symlink_to("../" + NIC)
    bus.add("0x1af4", "0x020000", ("0000:00:03.0",))
    bus.set("0000:00:03.0", "max_link_width", "0")
    present = PcieSource("n1", str(bus.sys)).read(0).present
    assert not {"node/n1/pci/0000:19:00.1", "node/n1/pci/0000:00:03.0"} & set(present)


def test_a_drive_behind_a_controller_with_its_own_domain_counts_ports_of_that_domain_only(bus: Bus) -> None:
    bus.add("0x8086", "0x060400", ("0000:64:00.5", "10000:00:02.0"))
    bus.add("0x144d", "0x010802", ("0000:64:00.5", "10000:00:02.0", "10000:01:00.0"))
    reading = PcieSource("n1", str(bus.sys)).read(0)
    assert of(reading, "10000:01:00.0")["pci_parent"] == "10000:00:02.0"
    assert of(reading, "10000:00:02.0")["pci_own_link"] == 0


def test_an_excluded_function_is_never_read(bus: Bus) -> None:
    for name in ("vendor", "class"):
        bus.set(NIC, name, "must not be read")
    reading = PcieSource("n1", str(bus.sys), exclude=(NIC,)).read(0)
    assert not of(reading, NIC)
    assert not any(NIC in where for where, _ in reading.absent)


def test_a_machine_without_such_devices_is_blind_with_the_reason(tmp_path: Path) -> None:
    assert "no PCI bus" in PcieSource("n1", str(tmp_path)).read(0).blind
    (tmp_path / "bus/pci/devices").mkdir(parents=True)
    assert "no GPU" in PcieSource("n1", str(tmp_path)).read(0).blind
