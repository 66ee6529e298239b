"""Two faults at once on two GPUs: each GPU is named, no other is. And every NVML error on every call of one GPU."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pynvml
import pytest

from holdfast.lab.twin import TwinNode, all_faults, clear, inject, make_node
from holdfast.node.checks.gpu.responding import CHECK as RESPONDING
from holdfast.node.sources.gpu.nvml_answers import NEVER
from tests.node.checks.gpu.test_checks_on_twin import CHECKS, QUIET, Watch

pytestmark = pytest.mark.slow
NOT_OF_ONE_GPU = {
    "xid", "xid_storm", "gpu_process", "not_supported", "gpu_off_bus", "gpu_hang",
    "aer_fatal", "aer_nonfatal", "aer_correctable",
    "pcie_width", "pcie_speed", "pcie_replay", "tray_hot", "hot_inlet", "pci_restricted",
}  # fmt: skip
"""Read elsewhere than through NVML, of no harm, slower than a test may be, or of the whole tray."""
SICK, ALSO = 3, 6


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> TwinNode:
    return make_node(tmp_path_factory.mktemp("twin") / "n01")


def named(watch: Watch) -> dict[str, set[str]]:
    """GPU -> the checks that do not pass on it."""
    found: dict[str, set[str]] = {}
    for check in (*CHECKS, RESPONDING):
        for row in check(watch.history.window(watch.now, check.span)).rows:
            if row.health not in QUIET:
                found.setdefault(row.subject.rsplit("/", 1)[1], set()).add(check.name)
    return found


def pairs(count: int) -> Iterator[tuple[str, str]]:
    dice = random.Random(20)
    faults = sorted(n for n, fault in all_faults("nvidia").items() if fault.on == "gpu" and n not in NOT_OF_ONE_GPU)
    for _ in range(count):
        yield dice.choice(faults), dice.choice(faults)


@pytest.mark.parametrize("pair", list(pairs(12)), ids="+".join)
def test_of_two_sick_gpus_both_are_named_and_no_other(node: TwinNode, pair: tuple[str, str]) -> None:
    watch = Watch(node).minutes(1)
    watch.now += 10.0
    for name, gpu in zip(pair, (SICK, ALSO), strict=True):
        inject(node, name, gpu=gpu, now=watch.now)
    try:
        found = named(watch.minutes(6))
    finally:
        for name, gpu in zip(pair, (SICK, ALSO), strict=True):
            clear(node, name, gpu=gpu)
    assert set(found) == {str(SICK), str(ALSO)}, found


CODES = sorted(
    {code for name, code in vars(pynvml).items() if name.startswith("NVML_ERROR_") and isinstance(code, int)}
)
CALLS = sorted(
    name for name in vars(pynvml) if name.startswith("nvmlDeviceGet") and not name.startswith(
        ("nvmlDeviceGetHandle", "nvmlDeviceGetCount", "nvmlDeviceGetIndex"))
)  # fmt: skip


def failing(real: Callable[..., Any], sick: list[Any], code: int) -> Callable[..., Any]:
    def call(handle: Any, *arguments: Any, **named: Any) -> Any:
        if any(handle is one for one in sick):
            raise pynvml.NVMLError(code)
        return real(handle, *arguments, **named)

    return call


@pytest.mark.parametrize("code", CODES)
def test_whatever_nvml_answers_for_one_gpu_no_other_is_named(
    node: TwinNode, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(node)
    sick: list[Any] = []
    real_handle = pynvml.nvmlDeviceGetHandleByIndex

    def handle(index: int) -> Any:
        found = real_handle(index)
        if index == SICK:
            sick.append(found)
        return found

    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", handle)
    chosen = random.Random(code).sample(CALLS, len(CALLS) // 2)
    for name in chosen:
        monkeypatch.setattr(pynvml, name, failing(getattr(pynvml, name), sick, code))
    found = named(watch.minutes(2))
    assert set(found) <= {str(SICK)}, (code, found)
    if code == pynvml.NVML_ERROR_GPU_IS_LOST:
        assert "gpu.lost" in found[str(SICK)]
    elif code not in NEVER:
        assert found, "half of its calls fail, and nothing is said"
