"""Every fault changes the node and clearing it mends the node."""

import os
from pathlib import Path

import pytest

from holdfast.lab.twin import TwinError, TwinNode, all_faults, clear, inject, injected, make_node
from holdfast.lab.twin.acts import ACTS
from holdfast.lab.twin.fault import Fault
from holdfast.lab.twin.kmsg import TAKEN_BACK

pytestmark = pytest.mark.slow

NOW = 1_800_000_000.0
KEPT = {"link_downed", "carrier_changes", "carrier_down_count"}  # counters do not forget
HARMLESS = {"kmsg_garbage"}  # leaves its garbage in the log


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> TwinNode:
    return make_node(tmp_path_factory.mktemp("twin") / "n01", now=NOW)


def _world(node: TwinNode) -> dict[str, bytes]:
    """Everything a reader of the node can see."""
    seen = {}
    for part in ("sys", "proc", "dev", "nvml", "timex"):
        top = node.directory / part
        for path in [top] if top.is_file() else [Path(at, name) for at, _, names in os.walk(top) for name in names]:
            if path.name not in KEPT:
                seen[str(path)] = path.read_bytes()
        for path in top.rglob("*"):
            if path.is_symlink():
                seen[str(path)] = os.readlink(path).encode()
    return seen


def _place(fault: Fault) -> dict[str, object]:
    return {"gpu": 3} if fault.on == "gpu" else {"port": "mlx5_4"} if fault.on == "port" else {}


@pytest.mark.parametrize("name", sorted(all_faults("nvidia")))
def test_a_fault_shows_and_clearing_it_leaves_no_trace(node: TwinNode, name: str) -> None:
    fault = all_faults("nvidia")[name]
    before = _world(node)
    during: list[dict[str, bytes]] = []
    inject(node, name, now=NOW + 10, pause=lambda _: during.append(_world(node)), **_place(fault))  # type: ignore[arg-type]
    during.append(_world(node))
    assert during[0] != before, "nothing was broken"
    assert any(key.startswith(name + "@") for key in injected(node))
    clear(node, name, now=NOW + 20, **_place(fault))  # type: ignore[arg-type]
    after = _world(node)
    log = str(node.kernel_log)
    if not fault.recovery and name not in HARMLESS:
        new = after[log].removeprefix(before[log]).splitlines()
        assert all(line.split(b";", 1)[1].strip() == TAKEN_BACK for line in new), "the kernel still says it"
    assert {**after, log: b""} == {**before, log: b""}
    assert injected(node) == []


def test_every_act_is_used_and_every_used_act_exists() -> None:
    assert {fault.act for fault in all_faults().values() if fault.act} == set(ACTS)


def test_faults_on_one_gpu_leave_the_other_gpus_alone(node: TwinNode) -> None:
    others = [bytes(node.state.gpu[index]) for index in range(8) if index != 3]
    for name, fault in all_faults("nvidia").items():
        if fault.on == "gpu":
            inject(node, name, gpu=3, now=NOW)
    assert [bytes(node.state.gpu[index]) for index in range(8) if index != 3] == others
    for name, fault in all_faults("nvidia").items():
        if fault.on == "gpu":
            clear(node, name, gpu=3)


def test_a_kept_open_descriptor_sees_the_change(node: TwinNode) -> None:
    """The agent never opens a file twice: an injection must not replace files."""
    port = node.sys.root / node.ports()[4].path
    descriptors = {name: os.open(port / name, os.O_RDONLY) for name in ("state", "phys_state", "rate")}
    inject(node, "port_down", port="mlx5_4", now=NOW)
    assert os.pread(descriptors["state"], 100, 0) == b"1: DOWN\n"
    assert os.pread(descriptors["phys_state"], 100, 0) == b"2: Polling\n"
    clear(node, "port_down", port="mlx5_4")
    assert os.pread(descriptors["state"], 100, 0) == b"4: ACTIVE\n"
    for descriptor in descriptors.values():
        os.close(descriptor)


def test_an_xid_has_the_form_of_the_driver_and_the_address_of_its_gpu(node: TwinNode) -> None:
    inject(node, "xid", gpu=1, value="79", now=NOW + 5)
    head, _, text = node.kernel_log.read_bytes().splitlines()[-1].decode().partition(";")
    priority, sequence, stamp, _ = head.split(",")
    assert text == "NVRM: Xid (PCI:0000:43:00): 79, pid=41001, name=python, GPU has fallen off the bus."
    assert (priority, int(sequence) > 0, int(stamp)) == ("3", True, 86_405_000_000)
    clear(node, "xid", gpu=1)


def test_a_storm_is_that_many_lines_with_rising_sequence_numbers(node: TwinNode) -> None:
    inject(node, "xid_storm", gpu=1, value="2500", now=NOW)
    lines = [line for line in node.kernel_log.read_bytes().splitlines() if b"Xid" in line]
    numbers = [int(line.split(b",")[1]) for line in lines]
    assert len(lines) == 2500 and numbers == list(range(numbers[0], numbers[0] + 2500))
    clear(node, "xid_storm", gpu=1)


def test_a_second_injection_adds_and_one_clear_repairs_both(node: TwinNode) -> None:
    before = (node.sys.root / node.gpu_functions()[0].path / "current_link_width").read_text()
    inject(node, "pcie_width", gpu=0, value="8")
    inject(node, "pcie_width", gpu=0, value="4")
    assert node.state.gpu[0].pcie_width == 4
    clear(node, "pcie_width", gpu=0)
    assert (node.sys.root / node.gpu_functions()[0].path / "current_link_width").read_text() == before
    assert node.state.gpu[0].pcie_width == 16


@pytest.mark.parametrize(
    ("name", "place", "says"),
    [
        ("no_such_fault", {}, "no fault is called"),
        ("gpu_lost", {"gpu": 8}, "GPUs 0 to 7"),
        ("port_down", {"port": "mlx5_77"}, "mlx5_8"),
        ("ecc_uncorrected", {"value": "many"}, "whole number"),
        ("nvlink_lane_down", {"value": "44"}, "link.44.active"),
    ],
)
def test_bad_input_is_one_clear_sentence(node: TwinNode, name: str, place: dict[str, object], says: str) -> None:
    with pytest.raises(TwinError, match=says):
        inject(node, name, **place)  # type: ignore[arg-type]


def test_clearing_what_is_not_there_says_what_is(node: TwinNode) -> None:
    inject(node, "gpu_lost", gpu=2)
    with pytest.raises(TwinError, match="gpu_lost@gpu2"):
        clear(node, "xid", gpu=2)
    clear(node, "gpu_lost", gpu=2)


@pytest.mark.parametrize("name", [name for name, fault in all_faults("nvidia").items() if fault.on == "port"])
def test_a_fault_of_a_port_fits_an_efa_node_or_is_refused(tmp_path: Path, name: str) -> None:
    """EFA has neither InfiniBand's counters nor its rates."""
    node = make_node(tmp_path / "n01", "h100_efa", now=NOW)
    port = node.ports()[2].name
    try:
        inject(node, name, port=port, now=NOW + 10, pause=lambda _: None)
    except TwinError as refused:
        assert "does not fit" in str(refused)
    else:
        clear(node, name, port=port, now=NOW + 20)
