"""A GPU whose driver unloads between jobs is degraded; one that does not tell is unknown."""

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.gpu.persistence import CHECK
from tests.node.checks.gpu.gpu_tray import Tray

GPUS = tuple(f"node/n1/gpu/{index}" for index in range(3))


def test_persistence_off_degrades_its_gpu_and_silence_is_unknown() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset(GPUS))
    modes = [Signal(GPUS[0], "gpu_persistence_mode", 1.0), Signal(GPUS[1], "gpu_persistence_mode", 0.0)]
    history.add(Reading(source="nvml_slow", at=0, signals=modes))
    verdict = CHECK(history.window(0, 600))
    healths = {row.subject: row.health for row in verdict.rows}
    assert healths == {GPUS[0]: Health.PASS, GPUS[1]: Health.DEGRADED, GPUS[2]: Health.UNKNOWN}


def test_a_row_reports_the_mode_and_the_one_that_is_wanted() -> None:
    row = Tray().read(0.0, gpu_persistence_mode=0.0).row(CHECK)
    assert (row.value, row.limit) == (0.0, 1.0)
