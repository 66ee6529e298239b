"""gpu.recovery_action: what the driver asks for is passed on; a driver too old to ask is known from its version."""

import pytest

from holdfast.model.health import Health
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.gpu.recovery_action import CHECK
from tests.node.checks.gpu.gpu_tray import Tray


@pytest.mark.parametrize(
    ("action", "health", "words"),
    [
        (0, Health.PASS, ""),
        (1, Health.FAIL, "GPU reset"),
        (2, Health.FAIL, "reboot"),
        (3, Health.DEGRADED, "drained"),
        (4, Health.FAIL, "drain and a GPU reset"),
        (42, Health.FAIL, "recovery action 42"),
    ],
)
def test_what_the_driver_asks_for(action: float, health: Health, words: str) -> None:
    tray = Tray().read(0.0, gpu_recovery_action={0: action, 1: 0, 2: 0, 3: 0})
    assert (tray.row(CHECK).health, words in tray.row(CHECK).reason) == (health, True)
    assert bool(tray.ask(CHECK).remedy) is (health is not Health.PASS)


def test_a_gpu_that_only_says_reset_me_fails() -> None:
    tray = Tray().read(0.0, gpu_recovery_action=0.0, gpu_reset_required={0: 1.0})
    assert tray.row(CHECK).health is Health.FAIL


def silent(driver: str) -> Tray:
    tray = Tray().read(0.0)
    tray.history.add(Reading(source="nvml_slow", at=0.0, signals=[Signal("node/n1", "driver_version", driver)]))
    return tray.missing(0, "gpu_recovery_action")


def test_a_driver_too_old_to_tell_is_not_asked() -> None:
    row = silent("535.183.06").row(CHECK)
    assert (row.health, row.reason.startswith("catalog:")) == (Health.NOT_APPLICABLE, True)


def test_a_newer_driver_that_does_not_tell_is_unknown() -> None:
    assert silent("570.158.01").row(CHECK).health is Health.UNKNOWN
    assert silent("").row(CHECK).health is Health.UNKNOWN
