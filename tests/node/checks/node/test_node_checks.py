"""Inventory, firmware and topology of a node against its manifest."""

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.verdict import Verdict
from holdfast.node.checks.check import Check
from holdfast.node.checks.node import firmware as node_firmware
from holdfast.node.checks.node import inventory as node_inventory
from holdfast.node.checks.node import topology as node_topology

Things = dict[str, dict[str, Value]]
NODE = "node/n1"


def gpu(index: int, at: int | None = None, model: str = "H100", vbios: str = "96.00") -> Things:
    address = f"0000:{(index if at is None else at):02x}:00.0"
    return {
        f"{NODE}/gpu/{index}": {"gpu_model": model, "gpu_pci_address": address, "gpu_vbios_version": vbios},
    }


def node(**values: Value) -> Things:
    return {NODE: {"driver_version": "550.54.15", **values}}


def ask(check: Check, expect: Things, seen: Things, lacks: dict[str, str] | None = None) -> Verdict:
    history = History("n1")
    subjects = frozenset({NODE, *expect, *seen})
    history.inventory = Inventory(node="n1", subjects=subjects, expect=expect, lacks=lacks or {})
    signals = [Signal(subject, name, value) for subject, values in seen.items() for name, value in values.items()]
    history.add(Reading(source="any", at=0, signals=signals))
    return check(history.window(0, 600))


def not_passing(verdict: Verdict) -> dict[str, Health]:
    return {row.subject: row.health for row in verdict.rows if row.health is not Health.PASS}


def eight(**more: Value) -> Things:
    return node(**more) | {key: value for index in range(8) for key, value in gpu(index).items()}


def test_a_node_that_equals_its_manifest_passes() -> None:
    for check in (node_inventory.CHECK, node_firmware.CHECK):
        assert ask(check, eight(), eight()).health is Health.PASS


def test_without_a_manifest_no_one_knows() -> None:
    verdict = ask(node_inventory.CHECK, {}, eight())
    assert verdict.health is Health.UNKNOWN
    assert "holdfast node learn" in verdict.summary()


def test_when_a_gpu_is_gone_only_it_is_named_though_the_others_moved_up() -> None:
    seen = node() | gpu(0) | gpu(1) | gpu(2) | gpu(3, at=4) | gpu(4, at=5) | gpu(5, at=6) | gpu(6, at=7)
    verdict = ask(node_inventory.CHECK, eight(), seen)
    assert not_passing(verdict) == {f"{NODE}/gpu/3": Health.FAIL}
    assert "0000:03:00.0" in verdict.summary()
    assert "7 of 8 GPUs" in verdict.evidence[0]


def test_a_gpu_of_another_model_fails() -> None:
    verdict = ask(node_inventory.CHECK, eight(), eight() | gpu(2, model="A100"))
    assert not_passing(verdict) == {f"{NODE}/gpu/2": Health.FAIL}
    assert "gpu_model is A100, the manifest says H100" in verdict.summary()


def test_a_gpu_too_many_degrades() -> None:
    assert not_passing(ask(node_inventory.CHECK, eight(), eight() | gpu(8))) == {f"{NODE}/gpu/8": Health.DEGRADED}


def test_a_blind_driver_makes_gpus_unknown_and_not_missing() -> None:
    verdict = ask(node_inventory.CHECK, eight(), {NODE: {}})
    assert set(not_passing(verdict).values()) == {Health.UNKNOWN}
    on_the_bus: Things = {NODE: {}, f"{NODE}/pci/0000:9b:00.0": {"pci_role": "nic"}}
    listed = not_passing(ask(node_inventory.CHECK, eight(), on_the_bus))
    assert {health for subject, health in listed.items() if "/gpu/" in subject} == {Health.UNKNOWN}


def test_a_driver_that_answers_and_has_no_gpu_makes_them_missing() -> None:
    assert ask(node_inventory.CHECK, eight(), node()).health is Health.FAIL


def test_half_the_main_memory_fails_and_a_hair_less_does_not() -> None:
    expect = eight(host_memory_total_bytes=2.0**41)
    assert ask(node_inventory.CHECK, expect, eight(host_memory_total_bytes=2.0**40)).health is Health.FAIL
    assert ask(node_inventory.CHECK, expect, eight(host_memory_total_bytes=2.0**41 * 0.995)).health is Health.PASS


def port(device: str, address: str, **more: Value) -> Things:
    values: dict[str, Value] = {"port_state": 4.0, "port_expected": 1.0, "port_pci_address": address, **more}
    return {f"{NODE}/nic/{device}/1": values}


def test_two_ports_that_share_an_address_are_distinguished_by_name() -> None:
    both = port("mlx5_0", "0000:1b:00.0") | port("mlx5_1", "0000:1b:00.0")
    verdict = ask(node_inventory.CHECK, node() | both, node() | port("mlx5_0", "0000:1b:00.0"))
    assert not_passing(verdict) == {f"{NODE}/nic/mlx5_1/1": Health.FAIL}


def test_a_missing_port_fails_and_a_port_that_never_was_up_is_not_extra() -> None:
    expect = node() | port("mlx5_0", "0000:1b:00.0") | port("mlx5_1", "0000:2b:00.0")
    seen = node() | port("mlx5_0", "0000:1b:00.0") | port("mlx5_9", "0000:9b:00.0", port_expected=0.0)
    assert not_passing(ask(node_inventory.CHECK, expect, seen)) == {f"{NODE}/nic/mlx5_1/1": Health.FAIL}


def test_ports_of_a_kernel_that_shows_pci_devices_but_no_rdma_are_missing() -> None:
    expect = node() | port("mlx5_0", "0000:1b:00.0")
    nic: Things = {f"{NODE}/pci/0000:1b:00.0": {"pci_role": "nic"}}
    assert ask(node_inventory.CHECK, expect, node() | nic).health is Health.FAIL
    assert ask(node_inventory.CHECK, expect, node()).health is Health.UNKNOWN


def test_drift_from_the_manifest_degrades_with_both_versions() -> None:
    verdict = ask(node_firmware.CHECK, eight(), eight(driver_version="535.1"))
    assert verdict.health is Health.DEGRADED
    assert "driver_version is 535.1, the manifest says 550.54.15" in verdict.summary()


def test_one_odd_vbios_among_equals_is_reported_without_a_manifest() -> None:
    verdict = ask(node_firmware.CHECK, {}, eight() | gpu(5, vbios="95.00"))
    assert not_passing(verdict) == {f"{NODE}/gpu/5": Health.DEGRADED}


def test_another_model_may_have_another_vbios() -> None:
    assert ask(node_firmware.CHECK, {}, eight() | gpu(5, model="A100", vbios="92.00")).health is Health.PASS


def test_where_two_versions_are_equally_common_both_are_reported() -> None:
    assert len(not_passing(ask(node_firmware.CHECK, {}, node() | gpu(0) | gpu(1, vbios="95.00")))) == 2


def test_a_version_that_cannot_be_read_is_unknown() -> None:
    seen = eight()
    del seen[f"{NODE}/gpu/4"]["gpu_vbios_version"]
    assert not_passing(ask(node_firmware.CHECK, eight(), seen)) == {f"{NODE}/gpu/4": Health.UNKNOWN}


def test_firmware_of_a_node_without_a_driver_is_unknown_and_of_one_without_gpus_not_asked() -> None:
    assert ask(node_firmware.CHECK, {}, {}).health is Health.UNKNOWN
    assert ask(node_firmware.CHECK, {}, {}, lacks={"gpu": "a CPU node"}).health is Health.NOT_APPLICABLE


def pci(address: str, role: str, switch: str, numa: float) -> Things:
    return {f"{NODE}/pci/{address}": {"pci_role": role, "pci_switch": switch, "pci_numa_node": numa}}


BUILT = pci("0000:1b:00.0", "gpu", "0000:18:00.0", 0.0) | pci("0000:1c:00.0", "nic", "0000:18:00.0", 0.0)


def test_topology_as_built_passes_and_names_the_pairs() -> None:
    verdict = ask(node_topology.CHECK, BUILT, BUILT)
    assert verdict.health is Health.PASS
    assert verdict.evidence == ("switch 0000:18:00.0: GPU 0000:1b:00.0 with NIC 0000:1c:00.0",)


def test_a_device_on_another_numa_node_degrades() -> None:
    moved = BUILT | pci("0000:1c:00.0", "nic", "0000:18:00.0", 1.0)
    verdict = ask(node_topology.CHECK, BUILT, moved)
    assert not_passing(verdict) == {f"{NODE}/pci/0000:1c:00.0": Health.DEGRADED}
    assert "NUMA node 1 instead of 0" in verdict.summary()


def test_topology_without_a_manifest_is_unknown() -> None:
    assert ask(node_topology.CHECK, {}, BUILT).health is Health.UNKNOWN


def test_two_percent_more_or_less_is_the_same_memory() -> None:
    expect = eight(host_memory_total_bytes=1000.0)
    for seen, health in ((980.0, Health.PASS), (979.0, Health.FAIL), (1020.0, Health.PASS), (1021.0, Health.FAIL)):
        assert ask(node_inventory.CHECK, expect, eight(host_memory_total_bytes=seen)).health is health
    unread = ask(node_inventory.CHECK, expect, eight())
    assert not_passing(unread) == {NODE: Health.UNKNOWN}


def device(address: str, role: str) -> Things:
    return {f"{NODE}/pci/{address}": {"pci_role": role}}


def test_a_gpu_a_port_or_a_switch_too_many_is_reported_and_a_drive_is_not() -> None:
    listed = node() | device("0000:01:00.0", "gpu")
    for role, health in (
        ("gpu", Health.DEGRADED),
        ("nic", Health.DEGRADED),
        ("nvswitch", Health.DEGRADED),
        ("nvme", None),
    ):
        verdict = ask(node_inventory.CHECK, listed, listed | device("0000:09:00.0", role))
        assert not_passing(verdict).get(f"{NODE}/pci/0000:09:00.0") is health


def test_what_was_found_is_counted_for_each_kind_that_is_listed() -> None:
    verdict = ask(node_inventory.CHECK, eight() | device("0000:01:00.0", "gpu"), eight() | gpu(2, model="A100"))
    assert verdict.evidence == (
        "8 of 8 GPUs that the manifest lists were found",
        "0 of 1 PCI devices that the manifest lists were found",
    )


def test_a_gpu_that_does_not_report_its_address_is_found_by_its_name() -> None:
    seen = eight()
    del seen[f"{NODE}/gpu/7"]["gpu_pci_address"]
    verdict = ask(node_inventory.CHECK, eight(), seen)
    assert not_passing(verdict) == {f"{NODE}/gpu/7": Health.UNKNOWN}


def test_a_port_of_the_manifest_without_an_address_is_known_by_its_name() -> None:
    plain: Things = {f"{NODE}/nic/mlx5_0/1": {"port_link_layer": "InfiniBand"}}
    seen = port("mlx5_0", "0000:1b:00.0", port_link_layer="InfiniBand") | port("mlx5_1", "0000:2b:00.0")
    assert not_passing(ask(node_inventory.CHECK, node() | plain, node() | seen)) == {
        f"{NODE}/nic/mlx5_1/1": Health.DEGRADED
    }


def test_a_missing_pci_device_is_reported_without_saying_twice_where() -> None:
    verdict = ask(
        node_inventory.CHECK,
        node() | device("0000:01:00.0", "gpu") | device("0000:02:00.0", "nic"),
        node() | device("0000:02:00.0", "nic"),
    )
    (row,) = (row for row in verdict.rows if row.health is Health.FAIL)
    assert row.reason == "the manifest lists it, and it is missing"
    missing = ask(node_inventory.CHECK, eight(), node() | gpu(0))
    assert "the manifest lists it at 0000:07:00.0, and it is missing" in [row.reason for row in missing.rows]


def test_parts_that_are_learned_from_a_manifest_are_not_compared_with_each_other() -> None:
    odd = eight() | gpu(5, vbios="95.00")
    assert ask(node_firmware.CHECK, odd, odd).health is Health.PASS
    assert ask(node_firmware.CHECK, odd, odd).evidence == ()
    assert ask(node_firmware.CHECK, {}, odd).evidence == (
        "no manifest: parts of this node were compared only with each other",
    )


def test_the_odd_ones_are_reported_with_what_is_common() -> None:
    (row,) = (row for row in ask(node_firmware.CHECK, {}, eight() | gpu(5, vbios="95.00")).rows if row.reason)
    assert row.reason == "gpu_vbios_version is 95.00, equal parts of this node have 96.00"
    assert (row.value, row.limit) == ("95.00", "96.00")
    three = node() | gpu(0) | gpu(1, vbios="95.00") | gpu(2, vbios="94.00")
    assert "equal parts of this node have 94.00, 95.00" in ask(node_firmware.CHECK, {}, three).summary()


def test_ports_of_one_board_carry_one_firmware() -> None:
    seen = node() | port("mlx5_0", "a", port_board_id="B", port_firmware_version="1")
    seen |= port("mlx5_1", "b", port_board_id="B", port_firmware_version="2")
    assert len(not_passing(ask(node_firmware.CHECK, {}, seen))) == 2
    other = seen | port("mlx5_1", "b", port_board_id="C", port_firmware_version="2")
    assert ask(node_firmware.CHECK, {}, other).health is Health.PASS


def test_what_differs_is_reported_before_what_cannot_be_read() -> None:
    expect: Things = {NODE: {"driver_version": "1", "kernel_version": "2"}}
    verdict = ask(node_firmware.CHECK, expect, {NODE: {"driver_version": "9"}})
    assert (verdict.health, verdict.summary()) == (Health.DEGRADED, "n1: driver_version is 9, the manifest says 1")


def test_a_node_whose_parts_are_reported_passes_with_its_driver() -> None:
    rows = {row.subject: row for row in ask(node_firmware.CHECK, {}, eight()).rows}
    assert rows[NODE].value == "550.54.15"


def test_every_way_in_which_a_device_moved_is_reported() -> None:
    moved = BUILT | pci("0000:1c:00.0", "nic", "0000:99:00.0", 1.0)
    reason = ask(node_topology.CHECK, BUILT, moved).summary()
    assert "PCI switch 0000:99:00.0 instead of 0000:18:00.0, NUMA node 1 instead of 0" in reason
    lost = {key: {"pci_role": values["pci_role"]} for key, values in BUILT.items()}
    assert "PCI switch none instead of" in ask(node_topology.CHECK, BUILT, lost).summary()


def test_a_device_that_is_gone_is_unknown_here() -> None:
    only = {key: values for key, values in BUILT.items() if "1b" in key}
    assert not_passing(ask(node_topology.CHECK, BUILT, only)) == {f"{NODE}/pci/0000:1c:00.0": Health.UNKNOWN}


def test_only_switches_with_a_gpu_are_reported_and_only_gpus_and_ports() -> None:
    more = BUILT | pci("0000:2b:00.0", "gpu", "0000:28:00.0", 0.0) | pci("0000:3c:00.0", "nic", "0000:38:00.0", 0.0)
    more |= pci("0000:1d:00.0", "nvme", "0000:18:00.0", 0.0) | pci("0000:4b:00.0", "gpu", "", 0.0)
    assert ask(node_topology.CHECK, BUILT, more).evidence == (
        "switch 0000:18:00.0: GPU 0000:1b:00.0 with NIC 0000:1c:00.0",
        "switch 0000:28:00.0: GPU 0000:2b:00.0 with NIC none",
    )


def test_a_manifest_that_reports_no_places_is_none() -> None:
    assert ask(node_topology.CHECK, device("0000:1b:00.0", "gpu"), BUILT).health is Health.UNKNOWN
    verdict = ask(node_topology.CHECK, BUILT | device("0000:5c:00.0", "nic"), BUILT)
    assert verdict.health is Health.PASS


def test_a_node_that_drifted_itself_has_one_row() -> None:
    rows = ask(node_firmware.CHECK, eight(), eight(driver_version="535.1")).rows
    assert [row.health for row in rows if row.subject == NODE] == [Health.DEGRADED]


def test_a_missing_part_without_an_address_is_at_no_place() -> None:
    listed = {f"{NODE}/gpu/0": {"gpu_serial": "S0"}}
    missing = ask(node_inventory.CHECK, listed, gpu(1))
    assert "the manifest lists it, and it is missing" in [row.reason for row in missing.rows]
