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


def test_without_a_manifest_nobody_knows() -> None:
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


def test_a_driver_that_answers_and_has_no_gpu_makes_them_missing() -> None:
    assert ask(node_inventory.CHECK, eight(), node()).health is Health.FAIL


def test_half_the_main_memory_fails_and_a_hair_less_does_not() -> None:
    expect = eight(host_memory_total_bytes=2.0**41)
    assert ask(node_inventory.CHECK, expect, eight(host_memory_total_bytes=2.0**40)).health is Health.FAIL
    assert ask(node_inventory.CHECK, expect, eight(host_memory_total_bytes=2.0**41 * 0.995)).health is Health.PASS


def port(device: str, address: str, **more: Value) -> Things:
    values: dict[str, Value] = {"port_state": 4.0, "port_expected": 1.0, "port_pci_address": address, **more}
    return {f"{NODE}/nic/{device}/1": values}


def test_two_ports_that_share_an_address_are_told_apart_by_name() -> None:
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


def test_one_odd_vbios_among_equals_is_told_without_a_manifest() -> None:
    verdict = ask(node_firmware.CHECK, {}, eight() | gpu(5, vbios="95.00"))
    assert not_passing(verdict) == {f"{NODE}/gpu/5": Health.DEGRADED}


def test_another_model_may_have_another_vbios() -> None:
    assert ask(node_firmware.CHECK, {}, eight() | gpu(5, model="A100", vbios="92.00")).health is Health.PASS


def test_where_two_versions_are_equally_common_both_are_told() -> None:
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
