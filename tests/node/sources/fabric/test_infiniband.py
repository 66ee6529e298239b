"""Ports as the sources see them: a sick one never blinds us to the others."""

import os
import shutil
from pathlib import Path

import pytest

from holdfast.catalog.nccl import transport_timeout
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal, Value
from holdfast.node.checks.fabric.port_down import CHECK
from holdfast.node.sources.fabric.infiniband import InfinibandCountersSource, InfinibandSource
from holdfast.node.sources.host.repairs import record_repair
from tests.descriptors import open_files

COUNTERS = {"port_xmit_data": "10", "port_rcv_data": "20", "link_downed": "0", "symbol_error": "0", "VL15_dropped": "0"}
HW_COUNTERS = {"lifespan": "12", "out_of_sequence": "3"}


class Tree:
    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "class" / "infiniband").mkdir(parents=True)

    def device(
        self, name: str, pci: str = "", board: str = "MT_1", layer: str = "InfiniBand", state: str = "4: ACTIVE"
    ) -> None:
        home = self.root / "class" / "infiniband" / name
        (home / "ports" / "1").mkdir(parents=True)
        for file, text in {"fw_ver": "28.41.1000", "board_id": board, "hca_type": "MT4129"}.items():
            (home / file).write_text(text + "\n")
        for file, text in {
            "state": state,
            "phys_state": "5: LinkUp",
            "rate": "400 Gb/sec (4X NDR)",
            "link_layer": layer,
        }.items():
            self.set(name, file, text)
        for folder, counters in (("counters", COUNTERS), ("hw_counters", HW_COUNTERS)):
            (home / "ports" / "1" / folder).mkdir()
            for file, text in counters.items():
                self.set(name, f"{folder}/{file}", text)
        if pci:
            function = self.root / "bus" / "pci" / "devices" / pci
            (function / "net" / f"ib{name}").mkdir(parents=True)
            (function / "driver").mkdir()
            (home / "device").symlink_to(function)

    def port(self, device: str) -> Path:
        return self.root / "class" / "infiniband" / device / "ports" / "1"

    def set(self, device: str, file: str, text: str) -> None:
        (self.port(device) / file).write_text(text + "\n")

    def down(self, device: str) -> None:
        self.set(device, "state", "1: DOWN")

    def up(self, device: str) -> None:
        self.set(device, "state", "4: ACTIVE")


PORTS = [f"node/n1/nic/mlx5_{i}/1" for i in range(3)]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "sys")
    for number in range(3):
        made.device(f"mlx5_{number}", pci=f"0000:{0x1A + number:02x}:00.0")
    return made


def source(tree: Tree, **options: object) -> InfinibandSource:
    return InfinibandSource("n1", str(tree.root), **options)  # type: ignore[arg-type]


def values(reading: Reading, subject: str) -> dict[str, Value]:
    return {name: value for where, name, value in reading.signals if where == subject}


def test_every_port_reports_its_state_rate_and_make(tree: Tree) -> None:
    reading = source(tree).read(0)
    assert reading.present == PORTS
    seen = values(reading, PORTS[1])
    assert (seen["port_state"], seen["port_up"], seen["port_phys_state"]) == (4, 1, 5)
    assert seen["port_rate_bytes_per_second"] == 5e10
    assert seen["port_pci_address"] == "0000:1b:00.0"
    assert (seen["port_board_id"], seen["port_link_layer"]) == ("MT_1", "InfiniBand")


def test_counters_are_reported_in_bytes_and_without_the_lifespan(tree: Tree) -> None:
    seen = values(InfinibandCountersSource("n1", str(tree.root)).read(0), PORTS[0])
    assert seen == {
        "port_xmit_data_bytes_total": 40,
        "port_rcv_data_bytes_total": 80,
        "port_link_downed_total": 0,
        "port_symbol_error_total": 0,
        "port_vl15_dropped_total": 0,
        "port_hw_out_of_sequence_total": 3,
        "port_counters_readable": 1,
    }


def test_a_counter_the_device_lacks_is_absent_with_what_it_says(tree: Tree) -> None:
    tree.set("mlx5_0", "counters/symbol_error", "N/A (no PMA)")
    reading = InfinibandCountersSource("n1", str(tree.root)).read(0)
    assert "N/A (no PMA)" in reading.absent[(PORTS[0], "port_symbol_error_total")]
    assert values(reading, PORTS[1])["port_symbol_error_total"] == 0


def test_changes_are_seen_through_the_descriptors_that_stay_open(tree: Tree) -> None:
    watched = source(tree)
    watched.read(0)
    open_before = open_files(str(tree.root))
    tree.down("mlx5_1")
    assert values(watched.read(1), PORTS[1])["port_up"] == 0
    tree.up("mlx5_1")
    assert values(watched.read(2), PORTS[1])["port_up"] == 1
    assert open_files(str(tree.root)) == open_before != []


def test_a_state_that_makes_no_sense_names_its_file_and_the_verdict_speaks_no_inner_language(tree: Tree) -> None:
    (tree.port("mlx5_1") / "state").write_bytes(b"")
    watched = source(tree)
    history = History("n1")
    history.promise(watched.name, watched.carries)
    reading = watched.read(0)
    history.inventory = Inventory(node="n1", subjects=frozenset(reading.present))
    history.add(reading)
    (row,) = (row for row in CHECK(history.window(0, 600)).rows if row.subject == PORTS[1])
    assert (row.health, row.reason) == (Health.UNKNOWN, "file state reads ''")


@pytest.mark.parametrize("garbage", [b"", b"4: ACT", b"\x00\xff\xfe", b"4"])
def test_a_state_that_cannot_be_read_is_unknown_and_the_others_go_on(tree: Tree, garbage: bytes) -> None:
    watched = source(tree)
    watched.read(0)
    (tree.port("mlx5_1") / "state").write_bytes(garbage)
    reading = watched.read(1)
    assert "port_up" not in values(reading, PORTS[1])
    assert (PORTS[1], "port_up") in reading.absent
    assert PORTS[1] in reading.present
    assert values(reading, PORTS[2])["port_up"] == 1


def test_a_broken_rate_leaves_the_state_readable(tree: Tree) -> None:
    tree.set("mlx5_1", "rate", "fast")
    reading = source(tree).read(0)
    assert values(reading, PORTS[1])["port_up"] == 1
    assert "fast" in reading.absent[(PORTS[1], "port_rate_bytes_per_second")]


@pytest.mark.parametrize("excluded", ["mlx5_1", "0000:1b:00.0"])
def test_an_excluded_device_is_never_opened(tree: Tree, excluded: str) -> None:
    trap = tree.port("mlx5_1") / "state"
    trap.unlink()
    os.mkfifo(trap)  # opening it would leave a mark: its access time, and a descriptor
    for made in (source(tree, exclude=(excluded,)), InfinibandCountersSource("n1", str(tree.root), (excluded,))):
        reading = made.read(0)
        assert not values(reading, PORTS[1])
        assert not [name for name in open_files(str(tree.root)) if "mlx5_1" in name]
    assert PORTS[1] not in reading.present


def test_a_port_that_never_was_up_and_has_no_peer_up_is_not_expected(tree: Tree) -> None:
    tree.device("mlx5_9", board="other", state="1: DOWN")
    reading = source(tree).read(0)
    assert "node/n1/nic/mlx5_9/1" not in reading.present
    seen = values(reading, "node/n1/nic/mlx5_9/1")
    assert (seen["port_state"], seen["port_expected"], seen["port_outage_seconds"]) == (1, 0, 0)


def test_a_port_that_never_was_up_beside_peers_that_are_is_down(tree: Tree) -> None:
    tree.down("mlx5_1")
    watched = source(tree)
    watched.read(0)
    seen = values(watched.read(9), PORTS[1])
    assert (seen["port_expected"], seen["port_outage_seconds"]) == (1, 9)


def test_the_unused_second_function_of_a_card_is_no_peer_of_the_first(tree: Tree) -> None:
    tree.device("mlx5_8", pci="0000:1a:00.1", state="1: DOWN")
    assert "node/n1/nic/mlx5_8/1" not in source(tree).read(0).present


def test_an_outage_is_timed_and_looked_at_more_often_until_the_deadline(tree: Tree) -> None:
    watched = source(tree)
    watched.read(0)
    assert watched.every == 1.0
    tree.down("mlx5_1")
    watched.read(1)
    assert watched.every < 1.0
    assert values(watched.read(8), PORTS[1])["port_outage_seconds"] == 7
    watched.read(400)
    assert watched.every == 1.0
    tree.up("mlx5_1")
    seen = values(watched.read(401), PORTS[1])
    assert (seen["port_outage_seconds"], seen["port_down_seconds_1h"], seen["port_flaps_24h"]) == (0, 5 + 395, 1)


def test_a_configured_cadence_is_kept_outside_of_outages(tree: Tree) -> None:
    watched = source(tree)
    watched.every = 5.0
    watched.read(0)
    tree.down("mlx5_1")
    watched.read(5)
    assert watched.every < 1.0
    tree.up("mlx5_1")
    watched.read(6)
    assert watched.every == 5.0


@pytest.mark.parametrize("phase", [0.0, 0.01, 0.3, 0.5, 0.77, 0.99])
def test_presumed_lost_is_announced_before_and_reported_within_1_2_seconds_after_the_deadline(
    tree: Tree, phase: float
) -> None:
    watched, history, reported = source(tree), History("n1"), {}
    history.inventory = Inventory(node="n1", subjects=frozenset(PORTS))
    job = [Signal("node/n1", "jobs_running", 1.0), Signal("job/7", "job_processes", 8.0)]
    history.add(Reading(source="jobs", at=1000.0, signals=job))
    at, went_down = 1000.0, 1010.0 + phase
    deadline = went_down + transport_timeout().seconds
    while at < deadline + 5:
        if at >= went_down:
            tree.down("mlx5_1")
        history.add(watched.read(at))
        reported.setdefault(CHECK(history.window(at, CHECK.span)).health, at)
        at += watched.every
    assert reported[Health.DEGRADED] < deadline - 5
    assert 0 <= reported[Health.FAIL] - deadline <= 1.2


def test_a_device_that_vanished_stays_expected_and_is_down(tree: Tree) -> None:
    watched = source(tree)
    watched.read(0)
    (tree.root / "class/infiniband/mlx5_1").rename(tree.root / "elsewhere")
    watched.read(11)
    reading = watched.read(21)
    assert PORTS[1] in reading.present
    seen = values(reading, PORTS[1])
    assert (seen["port_up"], seen["port_outage_seconds"]) == (0, 10)
    assert "disappeared" in reading.absent[(PORTS[1], "port_state")]


def test_a_device_that_vanished_with_its_interface_may_be_in_a_container(tree: Tree) -> None:
    watched = source(tree)
    watched.read(0)
    (tree.root / "class/infiniband/mlx5_1").rename(tree.root / "elsewhere")
    shutil.rmtree(tree.root / "bus/pci/devices/0000:1b:00.0/net")
    reading = watched.read(11)
    assert PORTS[1] in reading.present
    assert "port_up" not in values(reading, PORTS[1])
    assert "container" in reading.absent[(PORTS[1], "port_up")]


def test_a_device_that_got_a_new_name_is_not_missed_under_the_old_one(tree: Tree) -> None:
    watched = source(tree)
    watched.read(0)
    (tree.root / "class/infiniband/mlx5_1").rename(tree.root / "class/infiniband/rail1")
    reading = watched.read(11)
    assert sorted(reading.present) == sorted([PORTS[0], PORTS[2], "node/n1/nic/rail1/1"])


def test_a_device_that_returns_is_seen_again(tree: Tree) -> None:
    watched = source(tree)
    watched.read(0)
    (tree.root / "class/infiniband/mlx5_1").rename(tree.root / "elsewhere")
    watched.read(11)
    (tree.root / "elsewhere").rename(tree.root / "class/infiniband/mlx5_1")
    assert values(watched.read(22), PORTS[1])["port_up"] == 1


def test_no_rdma_device_is_blindness_with_its_reason(tmp_path: Path) -> None:
    for made in (InfinibandSource("n1", str(tmp_path)), InfinibandCountersSource("n1", str(tmp_path))):
        assert "no RDMA device" in made.read(0).blind


def test_an_outage_survives_a_restart_of_the_agent(tree: Tree, tmp_path: Path) -> None:
    ledger = str(tmp_path / "state" / "ports.jsonl")
    first = source(tree, ledger=ledger)
    first.read(1000)
    tree.down("mlx5_1")
    first.read(1010)
    seen = values(source(tree, ledger=ledger).read(1100), PORTS[1])
    assert seen["port_outage_seconds"] == 90


def test_what_was_down_before_a_repair_no_longer_counts(tree: Tree, tmp_path: Path) -> None:
    watched = source(tree, ledger=str(tmp_path / "ports.jsonl"))
    watched.read(1000)
    tree.down("mlx5_1")
    watched.read(1001)
    watched.read(1004)
    tree.up("mlx5_1")
    assert values(watched.read(1005), PORTS[1])["port_down_seconds_24h"] == 4
    record_repair(str(tmp_path), PORTS[1], 1010, "new cable")
    seen = values(watched.read(1020), PORTS[1])
    assert (seen["port_down_seconds_24h"], seen["port_flaps_24h"]) == (0, 0)
    assert "port_last_outage_seconds" not in seen


def test_the_longest_outage_before_the_watchdog_is_reported_beside_the_last(tree: Tree) -> None:
    watched = source(tree)
    watched.read(1000)
    for at, seconds in ((1001, 40), (1060, 1)):
        tree.down("mlx5_1")
        for passed in range(seconds):
            watched.read(at + passed)
        tree.up("mlx5_1")
        watched.read(at + seconds)
    seen = values(watched.read(1070), PORTS[1])
    assert (seen["port_longest_outage_seconds"], seen["port_longest_outage_end_timestamp_seconds"]) == (40, 1041)
    assert (seen["port_last_outage_seconds"], seen["port_last_outage_end_timestamp_seconds"]) == (1, 1061)
    assert values(watched.read(1650), PORTS[1])["port_longest_outage_seconds"] == 1


def test_link_downed_is_read_at_the_counters_pace(tree: Tree) -> None:
    watched = source(tree)
    watched.read(0)
    tree.set("mlx5_1", "counters/link_downed", "1")
    assert [values(watched.read(at), PORTS[1])["port_flaps_24h"] for at in (1, 2, 29)] == [0, 0, 0]
    watched.read(30)
    assert values(watched.read(31), PORTS[1])["port_flaps_24h"] == 1


def refuse(tree: Tree, device: str, counter: str) -> None:
    """A file whose reading is an input/output error, as a restricted function's counters are."""
    path = tree.port(device) / "counters" / counter
    path.unlink()
    path.symlink_to("/proc/self/mem")


def allow(tree: Tree, device: str, counter: str, text: str) -> None:
    (tree.port(device) / "counters" / counter).unlink()
    tree.set(device, f"counters/{counter}", text)


def test_a_counter_that_a_restricted_function_refuses_is_left_alone_for_an_hour(tree: Tree) -> None:
    refuse(tree, "mlx5_1", "symbol_error")
    counters = InfinibandCountersSource("n1", str(tree.root))
    assert "input/output error" in counters.read(0).absent[(PORTS[1], "port_symbol_error_total")]
    allow(tree, "mlx5_1", "symbol_error", "7")
    reading = counters.read(3570)
    assert "input/output error" in reading.absent[(PORTS[1], "port_symbol_error_total")]
    assert values(reading, PORTS[1])["port_xmit_data_bytes_total"] == 40
    assert values(counters.read(3600), PORTS[1])["port_symbol_error_total"] == 7


def test_a_refused_link_downed_is_left_alone_for_an_hour_and_the_state_is_not(tree: Tree) -> None:
    refuse(tree, "mlx5_1", "link_downed")
    watched = source(tree)
    watched.read(0)
    allow(tree, "mlx5_1", "link_downed", "3")
    watched.read(60)
    tree.set("mlx5_1", "counters/link_downed", "4")
    watched.read(90)
    seen = values(watched.read(91), PORTS[1])
    assert (seen["port_up"], seen["port_flaps_24h"]) == (1, 0)
    watched.read(3600)
    tree.set("mlx5_1", "counters/link_downed", "5")
    watched.read(3630)
    assert values(watched.read(3631), PORTS[1])["port_flaps_24h"] == 1


def test_a_ledger_that_cannot_be_written_is_reported_and_changes_nothing_else(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    watched = source(tree, ledger=str(tmp_path / "file" / "ports.jsonl"))
    watched.read(0)
    tree.down("mlx5_1")
    watched.read(1)
    reading = watched.read(6)
    assert values(reading, PORTS[1])["port_outage_seconds"] == 5
    assert values(reading, "node/n1")["port_ledger_writable"] == 0
    assert "cannot write" in reading.absent[("node/n1", "port_ledger_file")]
