"""gpu.lost: gone for the driver, for the kernel or for the manifest; and no alarm while nothing is known."""

from dataclasses import replace

from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import devices
from holdfast.model.signal import Event, Reading, Signal
from holdfast.node.checks.gpu.lost import CHECK
from tests.node.checks.gpu.gpu_tray import Tray

ADDRESSES = {index: f"0000:{0x10 + index:02x}:00.0" for index in range(4)}


def listed(**values: float | dict[int, float]) -> Tray:
    tray = Tray().read(0.0, gpu_pci_address=ADDRESSES, gpu_serial={i: f"S{i}" for i in range(4)}, **values)
    by_device = devices((address, tray.gpus[index]) for index, address in ADDRESSES.items())
    tray.history.inventory = replace(tray.history.inventory, by_device=by_device)
    return tray


def on_the_bus(tray: Tray, *addresses: str) -> Tray:
    subjects = [f"node/n1/pci/{address}" for address in addresses]
    tray.history.add(Reading(source="pcie", at=0.0, signals=[Signal(s, "pci_role", "gpu") for s in subjects]))
    inventory = tray.history.inventory
    tray.history.inventory = replace(inventory, subjects=inventory.subjects | set(subjects))
    return tray


def test_all_there_passes() -> None:
    assert on_the_bus(listed(), *ADDRESSES.values()).ask(CHECK).health is Health.PASS


def test_a_gpu_the_driver_lost_fails_with_its_serial_number() -> None:
    tray = listed(gpu_lost={0: 0.0, 1: 1.0, 2: 0.0, 3: 0.0})
    verdict = tray.ask(CHECK)
    assert tray.healths(CHECK) == [Health.PASS, Health.FAIL, Health.PASS, Health.PASS]
    assert "0000:11:00.0" in tray.row(CHECK, 1).reason
    assert verdict.failure_class is FailureClass.CRASH
    assert any("serial number S1" in line for line in verdict.evidence)


def test_xid_79_fails_its_gpu_and_no_other_xid_does() -> None:
    tray = listed().happened(Event(kind="xid", at=0.0, text="GPU has fallen off the bus", device="0000:12:00", code=79))
    tray.happened(Event(kind="xid", at=0.0, text="MMU fault", device="0000:13:00", code=31))
    assert tray.healths(CHECK) == [Health.PASS, Health.PASS, Health.FAIL, Health.PASS]
    assert "fallen off the bus" in tray.row(CHECK, 2).reason


def test_a_gpu_that_the_driver_still_talks_to_is_not_lost_whatever_the_kernel_reported() -> None:
    tray = listed().happened(Event(kind="gpu_lost", at=0.0, text="fallen off the bus", device="0000:12:00"))
    assert tray.healths(CHECK)[2] is Health.FAIL, "nothing was read since"
    tray.read(10.0)
    assert tray.healths(CHECK)[2] is Health.PASS


def test_a_loss_without_xid_of_a_device_no_one_knows_fails_too() -> None:
    tray = listed().happened(Event(kind="gpu_lost", at=0.0, text="has fallen off the bus", device="0000:77:00"))
    verdict = tray.ask(CHECK)
    assert [row.subject for row in verdict.rows if row.health is Health.FAIL] == ["node/n1/pci/0000:77:00"]


def test_a_gpu_on_the_bus_that_the_driver_does_not_list_fails_once() -> None:
    verdict = on_the_bus(listed(), *ADDRESSES.values(), "0000:1f:00.0").ask(CHECK)
    failed = [row for row in verdict.rows if row.health is Health.FAIL]
    assert [row.subject for row in failed] == ["node/n1/pci/0000:1f:00.0"]
    assert "does not list it" in failed[0].reason


def lost_at_once(*on_bus: str) -> Tray:
    """GPU 3 was lost before the first look: no address, an Xid of a device, and what sysfs shows on the bus."""
    known = {index: address for index, address in ADDRESSES.items() if index != 3}
    tray = Tray().read(0.0, gpu_pci_address=known, gpu_lost={0: 0.0, 1: 0.0, 2: 0.0, 3: 1.0})
    tray.happened(Event(kind="xid", at=0.0, text="GPU has fallen off the bus", device="0000:13:00", code=79))
    return on_the_bus(tray, *on_bus)


def failed(tray: Tray) -> list[str]:
    return [row.subject for row in tray.ask(CHECK).rows if row.health is Health.FAIL]


def test_a_gpu_lost_before_its_address_was_reported_is_the_one_left_over_on_the_bus() -> None:
    tray = lost_at_once(*ADDRESSES.values())
    assert failed(tray) == ["node/n1/gpu/3"]
    assert "0000:13:00.0" in tray.row(CHECK, 3).reason


def test_where_two_are_left_over_on_the_bus_no_one_guesses() -> None:
    assert failed(lost_at_once(*ADDRESSES.values(), "0000:1f:00.0")) == ["node/n1/gpu/3", "node/n1/pci/0000:13:00"]


def test_the_manifest_reports_where_a_lost_gpu_sits() -> None:
    tray = lost_at_once(*ADDRESSES.values(), "0000:1f:00.0")
    expect = {"node/n1/gpu/3": {"gpu_pci_address": ADDRESSES[3]}}
    tray.history.inventory = replace(tray.history.inventory, expect=expect)
    assert "node/n1/pci/0000:13:00" not in failed(tray)


def test_an_excluded_gpu_is_not_missed() -> None:
    tray = on_the_bus(listed(), "0000:1f:00.0")
    tray.history.add(Reading(source="nvml", at=0.0, signals=[Signal("node/n1", "gpu_excluded", "0000:1f:00.0")]))
    assert tray.ask(CHECK).health is Health.PASS


def test_nothing_is_missing_before_the_addresses_are_known() -> None:
    tray = on_the_bus(Tray().read(0.0), *ADDRESSES.values())
    assert tray.ask(CHECK).health is Health.PASS


def expecting(tray: Tray, index: int, address: str) -> Tray:
    gpu = f"node/n1/gpu/{index}"
    inventory = tray.history.inventory
    tray.history.inventory = replace(
        inventory, subjects=inventory.subjects | {gpu}, expect={gpu: {"gpu_pci_address": address}}
    )
    tray.gpus.append(gpu)
    return tray


def test_a_gpu_of_the_manifest_that_is_nowhere_fails() -> None:
    row = expecting(listed(), 4, "0000:14:00.0").row(CHECK, 4)
    assert (row.health, "manifest expects a GPU at 0000:14:00.0" in row.reason) == (Health.FAIL, True)


def test_a_gpu_that_the_driver_numbers_otherwise_is_not_lost() -> None:
    row = expecting(listed(), 4, "0000:12:00.0").row(CHECK, 4)
    assert (row.health, "lists as gpu 2" in row.reason) == (Health.NOT_APPLICABLE, True)


def test_a_gpu_that_cannot_be_opened_is_unknown() -> None:
    tray = listed(gpu_lost={0: 0.0, 1: 0.0, 2: 0.0}).missing(3, "gpu_lost", reason="the driver cannot open this GPU")
    assert (tray.row(CHECK, 3).health, "cannot open" in tray.row(CHECK, 3).reason) == (Health.UNKNOWN, True)


def test_without_a_driver_no_one_can_report() -> None:
    history = History("n1")
    history.promise("nvml", CHECK.reads)
    history.add(Reading(source="nvml", at=0.0, blind="the NVIDIA kernel driver is not loaded"))
    verdict = CHECK(history.window(0.0, CHECK.span))
    assert (verdict.health, "not loaded" in verdict.summary()) == (Health.UNKNOWN, True)


def test_a_lost_gpu_is_one_of_none_and_one_that_is_there_none() -> None:
    tray = listed(gpu_lost={0: 0.0, 1: 1.0, 2: 0.0, 3: 0.0})
    tray.happened(Event(kind="xid", at=0.0, text="gone", device="0000:12:00", code=79))
    rows = [(tray.row(CHECK, index).value, tray.row(CHECK, index).limit) for index in range(3)]
    assert rows == [(0.0, 0.0), (1.0, 0.0), (1.0, 0.0)]
    missing = expecting(listed(), 4, "0000:14:00.0").row(CHECK, 4)
    assert (missing.value, missing.limit) == (1.0, 0.0)
    extra = on_the_bus(listed(), *ADDRESSES.values(), "0000:1f:00.0").ask(CHECK).rows[-1]
    assert (extra.value, extra.limit) == (1.0, 0.0)


def test_a_lost_gpu_whose_place_no_one_knows_says_what_the_driver_reported() -> None:
    tray = Tray().read(0.0, gpu_lost={0: 1.0, 1: 1.0})
    tray.missing(0, "gpu_temperature_celsius", reason="GPU is lost")
    assert tray.row(CHECK).reason == "GPU is lost"


def test_only_lost_gpus_are_reported_with_their_serial_numbers() -> None:
    assert listed().ask(CHECK).evidence == ()
    nameless = Tray().read(0.0, gpu_pci_address=ADDRESSES, gpu_lost={0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0})
    assert nameless.ask(CHECK).evidence == ()


def test_what_on_the_bus_is_no_gpu_or_was_listed_before_is_not_missed() -> None:
    tray = listed()
    nic, before = "node/n1/pci/0000:40:00.0", "node/n1/pci/0000:41:00.0"
    signals = [Signal(nic, "pci_role", "nic"), Signal(before, "pci_role", "gpu")]
    tray.history.add(Reading(source="pcie", at=0.0, signals=signals))
    inventory = tray.history.inventory
    known = {**inventory.by_device, "0000:41:00.0": "node/n1/gpu/0"}
    tray.history.inventory = replace(inventory, subjects=inventory.subjects | {nic, before}, by_device=known)
    assert failed(tray) == []


def test_a_loss_on_the_bus_that_the_kernel_reported_already_is_one_row() -> None:
    tray = on_the_bus(listed(), *ADDRESSES.values(), "0000:1f:00.0")
    tray.happened(Event(kind="gpu_lost", at=0.0, text="gone", device="0000:1f:00.0"))
    assert failed(tray) == ["node/n1/pci/0000:1f:00.0"]


def test_an_event_without_a_device_reports_of_no_one() -> None:
    tray = listed().happened(Event(kind="gpu_lost", at=0.0, text="gone"))
    assert failed(tray) == []
    tray.happened(Event(kind="gpu_lost", at=0.0, text="gone", subject=tray.gpus[2]))
    assert failed(tray) == [tray.gpus[2]]


def test_a_gpu_that_answers_nothing_and_has_no_address_is_the_one_left_over_on_the_bus() -> None:
    known = {index: address for index, address in ADDRESSES.items() if index != 3}
    tray = Tray().read(0.0, gpu_pci_address=known, gpu_lost=dict.fromkeys(known, 0.0), gpu_responding={3: 0.0})
    assert failed(on_the_bus(tray, *ADDRESSES.values())) == []


def test_a_gpu_that_answers_nothing_at_a_known_address_explains_no_other_on_the_bus() -> None:
    tray = on_the_bus(listed(gpu_responding={3: 0.0}), *ADDRESSES.values(), "0000:1f:00.0")
    assert failed(tray) == ["node/n1/pci/0000:1f:00.0"]
