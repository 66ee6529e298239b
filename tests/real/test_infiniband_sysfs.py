"""Trees captured from real machines: every port's state, rate and counters, and nothing invented."""

from pathlib import Path

import pytest

from holdfast.model.signal import Value
from holdfast.node.sources.fabric.infiniband import InfinibandCountersSource, InfinibandSource

from . import captures

DATA = captures.DATA / "infiniband_sysfs"
pytestmark = captures.needs(DATA)


def look(tmp_path: Path, capture: str) -> tuple[dict[tuple[str, str], Value], dict[tuple[str, str], str]]:
    """(subject, name) -> value, and what is absent."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "infiniband").symlink_to(DATA / capture)
    values: dict[tuple[str, str], Value] = {}
    absent: dict[tuple[str, str], str] = {}
    for source in (InfinibandSource("n1", str(tmp_path)), InfinibandCountersSource("n1", str(tmp_path))):
        reading = source.read(0)
        assert not reading.blind
        values |= {(subject, name): value for subject, name, value in reading.signals}
        absent |= reading.absent
    return values, absent


def counter_files(capture: str) -> list[Path]:
    found = [*(DATA / capture).glob("*/ports/*/counters/*"), *(DATA / capture).glob("*/ports/*/hw_counters/*")]
    return [path for path in found if path.name != "lifespan"]


@pytest.mark.parametrize(("capture", "rate"), [("gpud_h100", 5e10), ("procfs", 5e9)])
def test_every_port_is_active_at_its_rate_with_all_its_counters(tmp_path: Path, capture: str, rate: float) -> None:
    values, _ = look(tmp_path, capture)
    ports = list((DATA / capture).glob("*/ports/*"))
    for port in ports:
        subject = f"node/n1/nic/{port.parents[1].name}/{port.name}"
        assert (values[(subject, "port_state")], values[(subject, "port_up")]) == (4, 1)
        assert values[(subject, "port_rate_bytes_per_second")] == rate
    assert sum(name.endswith("_total") for subject, name in values if "/nic/" in subject) == len(counter_files(capture))


def test_data_counters_are_reported_in_bytes(tmp_path: Path) -> None:
    values, _ = look(tmp_path, "gpud_h100")
    words = int((DATA / "gpud_h100/mlx5_0/ports/1/counters/port_xmit_data").read_text())
    assert values[("node/n1/nic/mlx5_0/1", "port_xmit_data_bytes_total")] == words * 4


def test_counters_that_a_device_does_not_keep_are_absent_and_not_zero(tmp_path: Path) -> None:
    values, absent = look(tmp_path, "node_exporter")
    port = "node/n1/nic/i40iw0/1"
    assert values[(port, "port_up")] == 1
    assert (port, "port_symbol_error_total") not in values
    assert "no PMA" in absent[(port, "port_symbol_error_total")]
