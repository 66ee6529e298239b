"""gpu.rows: a reset for what waits, a replacement for what failed, a plan for spares that run out."""

from dataclasses import replace

import pytest

from holdfast.formats.kernel import xid
from holdfast.formats.kernel.line import KernelLine
from holdfast.model.health import Health
from holdfast.node.checks.gpu import xid as gpu_xid
from holdfast.node.checks.gpu.rows import CHECK, REPLACE, RESET, WATCH
from tests.node.checks.gpu.gpu_tray import Tray

CLEAN = {
    "gpu_remapped_rows_correctable": 0.0,
    "gpu_remapped_rows_uncorrectable": 0.0,
    "gpu_remapped_rows_pending": 0.0,
    "gpu_remapped_rows_failure": 0.0,
    "gpu_remap_max_banks": 2560.0,
    "gpu_remap_none_banks": 0.0,
}


@pytest.mark.parametrize(
    ("changed", "health", "remedy"),
    [
        ({}, Health.PASS, ""),
        ({"gpu_remapped_rows_correctable": 30.0, "gpu_remapped_rows_uncorrectable": 5.0}, Health.PASS, ""),
        ({"gpu_remapped_rows_pending": 1.0}, Health.DEGRADED, RESET),
        ({"gpu_remapped_rows_failure": 1.0}, Health.FAIL, REPLACE),
        ({"gpu_remapped_rows_failure": 1.0, "gpu_remapped_rows_pending": 1.0}, Health.FAIL, REPLACE),
        ({"gpu_remapped_rows_uncorrectable": 512.0}, Health.DEGRADED, WATCH),
        ({"gpu_remap_none_banks": 1.0}, Health.DEGRADED, WATCH),
    ],
)
def test_rows(changed: dict[str, float], health: Health, remedy: str) -> None:
    verdict = Tray().read(0.0, **{**CLEAN, **changed}).ask(CHECK)
    assert (verdict.health, verdict.remedy) == (health, remedy)


@pytest.mark.parametrize(
    ("pages", "pending", "health"), [(3.0, 0.0, Health.PASS), (3.0, 1.0, Health.DEGRADED), (63.0, 0.0, Health.FAIL)]
)
def test_older_gpus_retire_pages(pages: float, pending: float, health: Health) -> None:
    tray = Tray(model="Tesla V100-SXM2-32GB").read(
        0.0,
        gpu_retired_pages_single_bit=pages - 1,
        gpu_retired_pages_double_bit=1.0,
        gpu_retired_pages_pending=pending,
    )
    assert tray.row(CHECK).health is health


def test_a_gpu_split_by_mig_is_unknown_and_says_so() -> None:
    tray = Tray().read(0.0)
    tray.missing(0, "gpu_remapped_rows_pending", reason="not supported by this GPU/driver while MIG is enabled")
    assert (tray.row(CHECK).health, "MIG" in tray.row(CHECK).reason) == (Health.UNKNOWN, True)


def test_the_worst_gpu_decides_the_remedy() -> None:
    tray = Tray().read(0.0, **{**CLEAN, "gpu_remap_none_banks": {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0},
                               "gpu_remapped_rows_failure": {0: 0.0, 1: 0.0, 2: 1.0, 3: 0.0}})  # fmt: skip
    assert tray.healths(CHECK) == [Health.DEGRADED, Health.PASS, Health.FAIL, Health.PASS]
    assert tray.ask(CHECK).remedy == REPLACE


def test_a_row_that_waits_is_judged_alike_by_its_counter_and_by_its_xid() -> None:
    tray = Tray().read(0.0, **{**CLEAN, "gpu_remapped_rows_pending": 1.0}, kmsg_records_total=1.0)
    line = KernelLine(
        "NVRM: Xid (PCI:0000:9b:00): 63, Row Remapper: New row marked for remapping, reset gpu to activate."
    )
    reported = xid.find(line)
    assert reported
    tray.happened(replace(reported, subject=tray.gpus[0]))
    assert tray.row(CHECK).health is tray.row(gpu_xid.CHECK).health is Health.DEGRADED


@pytest.mark.parametrize(
    ("name", "value", "health"),
    [
        ("gpu_remapped_rows_uncorrectable", 511.0, Health.PASS),
        ("gpu_remapped_rows_uncorrectable", 512.0, Health.DEGRADED),
        ("gpu_remap_none_banks", 0.0, Health.PASS),
        ("gpu_remap_none_banks", 1.0, Health.DEGRADED),
    ],
)
def test_how_much_repairing_is_too_much(name: str, value: float, health: Health) -> None:
    row = Tray().read(0.0, **{**CLEAN, name: value}).row(CHECK)
    assert row.health is health
    if health is Health.DEGRADED:
        assert row.value == value


@pytest.mark.parametrize(
    ("single", "double", "health"), [(62, 0, Health.PASS), (62, 1, Health.FAIL), (0, 63, Health.FAIL)]
)
def test_sixty_three_retired_pages_of_either_kind_are_the_end(single: float, double: float, health: Health) -> None:
    tray = Tray().read(
        0.0, gpu_retired_pages_single_bit=single, gpu_retired_pages_double_bit=double, gpu_retired_pages_pending=0.0
    )
    row = tray.row(CHECK)
    assert (row.health, row.value, row.limit) == (health, single + double, 63.0)


def test_what_a_gpu_does_not_count_is_nothing_against_it() -> None:
    pages = Tray().read(0.0, gpu_retired_pages_pending=0.0).row(CHECK)
    rows = Tray().read(0.0, gpu_remapped_rows_pending=0.0).row(CHECK)
    assert (pages.health, pages.value, rows.health, rows.value) == (Health.PASS, 0.0, Health.PASS, 0.0)


def test_remapping_counts_where_a_gpu_reports_both() -> None:
    tray = Tray().read(0.0, **CLEAN, gpu_retired_pages_single_bit=99.0, gpu_retired_pages_pending=1.0)
    assert tray.row(CHECK).health is Health.PASS


def test_what_waits_or_failed_is_reported_as_one_of_none() -> None:
    for name in ("gpu_remapped_rows_pending", "gpu_remapped_rows_failure"):
        row = Tray().read(0.0, **{**CLEAN, name: 1.0}).row(CHECK)
        assert (row.value, row.limit) == (1.0, 0.0)
    row = Tray().read(0.0, gpu_retired_pages_pending=1.0).row(CHECK)
    assert (row.value, row.limit) == (1.0, 0.0)


@pytest.mark.parametrize(("failed", "health"), [(1.0, Health.FAIL), (0.0, Health.UNKNOWN)])
def test_a_repair_that_failed_counts_though_pending_rows_are_not_reported(failed: float, health: Health) -> None:
    """The exporter's default list of fields has the failure and not the pending rows."""
    assert Tray().read(0.0, gpu_remapped_rows_failure=failed).row(CHECK).health is health
