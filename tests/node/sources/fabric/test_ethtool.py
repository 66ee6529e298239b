"""Statistics of Ethernet adapters, asked of the driver: bounded, per interface, in words that the checks know."""

import struct

import pytest

from holdfast.formats.ethtool import live
from holdfast.node.sources.fabric import ethtool
from holdfast.node.sources.fabric.ethtool import EthtoolSource


@pytest.fixture
def sys(tmp_path):
    def port(device, layer, interface):
        here = tmp_path / "class/infiniband" / device / "ports/1"
        (here / "gid_attrs/ndevs").mkdir(parents=True)
        (here / "link_layer").write_text(f"{layer}\n")
        (here / "gid_attrs/ndevs/0").write_text(f"{interface}\n")

    port("mlx5_0", "Ethernet", "ens1")
    port("mlx5_1", "InfiniBand", "ib0")
    port("bnxt_re0", "Ethernet", "ens2")
    return str(tmp_path)


def test_each_driver_answers_the_questions_it_counts():
    mlx5 = {"rx_symbol_err_phy": 3, "rx_crc_errors_phy": 4, "rx_discards_phy": 9, "rx_prio3_discards": 9, "rx_bytes": 1}
    assert live.signals(mlx5) == {"port_phy_errors_total": 7.0, "port_phy_discards_total": 9.0}
    assert live.signals({"rx_fcs_err_frames": 2}) == {"port_phy_errors_total": 2.0}
    assert live.signals({"tx_pause_storm_warning_events": 1, "tx_pause_storm_error_events": 1}) == {
        "port_pause_storms_total": 2.0
    }


def test_ethernet_ports_are_asked_and_a_failing_driver_costs_its_own_port(sys):
    def ask(interface):
        if interface == "ens2":
            raise OSError(5, "Input/output error")
        return {"rx_crc_errors_phy": 5}

    reading = EthtoolSource("n1", sys, ask=ask).read(1.0)
    assert [(one.subject, one.name, one.value) for one in reading.signals] == [
        ("node/n1/nic/mlx5_0/1", "port_phy_errors_total", 5.0)
    ]
    assert {key[0] for key in reading.absent} == {"node/n1/nic/bnxt_re0/1"}


def test_a_copy_of_sysfs_is_not_mixed_with_the_running_kernel(sys):
    assert not EthtoolSource("n1", sys).read(1.0).signals


def test_a_driver_that_hangs_is_left_behind(sys):
    asked = []

    def ask(interface):
        asked.append(interface)
        assert source.abandon()  # the runner's word, while this driver does not answer
        return {}

    source = EthtoolSource("n1", sys, ask=ask)
    assert not source.read(1.0).signals
    assert len(asked) == 1, "the read that was given up asks no other driver"


def test_the_answer_of_the_kernel_is_read_within_its_bounds(monkeypatch):
    def ioctl(_, request, data):
        assert request == ethtool._SIOCETHTOOL
        name, address = struct.unpack("16sP16x", data)
        assert name.rstrip(b"\0") == b"ens1"
        command = ethtool.ctypes.c_uint32.from_address(address).value
        if command == ethtool._GSSET_INFO:
            ethtool.ctypes.c_uint32.from_address(address + 16).value = 2
        elif command == ethtool._GSTRINGS:
            ethtool.ctypes.memmove(address + 12, b"rx_bytes".ljust(32, b"\0") + b"rx_drops".ljust(32, b"\0"), 64)
        else:
            ethtool.ctypes.memmove(address + 8, struct.pack("=QQ", 7, 2**64 - 1), 16)

    monkeypatch.setattr(ethtool.fcntl, "ioctl", ioctl)
    assert ethtool.statistics("ens1") == {"rx_bytes": 7, "rx_drops": 2**64 - 1}


def test_an_interface_that_counts_nothing_or_too_much_is_not_read(monkeypatch):
    for count in (0, ethtool.MOST + 1):

        def ioctl(_, request, data, count=count):
            address = struct.unpack("16sP16x", data)[1]
            ethtool.ctypes.c_uint32.from_address(address + 16).value = count

        monkeypatch.setattr(ethtool.fcntl, "ioctl", ioctl)
        assert ethtool.statistics("ens1") == {}


def test_an_answer_that_is_too_short_is_no_counter():
    assert live.count(b"") == 0
    assert live.table(b"", b"", 9) == {}
    one = struct.pack("=III", 0, 1, 9) + b"rx_bytes".ljust(32, b"\0")
    assert live.table(one, struct.pack("=IIQ", 0, 9, 7), 9) == {"rx_bytes": 7}, "no more than both hold"
