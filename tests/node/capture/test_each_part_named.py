"""A worse finding does not hide a lesser one, an error is no zero, and every fault has a remedy and an owner."""

import json

import pytest

from holdfast.node.capture.judge import REPORT

from . import outputs as o
from .test_silent_passes import judged

COLUMNS = "index, name, ecc.mode.current, ecc.errors.uncorrected.volatile.total, ecc.errors.uncorrected.volatile.dram"
ECC = COLUMNS + "\n0, NVIDIA H100 80GB HBM3, Enabled, 0, 0\n1, NVIDIA H100 80GB HBM3, {}\n"
ROWS = """index, name, remapped_rows.pending, remapped_rows.failure
0, NVIDIA H100 80GB HBM3, No, No
1, NVIDIA H100 80GB HBM3, No, Yes
2, NVIDIA H100 80GB HBM3, Yes, No
"""
SMI = o.smi_text(parity="0").replace("SEC-DED    : 1", "SEC-DED    : 0")
PENDING = SMI.replace("Pending                           : No", "Pending                           : Yes")


@pytest.mark.parametrize("error", ["ERR!", "[Unknown Error]", "[GPU requires reset]"])
@pytest.mark.parametrize("cells", ["Enabled, {0}, {0}", "Enabled, 0, {0}", "Enabled, {0}, 0", "{0}, {0}, {0}"])
def test_a_gpu_that_does_not_answer_for_its_errors_is_unknown(error, cells):
    found = judged(ECC.format(cells.format(error))).verdicts["gpu.ecc"]
    assert {row.subject[-5:]: row.health.value for row in found.rows} == {"gpu/0": "pass", "gpu/1": "unknown"}


def test_an_error_beside_counted_errors_is_a_fault():
    assert judged(ECC.format("Enabled, ERR!, 3")).verdicts["gpu.ecc"].health.value == "fail"


def test_a_failed_repair_does_not_hide_one_that_waits():
    found = judged(ROWS).verdicts["gpu.rows"]
    assert found.summary().startswith("gpu 1: a row could not be remapped")
    assert "gpu 2: a bad row waits" in found.summary()


def test_a_node_that_is_down_does_not_hide_one_that_drains():
    nodes = [{"name": "gpu3", "state": ["DOWN"], "reason": "no power"},
             {"name": "gpu1", "state": ["IDLE", "DRAIN"], "reason": "bad cable"}]  # fmt: skip
    said = judged(json.dumps({"nodes": nodes})).verdicts[REPORT].summary()
    assert said.index("gpu3") < said.index("gpu1")


def test_discards_are_named_beside_crc_errors():
    said = judged(o.ETHTOOL.format(discards=9_000_000, crc=900_000, downs=0)).verdicts[REPORT].summary()
    assert "rx_crc_errors_phy" in said
    assert "rx_out_of_buffer" in said


def test_a_fault_beside_what_is_not_known_has_a_remedy_and_an_owner():
    rows = judged(PENDING).verdicts["gpu.rows"]
    assert rows.health.value == "degraded"
    assert "reset the GPU" in rows.remedy
    assert rows.owner == "hardware"


@pytest.mark.parametrize("text", [o.DCGMI_HEALTH, o.DCGMI_NVLINK, o.NVLINK_ERRORS, o.SINFO_REASONS])
def test_what_a_tool_reports_has_a_remedy_and_an_owner(text):
    bad = [one for one in judged(text).verdicts.values() if one.state in ("fail", "degraded")]
    assert bad
    assert all(one.remedy and one.owner for one in bad)


def test_the_threshold_for_replacement_wins_over_a_reset():
    exceeded = "        Aggregate\n            SRAM Threshold Exceeded       : Yes\n"
    text = o.smi_text().replace("    Remapped Rows\n", f"{exceeded}    Remapped Rows\n", 1)
    found = judged(text).verdicts["gpu.ecc"]
    assert found.remedy.startswith("drain the node and replace the GPU")
    assert "3 uncorrected memory errors" in found.summary()


def test_a_line_without_a_time_has_no_age():
    found = judged("[ 50.0] NVRM: Xid (PCI:0000:ab:00): 79, pid=1, name=x, GPU has fallen off the bus.\n")
    evidence = [line for one in found.verdicts.values() for line in one.evidence]
    assert evidence
    assert not any("s ago" in line for line in evidence)
