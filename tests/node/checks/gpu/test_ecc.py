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
    assert "gpu 0: 5 uncorrected errors over its lifetime" in verdict.evidence


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


def test_four_sram_errors_over_a_life_are_too_many_where_the_driver_has_no_threshold() -> None:
    old = {name: value for name, value in CLEAN.items() if "threshold" not in name}
    three = Tray().read(0.0, **old, gpu_ecc_aggregate_uncorrected_sram_total=3.0)
    assert three.row(CHECK).health is Health.PASS
    four = Tray().read(0.0, **CLEAN, gpu_ecc_aggregate_uncorrected_sram_total=4.0)
    assert four.row(CHECK).health is Health.PASS, "the driver's own threshold is not exceeded"


def test_how_much_correcting_is_much() -> None:
    assert counted(gpu_ecc_volatile_corrected_sram_total=10_000.0).row(CHECK).health is Health.PASS
    assert counted(gpu_ecc_volatile_corrected_dram_total=20_000_000.0).row(CHECK).health is Health.PASS
    assert counted(gpu_ecc_volatile_corrected_dram_total=20_000_001.0).row(CHECK).health is Health.DEGRADED


def test_ten_thousand_corrections_a_minute_are_borne() -> None:
    for grown, health in ((100_000.0, Health.PASS), (100_001.0, Health.DEGRADED)):
        tray = counted()
        tray.read(60.0, **{**CLEAN, "gpu_ecc_volatile_corrected_total": grown})
        assert tray.row(CHECK).health is health  # over the ten minutes that the check looks back


def test_one_uncorrected_error_is_too_many_wherever_it_is_counted() -> None:
    for name in ("_total", "_sram_total", "_dram_total"):
        row = counted(**{f"gpu_ecc_volatile_uncorrected{name}": 1.0}).row(CHECK)
        assert (row.health, row.value, row.limit) == (Health.FAIL, 1.0, 0.0)
    both = counted(gpu_ecc_volatile_uncorrected_sram_total=1.0, gpu_ecc_volatile_uncorrected_dram_total=2.0)
    assert both.row(CHECK).value == 3.0


def test_parts_alone_or_the_total_alone_are_enough_to_pass() -> None:
    total = Tray().read(0.0, gpu_ecc_mode=1.0, gpu_ecc_volatile_uncorrected_total=0.0)
    assert total.row(CHECK).health is Health.PASS
    part = Tray().read(0.0, gpu_ecc_mode=1.0, gpu_ecc_volatile_uncorrected_dram_total=0.0)
    assert part.row(CHECK).health is Health.PASS


def test_a_place_that_is_not_counted_is_not_reported() -> None:
    tray = Tray().read(0.0, gpu_ecc_mode=1.0, gpu_ecc_volatile_uncorrected_total=2.0)
    assert "(place not reported)" in tray.row(CHECK).reason
    tray = Tray().read(0.0, gpu_ecc_mode=1.0, gpu_ecc_volatile_uncorrected_dram_total=2.0)
    assert "(2 DRAM)" in tray.row(CHECK).reason


def test_a_clean_life_is_no_evidence() -> None:
    clean = counted(gpu_ecc_aggregate_uncorrected_sram_total=0.0, gpu_ecc_aggregate_uncorrected_dram_total=0.0)
    assert clean.ask(CHECK).evidence == ()


def test_a_gpu_that_does_not_report_its_mode_is_unknown() -> None:
    tray = Tray().read(0.0, gpu_ecc_mode={1: 1.0, 2: 1.0, 3: 1.0}, gpu_ecc_volatile_uncorrected_total=0.0)
    assert tray.healths(CHECK) == [Health.UNKNOWN, Health.PASS, Health.PASS, Health.PASS]


def test_ecc_that_is_off_reports_the_mode_that_is_wanted() -> None:
    row = Tray().read(0.0, gpu_ecc_mode=0.0).row(CHECK)
    assert (row.value, row.limit) == (0.0, 1.0)


def test_corrected_errors_are_wear_and_wait_for_the_work_to_end() -> None:
    worn = counted(gpu_ecc_volatile_corrected_dram_total=25_000_000.0).ask(CHECK)
    assert worn.failure_class is FailureClass.SLOWDOWN
    assert worn.remedy.startswith("when its work has ended, reset the GPU")
    lost = counted(gpu_ecc_volatile_uncorrected_dram_total=1.0).ask(CHECK)
    assert lost.failure_class is FailureClass.CORRUPTION
    assert lost.remedy.startswith("drain the node, reset the GPU")


def test_counters_without_the_mode_they_were_counted_in_pass_nothing_and_hide_nothing() -> None:
    values = {name: value for name, value in CLEAN.items() if name != "gpu_ecc_mode"}
    assert Tray().read(0.0, **values).row(CHECK).health is Health.UNKNOWN
    values["gpu_ecc_volatile_uncorrected_total"] = values["gpu_ecc_volatile_uncorrected_dram_total"] = 2.0
    assert Tray().read(0.0, **values).row(CHECK).health is Health.FAIL
