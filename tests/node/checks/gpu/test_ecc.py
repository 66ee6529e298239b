"""gpu.ecc: lost data fails, a driver's replacement threshold fails, much correcting degrades, no ECC is not health."""

from holdfast.model.health import FailureClass, Health
from holdfast.node.checks.gpu.ecc import CHECK, REPLACE, RESET, SWITCH_ON
from tests.node.checks.gpu.gpu_tray import Tray

CLEAN = {
    "gpu_ecc_mode": 1.0,
    "gpu_ecc_volatile_corrected_sram_total": 0.0,
    "gpu_ecc_volatile_corrected_dram_total": 0.0,
    "gpu_ecc_volatile_corrected_total": 0.0,
    "gpu_ecc_volatile_uncorrected_sram_total": 0.0,
    "gpu_ecc_volatile_uncorrected_dram_total": 0.0,
    "gpu_ecc_volatile_uncorrected_total": 0.0,
    "gpu_ecc_sram_threshold_exceeded": 0.0,
}


def counted(**values: float) -> Tray:
    return Tray().read(0.0, **{**CLEAN, **values})


def test_clean_memory_passes() -> None:
    assert counted().ask(CHECK).health is Health.PASS


def test_one_uncorrected_error_fails_and_says_where() -> None:
    tray = Tray().read(0.0, **{**CLEAN, "gpu_ecc_volatile_uncorrected_dram_total": {0: 0.0, 1: 1.0, 2: 0.0, 3: 0.0}})
    verdict = tray.ask(CHECK)
    assert tray.healths(CHECK) == [Health.PASS, Health.FAIL, Health.PASS, Health.PASS]
    assert "0 SRAM, 1 DRAM" in tray.row(CHECK, 1).reason
    assert (verdict.remedy, verdict.failure_class) == (RESET, FailureClass.CORRUPTION)


def test_totals_alone_are_enough() -> None:
    tray = Tray().read(0.0, gpu_ecc_mode=1.0, gpu_ecc_volatile_uncorrected_total=2.0)
    assert tray.row(CHECK).health is Health.FAIL


def test_errors_of_earlier_lives_are_evidence_only() -> None:
    tray = counted(gpu_ecc_aggregate_uncorrected_sram_total=2.0, gpu_ecc_aggregate_uncorrected_dram_total=3.0)
    verdict = tray.ask(CHECK)
    assert verdict.health is Health.PASS
    assert "gpu 0: 5 uncorrected errors over its life" in verdict.evidence


def test_the_drivers_sram_threshold_means_replacement() -> None:
    verdict = counted(gpu_ecc_sram_threshold_exceeded=1.0, gpu_ecc_aggregate_uncorrected_sram_total=9.0).ask(CHECK)
    assert (verdict.health, verdict.remedy) == (Health.FAIL, REPLACE)


def test_a_driver_without_that_threshold_is_judged_by_the_lifetime_count() -> None:
    values = {name: value for name, value in CLEAN.items() if "threshold" not in name}
    tray = Tray().read(0.0, **values, gpu_ecc_aggregate_uncorrected_sram_total=4.0)
    assert tray.row(CHECK).health is Health.DEGRADED


def test_much_correcting_degrades() -> None:
    assert counted(gpu_ecc_volatile_corrected_sram_total=10_001.0).row(CHECK).health is Health.DEGRADED
    assert counted(gpu_ecc_volatile_corrected_dram_total=10_001.0).row(CHECK).health is Health.PASS
    assert counted(gpu_ecc_volatile_corrected_dram_total=2.1e7).row(CHECK).health is Health.DEGRADED


def test_a_flood_of_corrected_errors_degrades_before_the_count_is_high() -> None:
    tray = counted()
    tray.read(60.0, **{**CLEAN, "gpu_ecc_volatile_corrected_total": 150_000.0})
    row = tray.row(CHECK)
    assert (row.health, "15000 corrected memory errors a minute" in row.reason) == (Health.DEGRADED, True)


def test_ecc_switched_off_degrades() -> None:
    verdict = Tray().read(0.0, gpu_ecc_mode=0.0).ask(CHECK)
    assert (verdict.health, verdict.remedy) == (Health.DEGRADED, SWITCH_ON)


def test_a_gpu_that_does_not_count_is_unknown() -> None:
    tray = Tray().read(0.0, gpu_ecc_mode=1.0)
    tray.missing(0, "gpu_ecc_volatile_uncorrected_total", reason="permission denied")
    assert tray.row(CHECK).health is Health.UNKNOWN
    assert "permission denied" in tray.row(CHECK).reason
