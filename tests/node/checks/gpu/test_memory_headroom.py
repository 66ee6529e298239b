"""gpu.memory_headroom: all of the memory, and none of it taken by ghosts."""

from holdfast.model.health import Health
from holdfast.node.checks.gpu.memory_headroom import CHECK
from tests.node.checks.gpu.gpu_tray import Tray

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
