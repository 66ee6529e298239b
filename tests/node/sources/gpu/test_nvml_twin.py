"""The NVML sources against a library with NVML's ABI: healthy, sick, renumbered, gone and back."""

from pathlib import Path

import pytest

from holdfast.lab.twin import TwinNode, make_node
from holdfast.model.signal import Reading
from holdfast.node.sources.gpu.nvml import NvmlSlowSource, NvmlSource

pytestmark = pytest.mark.slow


@pytest.fixture
def h100(tmp_path: Path) -> TwinNode:
    return make_node(tmp_path / "node", "h100")


def fast(node: TwinNode, exclude: tuple[str, ...] = ()) -> NvmlSource:
    return NvmlSource("n01", str(node.library), exclude)


def slow(node: TwinNode) -> NvmlSlowSource:
    return NvmlSlowSource("n01", str(node.library))


def of(reading: Reading, name: str) -> dict[str, float | str]:
    return {
        signal.subject.rsplit("/", 1)[1]: signal.value  # 'node/n01/gpu/3' -> '3'
        for signal in reading.signals
        if signal.name == name
    }


@pytest.mark.parametrize("model", ["h100", "h200", "a100", "b200", "gb200", "l40s"])
def test_every_promised_signal_is_there_or_absent_with_a_reason(tmp_path: Path, model: str) -> None:
    node = make_node(tmp_path / model, model)
    for source in (fast(node), slow(node)):
        reading = source.read(0.0)
        assert not reading.blind
        for subject in reading.present:
            seen = {signal.name for signal in reading.signals if signal.subject == subject}
            gone = {name for where, name in reading.absent if where == subject}
            promised = {name for name in source.carries if name.startswith("gpu_")}
            assert seen | gone == promised
            assert not seen & gone


def test_values_keep_their_units(h100: TwinNode) -> None:
    gpu = h100.state.gpu[2]
    gpu.power_milliwatts, gpu.sm_clock_mhz, gpu.gpu_utilization = 650_000, 1500, 97
    reading = fast(h100).read(0.0)
    assert of(reading, "gpu_power_watts")["2"] == 650.0
    assert of(reading, "gpu_clock_sm_hertz")["2"] == 1.5e9
    assert of(reading, "gpu_utilization_ratio")["2"] == pytest.approx(0.97)


def test_a_lost_gpu_takes_only_its_own_signals_and_comes_back(h100: TwinNode) -> None:
    source = fast(h100)
    source.read(0.0)
    h100.state.gpu[3].lost = 1
    reading = source.read(10.0)
    assert of(reading, "gpu_lost") == {str(i): float(i == 3) for i in range(8)}
    assert set(of(reading, "gpu_temperature_celsius")) == set("0124567")
    assert "lost" in reading.absent[("node/n01/gpu/3", "gpu_temperature_celsius")]
    assert "node/n01/gpu/3" in reading.present
    h100.state.gpu[3].lost = 0
    assert of(source.read(20.0), "gpu_lost")["3"] == 0.0


def test_a_lost_gpu_is_still_named_for_the_person_who_replaces_it(h100: TwinNode) -> None:
    source = slow(h100)
    serial = of(source.read(0.0), "gpu_serial")["3"]
    h100.state.gpu[3].lost = 1
    reading = source.read(60.0)
    assert of(reading, "gpu_serial")["3"] == serial
    assert "3" not in of(reading, "gpu_remapped_rows_pending")


def test_a_gpu_the_driver_stops_listing_is_lost_and_the_others_keep_their_numbers(h100: TwinNode) -> None:
    source = slow(h100)
    quick = fast(h100)
    before = of(source.read(0.0), "gpu_pci_address")
    quick.read(0.0)
    state = h100.state
    for index in range(3, 7):  # the driver came back without GPU 3 and renumbered the rest
        state.gpu[index] = state.gpu[index + 1]
    state.gpu_count = 7
    reading = quick.read(10.0)
    assert of(reading, "gpu_lost") == {str(i): float(i == 3) for i in range(8)}
    assert before["3"] in reading.absent[("node/n01/gpu/3", "gpu_temperature_celsius")]
    after = of(source.read(400.0), "gpu_pci_address")
    assert after == before


def test_a_driver_that_starts_without_gpus_is_blind_and_is_asked_again(h100: TwinNode) -> None:
    source = fast(h100)
    h100.state.gpu_count = 0
    assert source.read(0.0).blind == "the NVIDIA driver lists no GPU"
    h100.state.gpu_count = 8
    assert len(of(source.read(10.0), "gpu_lost")) == 8


def test_a_driver_that_is_loaded_later_is_met_then(h100: TwinNode) -> None:
    state = h100.library.parent / "nvml.state"
    state.rename(state.with_suffix(".away"))
    source = fast(h100)
    assert source.read(0.0).blind == "the NVIDIA kernel driver is not loaded"
    state.with_suffix(".away").rename(state)
    assert len(of(source.read(10.0), "gpu_lost")) == 8


def test_a_half_done_driver_update_is_named(h100: TwinNode) -> None:
    h100.state.version += 1
    assert "different versions" in fast(h100).read(0.0).blind


def test_an_excluded_gpu_is_never_read_and_is_named(h100: TwinNode) -> None:
    address = str(of(slow(h100).read(0.0), "gpu_pci_address")["5"])
    reading = fast(h100, exclude=(address.upper(),)).read(0.0)
    assert "5" not in of(reading, "gpu_temperature_celsius")
    assert "node/n01/gpu/5" not in reading.present
    assert of(reading, "gpu_excluded") == {"n01": address}


def test_links_that_are_down_are_named(h100: TwinNode) -> None:
    h100.state.gpu[1].link[4].active = 0
    h100.state.gpu[1].link[17].active = 0
    h100.state.gpu[1].link[9].recovery_errors = 3
    reading = slow(h100).read(0.0)
    assert of(reading, "gpu_nvlink_active_lanes")["1"] == 16.0
    assert of(reading, "gpu_nvlink_down_links")["1"] == "4,17"
    assert of(reading, "gpu_nvlink_recovery_errors_total")["1"] == 3.0
    assert of(reading, "gpu_nvlink_error_links")["1"] == "9"


def test_the_worst_bit_error_rate_of_a_gpu_is_reported(tmp_path: Path) -> None:
    node = make_node(tmp_path / "b200", "b200")
    node.state.gpu[0].link[7].effective_ber = 4 << 8 | 5
    assert of(slow(node).read(0.0), "gpu_nvlink_effective_ber_ratio")["0"] == pytest.approx(4e-5)


def test_processes_are_counted_and_their_ids_can_be_asked(h100: TwinNode) -> None:
    gpu = h100.state.gpu[6]
    gpu.process[0].pid, gpu.process[1].pid, gpu.process_count = 4711, 4712, 2
    source = slow(h100)
    assert of(source.read(0.0), "gpu_processes")["6"] == 2.0
    held = source.processes()
    assert held is not None
    assert (held[6], held[0]) == ([4711, 4712], [])


def test_the_headroom_histogram_and_the_rows_are_distinguished(h100: TwinNode) -> None:
    gpu = h100.state.gpu[0]
    gpu.remap_pending, gpu.remapped_uncorrected = 1, 5
    reading = slow(h100).read(0.0)
    assert of(reading, "gpu_remapped_rows_pending")["0"] == 1.0
    assert of(reading, "gpu_remapped_rows_uncorrectable")["0"] == 5.0
    assert of(reading, "gpu_remap_max_banks")["0"] > 0
