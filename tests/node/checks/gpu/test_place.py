"""Where each GPU sits, so that an event is told of the right one and a lost one is not taken for two."""

from dataclasses import replace

from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event, Reading, Signal, Value
from holdfast.model.window import Window
from holdfast.node.checks.gpu.place import places, subject_of

GPUS = tuple(f"node/n1/gpu/{index}" for index in range(3))
AT = tuple(f"0000:1{index}:00.0" for index in range(3))


def seen(expected: dict[str, dict[str, Value]], *on_bus: str, **inventory: object) -> Window:
    history = History("n1")
    bus = {f"node/n1/pci/{address}": {"pci_role": "gpu"} for address in on_bus}
    everything: dict[str, dict[str, Value]] = {**expected, **bus}
    subjects = frozenset(one for one in everything if one != "node/n1")
    history.inventory = replace(Inventory(node="n1", subjects=subjects), **inventory)  # type: ignore[arg-type]
    signals = [Signal(about, name, value) for about, values in everything.items() for name, value in values.items()]
    history.add(Reading(source="nvml", at=0.0, signals=signals))
    return history.window(0.0, 60.0)


def gpu(index: int, address: str = "", lost: float = 0.0) -> dict[str, dict[str, Value]]:
    known: dict[str, Value] = {"gpu_lost": lost}
    return {GPUS[index]: {**known, "gpu_pci_address": address} if address else known}


def test_the_drivers_word_comes_first_then_what_was_seen_then_the_manifest() -> None:
    result = gpu(0, AT[0]) | gpu(1) | gpu(2, lost=1.0)
    window = seen(
        result,
        by_device={"0000:99:00.0": GPUS[0], AT[1]: GPUS[1], "0000:88:00": GPUS[2], "0000:77:00.0": "node/n1/nic/x"},
        expect={GPUS[2]: {"gpu_pci_address": AT[2]}, GPUS[0]: {"gpu_pci_address": "0000:66:00.0"}},
    )
    assert places(window) == {AT[0]: GPUS[0], AT[1]: GPUS[1], AT[2]: GPUS[2]}


def test_the_manifest_places_only_a_gpu_that_is_lost() -> None:
    expect = {GPUS[1]: {"gpu_pci_address": AT[1]}}
    assert places(seen(gpu(0, AT[0]) | gpu(1), expect=expect)) == {AT[0]: GPUS[0]}
    assert places(seen(gpu(0, AT[0]) | gpu(1, lost=1.0), expect=expect)) == {AT[0]: GPUS[0], AT[1]: GPUS[1]}


def test_the_last_one_is_where_one_gpu_is_left_over_on_the_bus() -> None:
    lost = gpu(0, AT[0]) | gpu(1, lost=1.0)
    assert places(seen(lost, AT[0], AT[1])) == {AT[0]: GPUS[0], AT[1]: GPUS[1]}
    assert places(seen(lost, AT[0], AT[1], AT[2])) == {AT[0]: GPUS[0]}
    assert places(seen(gpu(0, AT[0]) | gpu(1), AT[0], AT[1])) == {AT[0]: GPUS[0]}, "it is not lost"
    two = gpu(0, AT[0]) | gpu(1, lost=1.0) | gpu(2, lost=1.0)
    assert places(seen(two, AT[0], AT[1])) == {AT[0]: GPUS[0]}


def test_one_that_the_driver_excludes_is_not_left_over() -> None:
    lost = gpu(0, AT[0]) | gpu(1, lost=1.0) | {"node/n1": {"gpu_excluded": AT[2]}}
    assert places(seen(lost, AT[0], AT[1], AT[2])) == {AT[0]: GPUS[0], AT[1]: GPUS[1]}


def test_other_devices_on_the_bus_are_no_gpus() -> None:
    history = seen(gpu(0, AT[0]) | gpu(1, lost=1.0) | {f"node/n1/pci/{AT[2]}": {"pci_role": "nic"}}, AT[0], AT[1])
    assert places(history) == {AT[0]: GPUS[0], AT[1]: GPUS[1]}


def test_without_an_inventory_those_that_answer_are_placed() -> None:
    window = seen(gpu(0, AT[0]), subjects=frozenset())
    assert places(window) == {AT[0]: GPUS[0]}


def about(device: str, subject: str = "") -> str:
    return subject_of(seen(gpu(0, AT[0])), Event(kind="xid", at=0.0, text="x", device=device, subject=subject))


def test_which_gpu_an_event_is_about() -> None:
    assert about("0000:10:00") == GPUS[0]
    assert about("0000:10:00.1") == GPUS[0]  # another function of the same GPU
    assert about("0000:55:00") == "node/n1/pci/0000:55:00"
    assert about("") == "node/n1"
    assert about("0000:10:00", "node/n1/gpu/7") == "node/n1/gpu/7"
