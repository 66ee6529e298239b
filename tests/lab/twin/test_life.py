"""Time on a healthy node: counters grow, temperatures stay sane, and the same seed tells the same story."""

from pathlib import Path

import pytest

from holdfast.lab.twin import TwinNode, inject, make_node, tick

pytestmark = pytest.mark.slow


def _counter(node: TwinNode, port: int, name: str) -> int:
    return int((node.sys.root / node.ports()[port].path / "counters" / name).read_text())


def test_an_hour_of_training_moves_traffic_and_energy_and_breaks_nothing(tmp_path: Path) -> None:
    node = make_node(tmp_path / "n01")
    for gpu in range(8):
        inject(node, "gpu_process", gpu=gpu)
    seen = set()
    for _ in range(60):
        tick(node, 60.0, seed=7)
        seen.add(node.state.gpu[0].temperature)
        for index in range(8):
            gpu = node.state.gpu[index]
            assert gpu.margin > 5 and gpu.memory_temperature < node.model.memory_max
            assert abs(gpu.temperature - node.state.gpu[0].temperature) < 8
            assert gpu.power_milliwatts < gpu.power_limit_milliwatts and gpu.event_reasons == 0
            assert gpu.pcie_replays < 20
    assert len(seen) > 1, "frozen temperatures are not life"
    assert node.state.gpu[0].energy_millijoules > 600 * 3600 * 1000
    assert _counter(node, 0, "port_xmit_data") * 4 > 0.3 * 50e9 * 3600
    assert _counter(node, 0, "symbol_error") == 0 and _counter(node, 0, "link_downed") == 0


def test_the_same_seed_gives_the_same_node_and_another_seed_another(tmp_path: Path) -> None:
    def lived(place: str, seed: int) -> tuple[bytes, int]:
        node = make_node(tmp_path / place, now=1_800_000_000)
        for _ in range(20):
            tick(node, 30.0, seed=seed)
        return bytes(node.state), _counter(node, 3, "port_rcv_data")

    first = lived("a", 1)
    assert lived("b", 1) == first
    assert lived("c", 2)[0] != first[0]


def test_a_port_that_is_down_carries_no_traffic(tmp_path: Path) -> None:
    node = make_node(tmp_path / "n01")
    inject(node, "port_down", port="mlx5_2")
    tick(node, 60.0)
    assert _counter(node, 2, "port_xmit_data") == 0 < _counter(node, 1, "port_xmit_data")


def test_an_injected_fault_survives_the_passing_of_time(tmp_path: Path) -> None:
    node = make_node(tmp_path / "n01")
    inject(node, "throttle_thermal", gpu=4)
    inject(node, "hot_gpu", gpu=4, value="91")
    tick(node, 60.0)
    assert node.state.gpu[4].event_reasons & 0x40
    assert abs(node.state.gpu[4].temperature - 91) <= 1
