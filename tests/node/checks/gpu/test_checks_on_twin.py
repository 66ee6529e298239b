"""All GPU checks on simulated nodes, read through NVML: healthy ones are quiet, each fault wakes exactly its check."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.catalog.gpus import node_lacks
from holdfast.lab.twin import TwinNode, make_node
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.node.checks.gpu import clocks as gpu_clocks
from holdfast.node.checks.gpu import ecc as gpu_ecc
from holdfast.node.checks.gpu import fabric_state as gpu_fabric_state
from holdfast.node.checks.gpu import lost as gpu_lost
from holdfast.node.checks.gpu import memory_headroom as gpu_memory_headroom
from holdfast.node.checks.gpu import nvlink_errors, nvlink_lanes
from holdfast.node.checks.gpu import power as gpu_power
from holdfast.node.checks.gpu import recovery_action as gpu_recovery_action
from holdfast.node.checks.gpu import rows as gpu_rows
from holdfast.node.checks.gpu import temperature as gpu_temperature
from holdfast.node.checks.gpu import thermal_gradient as gpu_thermal_gradient
from holdfast.node.checks.gpu import throttle as gpu_throttle
from holdfast.node.sources.gpu.nvml import NvmlSlowSource, NvmlSource

pytestmark = pytest.mark.slow
QUESTIONS = (
    gpu_clocks, gpu_ecc, gpu_fabric_state, gpu_lost, gpu_memory_headroom, gpu_power, gpu_recovery_action, gpu_rows,
    gpu_temperature, gpu_thermal_gradient, gpu_throttle, nvlink_errors, nvlink_lanes,
)  # fmt: skip
CHECKS = [module.CHECK for module in QUESTIONS]
QUIET = {Health.PASS, Health.NOT_APPLICABLE}


class Watch:
    """A node seen through both NVML sources, minute by minute."""

    def __init__(self, node: TwinNode) -> None:
        self.sources = (NvmlSource("n01", str(node.library)), NvmlSlowSource("n01", str(node.library)))
        self.history = History("n01")
        for source in self.sources:
            self.history.expect_freshness(source.name, 3 * source.every)
            self.history.promise(source.name, source.carries)
        self.now = 0.0

    def minutes(self, count: int) -> "Watch":
        for _ in range(count * 6):
            for source in self.sources:
                if self.now % source.every == 0:
                    reading = source.read(self.now)
                    self.history.add(reading)
                    inventory = self.history.inventory
                    models = [str(s.value) for s in reading.signals if s.name == "gpu_model"]
                    self.history.inventory = replace(
                        inventory,
                        subjects=inventory.subjects | set(reading.present),
                        lacks=node_lacks(models) or inventory.lacks,
                    )
            self.now += 10.0
        self.now -= 10.0
        return self

    def alarms(self) -> dict[str, dict[str, Health]]:
        """Check -> GPU number -> health, of what is neither fine nor beside the point."""
        found = {}
        for check in CHECKS:
            rows = check(self.history.window(self.now, check.span)).rows
            bad = {row.subject.rsplit("/", 1)[1]: row.health for row in rows if row.health not in QUIET}
            if bad:
                found[check.name] = bad
        return found


@pytest.mark.parametrize("model", ["h100", "h200", "a100", "b200", "gb200", "l40s"])
def test_a_healthy_node_is_quiet_at_once_and_after_ten_minutes(tmp_path: Path, model: str) -> None:
    watch = Watch(make_node(tmp_path / model, model))
    assert watch.minutes(1).alarms() == {}
    watch.now += 10.0
    assert watch.minutes(9).alarms() == {}


def pending_row(node: TwinNode) -> None:
    node.state.gpu[2].remap_pending = 1


def lane(node: TwinNode) -> None:
    node.state.gpu[2].link[7].active = 0


def recovery(node: TwinNode) -> None:
    node.state.gpu[2].link[7].recovery_errors = 3


def cap(node: TwinNode) -> None:
    node.state.gpu[2].power_limit_milliwatts = 400_000


def brake(node: TwinNode) -> None:
    node.state.gpu[2].event_reasons = 0x80


def fabric(node: TwinNode) -> None:
    node.state.gpu[2].fabric_state = 1


def reset_wanted(node: TwinNode) -> None:
    node.state.gpu[2].recovery_action = 1


def uncorrected(node: TwinNode) -> None:
    node.state.gpu[2].volatile_uncorrected.count[7] = 1


def ghost(node: TwinNode) -> None:
    node.state.gpu[2].memory_used = 30 << 30


@pytest.mark.parametrize(
    ("fault", "check", "health"),
    [
        (pending_row, "gpu.rows", Health.DEGRADED),
        (lane, "nvlink.lanes", Health.FAIL),
        (recovery, "nvlink.errors", Health.DEGRADED),
        (cap, "gpu.power", Health.DEGRADED),
        (brake, "gpu.throttle", Health.FAIL),
        (fabric, "gpu.fabric_state", Health.FAIL),
        (reset_wanted, "gpu.recovery_action", Health.FAIL),
        (uncorrected, "gpu.ecc", Health.FAIL),
        (ghost, "gpu.memory_headroom", Health.DEGRADED),
    ],
)
def test_a_fault_wakes_exactly_its_check(
    tmp_path: Path, fault: Callable[[TwinNode], None], check: str, health: Health
) -> None:
    node = make_node(tmp_path / "node", "h100")
    watch = Watch(node).minutes(2)
    fault(node)
    watch.now += 10.0
    assert watch.minutes(10).alarms() == {check: {"2": health}}


def test_a_lost_gpu_fails_once_and_is_unknown_to_the_other_checks(tmp_path: Path) -> None:
    node = make_node(tmp_path / "node", "h100")
    watch = Watch(node).minutes(2)
    node.state.gpu[2].lost = 1
    watch.now += 10.0
    alarms = watch.minutes(4).alarms()
    assert alarms.pop("gpu.lost") == {"2": Health.FAIL}
    assert {health for rows in alarms.values() for health in rows.values()} == {Health.UNKNOWN}
    assert {number for rows in alarms.values() for number in rows} == {"2"}
    node.state.gpu[2].lost = 0
    watch.now += 10.0
    assert watch.minutes(2).alarms() == {}
