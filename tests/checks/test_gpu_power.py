"""gpu.power: a cap below the default, or a GPU that starves among equally busy peers."""

from dataclasses import replace

from holdfast.checks.gpu_power import CHECK, UNCAP
from holdfast.model.health import Health
from tests.checks.gpu_tray import Tray

LIMITS = {"gpu_power_limit_watts": 700.0, "gpu_power_default_limit_watts": 700.0}


def test_a_gpu_at_its_default_limit_passes_from_one_sample() -> None:
    assert Tray().read(0.0, **LIMITS).ask(CHECK).health is Health.PASS


def test_a_cap_below_the_default_degrades() -> None:
    tray = Tray().read(0.0, **{**LIMITS, "gpu_power_limit_watts": {0: 700.0, 1: 500.0, 2: 700.0, 3: 700.0}})
    assert tray.healths(CHECK) == [Health.PASS, Health.DEGRADED, Health.PASS, Health.PASS]
    assert "capped at 500 W" in tray.row(CHECK, 1).reason
    assert tray.ask(CHECK).remedy == UNCAP


def test_a_cap_that_the_manifest_intends_passes() -> None:
    tray = Tray().read(0.0, **{**LIMITS, "gpu_power_limit_watts": 500.0})
    expect = {gpu: {"gpu_power_limit_watts": 500.0} for gpu in tray.gpus}
    tray.history.inventory = replace(tray.history.inventory, expect=expect)
    assert tray.ask(CHECK).health is Health.PASS


def busy(power: dict[int, float], load: dict[int, float] | float = 1.0, until: float = 600.0) -> Tray:
    return Tray(5).every(10.0, until, gpu_power_watts=power, gpu_utilization_ratio=load, **LIMITS)


def test_a_starving_gpu_among_busy_peers_degrades() -> None:
    tray = busy({0: 650, 1: 660, 2: 300, 3: 655, 4: 640})
    assert tray.row(CHECK, 2).health is Health.DEGRADED
    assert "draws 300 W" in tray.row(CHECK, 2).reason
    assert tray.row(CHECK, 0).health is Health.PASS


def test_an_idle_gpu_among_busy_peers_passes() -> None:
    tray = busy({0: 650, 1: 660, 2: 70, 3: 655, 4: 640}, load={0: 1.0, 1: 1.0, 2: 0.0, 3: 1.0, 4: 1.0})
    assert tray.row(CHECK, 2).health is Health.PASS


def test_a_moment_is_too_short_to_compare() -> None:
    assert busy({0: 650, 1: 660, 2: 300, 3: 655, 4: 640}, until=60.0).row(CHECK, 2).health is Health.PASS
