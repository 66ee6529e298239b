"""Captures of real DCGM output, where they are at hand."""

import pytest

from holdfast.formats.dcgm import diag as dcgm_diag
from holdfast.formats.dcgm import exporter as dcgm_exporter
from holdfast.formats.dcgm.diag_result import FAIL, PASS, WARN

from . import captures

DATA = captures.DATA
pytestmark = captures.needs(DATA / "dcgm_diag")


def diag(name: str) -> dcgm_diag.Diagnostic:
    return dcgm_diag.parse((DATA / "dcgm_diag" / name).read_text())


@pytest.mark.parametrize(("name", "tests"), [("gcm_diag_pass.json", 9), ("gcm_r4_table_pass.txt", 18)])
def test_a_good_node_passes_every_test(name: str, tests: int) -> None:
    found = diag(name)
    assert [result.status for result in found.results] == [PASS] * tests
    assert found.complete and not found.error


def test_persistence_mode_off_is_a_warning() -> None:
    assert [r.test for r in diag("gcm_diag_warn.json").results if r.status == WARN] == ["Persistence Mode"]


def test_pending_row_remappings_fail_gpu_3_in_words_joined_across_lines() -> None:
    (result,) = diag("mlengineering_row_remap_pending.txt").results
    assert (result.status, result.gpu) == (FAIL, 3)
    assert result.text.endswith("row remappings are pending")


def test_the_blank_memory_temperature_of_a_real_scrape_is_absence() -> None:
    text = (DATA / "dcgm_exporter_metrics/dcgm_exporter_readme_sample.prom").read_text()
    values = {sample.name: sample.value for sample in dcgm_exporter.parse(text)}
    assert values["DCGM_FI_DEV_MEMORY_TEMP"] is None
    assert values["DCGM_FI_DEV_SM_CLOCK"] == 139


def test_every_sample_of_a_real_scrape_is_read() -> None:
    for file in sorted((DATA / "dcgm_exporter_metrics").glob("*.prom")):
        text = file.read_text()
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        assert len(list(dcgm_exporter.parse(text))) == len(lines), file.name
