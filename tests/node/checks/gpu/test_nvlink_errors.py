"""nvlink.errors: growth counts, old totals do not."""

from holdfast.model.health import Health
from holdfast.node.checks.gpu.nvlink_errors import CHECK
from tests.node.checks.gpu.gpu_tray import Tray

QUIET = {
    "gpu_nvlink_active_lanes": 18.0,
    "gpu_nvlink_recovery_errors_total": 7.0,
    "gpu_nvlink_crc_errors_total": 1000.0,
    "gpu_nvlink_replay_errors_total": 50.0,
    "gpu_nvlink_error_links": "3",
}


def grown(**values: float) -> Tray:
    tray = Tray()
    for at in range(0, 540, 60):
        tray.read(at, **QUIET)
    return tray.read(540.0, **{**QUIET, **values})


def test_old_totals_pass() -> None:
    assert grown().ask(CHECK).health is Health.PASS
    assert Tray().read(0.0, **QUIET).ask(CHECK).health is Health.PASS


def test_one_look_says_that_rates_are_not_judged_and_a_second_one_does_not() -> None:
    assert Tray().read(0.0, **QUIET).ask(CHECK).evidence == ("one look: rates are not judged",)
    assert grown().ask(CHECK).evidence == ()


def test_any_recovery_degrades_and_names_the_links() -> None:
    row = grown(gpu_nvlink_recovery_errors_total=8.0).row(CHECK)
    assert (row.health, row.value) == (Health.DEGRADED, 1.0)
    assert "links with errors: 3" in row.reason


def test_a_flood_of_crc_errors_fails_at_once() -> None:
    row = grown(gpu_nvlink_crc_errors_total=1000.0 + 60 * 150).row(CHECK)
    assert (row.health, row.value) == (Health.FAIL, 150.0)


def test_some_repeats_degrade_and_few_pass() -> None:
    assert grown(gpu_nvlink_crc_errors_total=1000.0 + 60 * 5).row(CHECK).health is Health.DEGRADED
    assert grown(gpu_nvlink_replay_errors_total=50.0 + 60 * 5).row(CHECK).health is Health.DEGRADED
    assert grown(gpu_nvlink_crc_errors_total=1010.0).row(CHECK).health is Health.PASS


def test_counters_reset_by_a_driver_reload_are_not_errors() -> None:
    assert grown(gpu_nvlink_crc_errors_total=0.0, gpu_nvlink_recovery_errors_total=0.0).row(CHECK).health is Health.PASS


def test_a_dirty_link_degrades_by_its_bit_error_rate() -> None:
    clean = {"gpu_nvlink_effective_ber_ratio": 1.5e-254, "gpu_nvlink_symbol_ber_ratio": 1.5e-254}
    assert grown(**clean).row(CHECK).health is Health.PASS
    assert grown(**{**clean, "gpu_nvlink_effective_ber_ratio": 4e-5}).row(CHECK).health is Health.DEGRADED
    assert grown(**{**clean, "gpu_nvlink_symbol_ber_ratio": 4e-9}).row(CHECK).health is Health.DEGRADED


def test_links_without_counters_are_unknown() -> None:
    tray = Tray().read(0.0, gpu_nvlink_active_lanes=18.0)
    assert tray.missing(0, "gpu_nvlink_recovery_errors_total").row(CHECK).health is Health.UNKNOWN
