"""gpu.memory_headroom: all of the memory, and none of it taken by ghosts."""

import pytest

from holdfast.catalog.gpus import gpu_model
from holdfast.model.health import Health
from holdfast.node.checks.gpu.memory_headroom import CHECK
from tests.node.checks.gpu.gpu_tray import H100, Tray

GIB = 2.0**30
TOTAL = 81559 * 2.0**20


def memory(total: float = TOTAL, used: float = 0.0, processes: float = 0.0, **more: str) -> Tray:
    values = {"gpu_memory_total_bytes": total, "gpu_memory_used_bytes": used, "gpu_processes": processes}
    return Tray(**more).read(0.0, **values)


def test_empty_memory_passes() -> None:
    assert memory().ask(CHECK).health is Health.PASS


def test_memory_that_no_process_holds_degrades() -> None:
    row = memory(used=20 * GIB).row(CHECK)
    assert (row.health, "20.0 GiB" in row.reason) == (Health.DEGRADED, True)


def test_memory_of_a_running_process_passes() -> None:
    assert memory(used=20 * GIB, processes=1.0).ask(CHECK).health is Health.PASS


def test_what_the_driver_keeps_for_itself_passes() -> None:
    assert memory(used=0.6 * GIB).ask(CHECK).health is Health.PASS


def test_missing_memory_degrades() -> None:
    row = memory(total=64 * GIB).row(CHECK)
    assert (row.health, "shows 64.0 GiB" in row.reason) == (Health.DEGRADED, True)


def test_an_unknown_model_is_judged_by_what_is_left_over_only() -> None:
    assert memory(total=16 * GIB, model="NVIDIA Mystery").ask(CHECK).health is Health.PASS


@pytest.mark.parametrize(("share", "health"), [(0.951, Health.PASS), (0.949, Health.DEGRADED)])
def test_a_twentieth_of_the_memory_may_be_the_drivers(share: float, health: Health) -> None:
    model = gpu_model(H100)
    assert model
    assert memory(total=model.memory_bytes * share).row(CHECK).health is health


@pytest.mark.parametrize(("used", "health"), [(2.0, Health.PASS), (2.01, Health.DEGRADED)])
def test_two_gibibytes_may_be_taken_by_no_one(used: float, health: Health) -> None:
    row = memory(used=used * GIB).row(CHECK)
    assert (row.health, row.value, row.limit) == (health, used * GIB, 2.0 * GIB)


def test_where_processes_are_not_counted_nothing_is_left_over() -> None:
    tray = Tray().read(0.0, gpu_memory_total_bytes=TOTAL, gpu_memory_used_bytes=20 * GIB)
    assert tray.row(CHECK).health is Health.UNKNOWN


def test_memory_that_is_not_reported_is_unknown() -> None:
    values = {"gpu_processes": 0.0, "gpu_memory_total_bytes": TOTAL, "gpu_memory_used_bytes": 0.0}
    for name in ("gpu_memory_total_bytes", "gpu_memory_used_bytes"):
        tray = Tray().read(0.0, **{**values, name: {1: values[name]}})
        assert tray.healths(CHECK)[:2] == [Health.UNKNOWN, Health.PASS]
