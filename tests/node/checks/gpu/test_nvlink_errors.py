"""nvlink.errors: growth counts, old totals do not."""

import pytest

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
    assert Tray().read(0.0, **QUIET).ask(CHECK).evidence == ("one reading: rates are not judged",)
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


@pytest.mark.parametrize(
    ("name", "per_second", "health"),
    [
        ("crc", 0.98, Health.PASS),
        ("crc", 1.0, Health.DEGRADED),
        ("crc", 99.0, Health.DEGRADED),
        ("crc", 100.0, Health.FAIL),
        ("replay", 0.98, Health.PASS),
        ("replay", 1.0, Health.DEGRADED),
        ("replay", 500.0, Health.DEGRADED),  # repeated, and so carried
    ],
)
def test_how_many_a_second_are_too_many(name: str, per_second: float, health: Health) -> None:
    counter = f"gpu_nvlink_{name}_errors_total"
    row = grown(**{counter: float(QUIET[counter]) + 60 * per_second}).row(CHECK)
    assert row.health is health
    if health is not Health.PASS:
        assert (row.value, row.limit) == (pytest.approx(per_second), 100.0 if health is Health.FAIL else 1.0)


def test_a_jump_after_a_quiet_hour_happened_within_a_minute() -> None:
    tray = Tray().read(0.0, **QUIET)
    tray.read(300.0, **{**QUIET, "gpu_nvlink_crc_errors_total": 1000.0 + 60 * 100})
    assert tray.row(CHECK).health is Health.FAIL
    quick = Tray().read(0.0, **QUIET)
    quick.read(10.0, **{**QUIET, "gpu_nvlink_crc_errors_total": 1000.0 + 10 * 100})
    assert quick.row(CHECK).health is Health.FAIL


def test_the_fastest_of_several_steps_counts() -> None:
    tray = Tray()
    for at, count in ((0.0, 0.0), (60.0, 6060.0), (120.0, 6060.0), (180.0, 6061.0)):
        tray.read(at, **{**QUIET, "gpu_nvlink_crc_errors_total": count})
    assert tray.row(CHECK).value == 101.0


@pytest.mark.parametrize(
    ("kind", "rate", "health"),
    [
        ("effective", 1e-6, Health.PASS),
        ("effective", 1.1e-6, Health.DEGRADED),
        ("symbol", 1e-12, Health.PASS),
        ("symbol", 1.1e-12, Health.DEGRADED),
    ],
)
def test_how_many_wrong_bits_are_borne(kind: str, rate: float, health: Health) -> None:
    assert grown(**{f"gpu_nvlink_{kind}_ber_ratio": rate}).row(CHECK).health is health


def test_links_without_errors_are_not_named() -> None:
    tray = Tray().read(0.0, **{**QUIET, "gpu_nvlink_error_links": ""})
    tray.read(60.0, **{**QUIET, "gpu_nvlink_error_links": "", "gpu_nvlink_recovery_errors_total": 9.0})
    assert tray.row(CHECK).reason == "2 NVLink recoveries in the last 10 minutes"


def test_a_minute_is_needed_to_judge_rates() -> None:
    for seconds, reason in ((59.0, "one reading: rates are not judged"), (60.0, "")):
        tray = Tray().read(0.0, **QUIET).read(seconds, **QUIET)
        assert tray.row(CHECK).reason == reason


def test_one_counter_is_enough() -> None:
    tray = Tray().read(0.0, gpu_nvlink_active_lanes=18.0, gpu_nvlink_crc_errors_total=5.0)
    assert tray.row(CHECK).health is Health.PASS


def test_a_gpu_that_does_not_report_its_lanes_is_unknown() -> None:
    tray = Tray().read(0.0, **{**QUIET, "gpu_nvlink_active_lanes": {1: 18.0}})
    assert tray.healths(CHECK)[:2] == [Health.UNKNOWN, Health.PASS]


def test_failing_links_do_not_wait_and_those_of_a_rack_go_through_its_switch_trays() -> None:
    flood, some = 1000.0 + 60 * 150, 1000.0 + 60 * 5
    assert grown(gpu_nvlink_crc_errors_total=flood).ask(CHECK).remedy.startswith("drain the node")
    assert grown(gpu_nvlink_crc_errors_total=some).ask(CHECK).remedy.startswith("when the job has ended")
    assert "baseboard" in grown(gpu_nvlink_crc_errors_total=some).ask(CHECK).remedy
    rack = Tray(model="NVIDIA GB200").read(0.0, **QUIET).read(60.0, **{**QUIET, "gpu_nvlink_crc_errors_total": flood})
    assert "NVLink switch trays" in rack.ask(CHECK).remedy
