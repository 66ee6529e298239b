"""amdgpu's files as signals: missing files are absences with a reason, a vanished GPU is lost."""

from pathlib import Path

import pytest

from holdfast.lab import twin
from holdfast.model.signal import Reading, Value
from holdfast.node.sources.gpu.amdgpu import AmdGpuSource


@pytest.fixture
def sys(tmp_path: Path) -> Path:
    twin.make_node(tmp_path / "n01", "mi300x", now=1e9)
    return tmp_path / "n01" / "sys"


def values(reading: Reading, gpu: int = 0) -> dict[str, Value]:
    return {signal.name: signal.value for signal in reading.signals if signal.subject == f"node/n01/gpu/{gpu}"}


def device(sys: Path, gpu: int = 0) -> Path:
    node = twin.open_node(sys.parent)
    return sys / node.gpu_functions()[gpu].path


def test_a_node_without_amd_gpus_has_nothing_to_say(tmp_path: Path) -> None:
    reading = AmdGpuSource("n01", str(tmp_path)).read(0.0)
    assert (list(reading.signals), reading.blind) == ([], "")


def test_eight_gpus_in_the_order_of_their_addresses(sys: Path) -> None:
    reading = AmdGpuSource("n01", str(sys)).read(0.0)
    assert len(reading.present) == 8
    assert values(reading)["gpu_model"] == "AMD Instinct MI300X"
    addresses = [values(reading, gpu)["gpu_pci_address"] for gpu in range(8)]
    assert addresses == sorted(addresses)


def test_older_drivers_give_average_power_and_no_sensor_reads_0(sys: Path) -> None:
    hwmon = device(sys) / "hwmon/hwmon4"
    (hwmon / "power1_input").rename(hwmon / "power1_average")
    (hwmon / "temp3_input").write_text("0\n")
    seen = AmdGpuSource("n01", str(sys)).read(0.0)
    assert values(seen)["gpu_power_watts"] == 140.0
    assert "gpu_memory_temperature_celsius" not in values(seen)


def test_a_guest_without_ras_files_is_not_called_healthy(sys: Path) -> None:
    (device(sys) / "ras/umc_err_count").write_text("Query currently inaccessible\n")
    reading = AmdGpuSource("n01", str(sys)).read(0.0)
    assert "gpu_ecc_mode" not in values(reading)
    assert "no error counts" in reading.absent["node/n01/gpu/0", "gpu_ecc_mode"]


def test_a_gpu_that_vanishes_is_lost_and_keeps_its_number(sys: Path) -> None:
    source = AmdGpuSource("n01", str(sys))
    before = values(source.read(0.0), 3)["gpu_pci_address"]
    link = sys / "bus/pci/devices" / str(before)
    target = link.readlink()
    link.unlink()
    reading = source.read(10.0)
    assert values(reading, 3)["gpu_lost"] == 1.0
    assert values(reading, 4)["gpu_lost"] == 0.0
    link.symlink_to(target)
    assert values(source.read(20.0), 3)["gpu_lost"] == 0.0


def test_a_newer_gpu_metrics_says_nothing_against_the_gpu(sys: Path) -> None:
    (device(sys) / "gpu_metrics").write_bytes(b"\x08\x00\x01\x09" + b"\0" * 4)
    seen = values(AmdGpuSource("n01", str(sys)).read(0.0))
    assert (seen["gpu_responding"], seen["gpu_trouble"]) == (1.0, "")
