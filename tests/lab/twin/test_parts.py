"""The twin's parts that need no compiler: data that must agree with the rest, and files changed in place."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.catalog.gpus import gpu_model
from holdfast.lab.twin import all_faults, kmsg
from holdfast.lab.twin.hardware import load_model, model_names
from holdfast.lab.twin.nvml.layout import CAPABILITIES
from holdfast.lab.twin.pci import functions, of_role
from holdfast.lab.twin.sysfs_pci import aer_text
from holdfast.lab.twin.tree import Tree, write_in_place
from holdfast.node import checks
from holdfast.node.agent.assemble import SOURCES


def test_every_check_that_a_fault_says_it_turns_exists() -> None:
    assert {name for fault in all_faults().values() for name in fault.expects} <= checks.BY_NAME.keys()
    assert {fault.blinds for fault in all_faults().values() if fault.blinds} <= SOURCES


@pytest.mark.parametrize("name", model_names())
def test_a_model_is_one_that_the_catalog_knows_with_the_same_lanes(name: str) -> None:
    model = load_model(name)
    known = gpu_model(model.gpu_name)
    assert known is not None and known.nvlink_lanes == model.nvlinks
    assert set(model.unsupported) <= set(CAPABILITIES)


@pytest.mark.parametrize("name", model_names())
def test_no_two_devices_share_an_address_and_each_hangs_below_bridges_that_exist(name: str) -> None:
    model = load_model(name)
    found = functions(model)
    addresses = [function.address for function in found]
    assert len(set(addresses)) == len(addresses)
    bridges = {function.address for function in found if function.role == "bridge"}
    assert all(set(function.above) <= bridges for function in found)
    assert len(of_role(model, "gpu")) == model.gpus and len(of_role(model, "port")) == model.ports


def test_a_shorter_text_leaves_no_tail_and_keeps_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_in_place(path, "4: ACTIVE\n")
    inode = path.stat().st_ino
    held = os.open(path, os.O_RDONLY)
    write_in_place(path, "1: DOWN\n")
    assert os.pread(held, 100, 0) == b"1: DOWN\n" and path.stat().st_ino == inode
    os.close(held)


def test_links_are_relative_so_that_a_tree_can_be_moved(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "sys")
    tree.file("devices/pci0000:15/0000:15:01.0/vendor", "0x8086\n")
    tree.link("bus/pci/devices/0000:15:01.0", "devices/pci0000:15/0000:15:01.0")
    os.rename(tmp_path / "sys", tmp_path / "moved")
    assert (tmp_path / "moved/bus/pci/devices/0000:15:01.0/vendor").read_text() == "0x8086\n"


def test_aer_text_counts_in_its_total() -> None:
    assert aer_text("fatal", {"MalfTLP": 2}).splitlines()[-1] == "TOTAL_ERR_FATAL 2"
    assert aer_text("correctable").splitlines()[0] == "RxErr 0"


@given(st.binary(max_size=400))
def test_the_next_sequence_number_survives_any_log(tmp_path_factory: pytest.TempPathFactory, garbage: bytes) -> None:
    path = tmp_path_factory.mktemp("log") / "kmsg"
    path.write_bytes(b"3,41,100,-;before\n" + garbage.replace(b",", b"."))
    assert kmsg.next_sequence(path) == 42


def test_a_line_taken_back_keeps_its_length_and_number(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    path.write_bytes(
        b"3,1,5,-;NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n6,2,6,-;harmless\n\xff\xfe\n"
    )
    size = path.stat().st_size
    kmsg.take_back(path, ["Xid (PCI:0000:1b:00): 79"])
    assert path.stat().st_size == size
    assert b"Xid" not in path.read_bytes() and path.read_bytes().startswith(b"3,1,5,-;twin: taken back ")


def test_the_reference_of_commands_lists_every_model() -> None:
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
    result = re.sub(r"\s+", " ", page.partition("holdfast twin node")[2])[:2000]
    assert [name for name in model_names() if name not in result] == []
