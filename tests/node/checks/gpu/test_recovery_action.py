"""gpu.recovery_action: what the driver asks for is passed on; a driver too old to ask is known from its version."""

import pytest

from holdfast.catalog.gpus import recovery_action_since
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


def test_a_driver_too_old_to_report_is_not_asked() -> None:
    row = silent("535.183.06").row(CHECK)
    assert (row.health, row.reason.startswith("catalog:")) == (Health.NOT_APPLICABLE, True)


def test_a_newer_driver_that_does_not_report_is_unknown() -> None:
    assert silent("570.158.01").row(CHECK).health is Health.UNKNOWN
    assert silent("").row(CHECK).health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("action", "words", "remedy"),
    [
        (1, "a GPU reset", "stop its processes"),
        (2, "a reboot of the node", "drain and reboot the node"),
        (3, "peer-to-peer traffic to be drained", "let the jobs on this GPU end"),
        (4, "a drain and a GPU reset", "drain the node, then reset"),
        (5, "a recovery of the IMEX domain", "restart IMEX"),
        (6, "a reset of the GPU's PCIe bus", "PCIe bus, or reboot"),
        (7, "a reboot of the system", "the whole system"),
    ],
)
def test_each_action_has_its_own_remedy(action: float, words: str, remedy: str) -> None:
    tray = Tray().read(0.0, gpu_recovery_action={0: action, 1: 0.0, 2: 0.0, 3: 0.0})
    row = tray.row(CHECK)
    assert (row.reason, row.value, row.limit) == (f"the driver requests {words}", action, 0.0)
    assert remedy in tray.ask(CHECK).remedy


def test_a_gpu_that_only_says_reset_me_is_to_be_reset() -> None:
    tray = Tray().read(0.0, gpu_recovery_action=0.0, gpu_reset_required={0: 1.0, 1: 0.0})
    assert tray.healths(CHECK)[:2] == [Health.FAIL, Health.PASS]
    row = tray.row(CHECK)
    assert (row.value, row.limit, "nvidia-smi -r" in tray.ask(CHECK).remedy) == (1.0, 0.0, True)


def test_the_first_driver_that_reports_is_asked() -> None:
    since = recovery_action_since()
    assert silent(f"{since - 1}.10").row(CHECK).health is Health.NOT_APPLICABLE
    assert silent(f"{since}.10").row(CHECK).health is Health.UNKNOWN


def test_the_silence_of_a_lost_gpu_is_not_the_drivers_age() -> None:
    tray = silent("535.183.06").read(0.0, gpu_lost=1.0)
    assert tray.row(CHECK).health is Health.UNKNOWN


@pytest.mark.parametrize("action", range(1, 8))
def test_what_a_reset_of_the_gpu_alone_does_not_repair_is_rebooted(action: float) -> None:
    tray = Tray().read(0.0, gpu_recovery_action={0: action, 1: 0, 2: 0, 3: 0})
    assert tray.ask(CHECK).repair == ("reboot" if action in (2, 5, 6, 7) else "reset_gpu")
