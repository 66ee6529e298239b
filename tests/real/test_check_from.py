"""`holdfast check --from` on captures of real machines: recognised as what they are, with the true answer."""

import pytest

from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.capture.check_file import check_file

from . import captures

pytestmark = captures.needs(captures.DATA / "nvidia_smi")

TRUE = {
    "nvidia_smi/captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt": ("nvidia-smi -q", "pass", ""),
    "nvidia_smi/captures/linux-x86_64__nvidia-h100-mig__590.48.01.txt": ("nvidia-smi -q", "pass", ""),
    "nvidia_smi/captures/windows-x86_64__nvidia-geforce-rtx-2080-super__591.86.txt": ("nvidia-smi -q", "pass", ""),
    "nvidia_smi/azure_page_retirement_good.txt": ("nvidia-smi -q", "pass", ""),
    "nvidia_smi/azure_nvlink_good.txt": ("nvidia-smi nvlink", "pass", ""),
    "nvidia_smi/mlengineering_a100_remap_pending.txt": (
        "nvidia-smi -q",
        "degraded",
        "waits for a reset to be remapped",
    ),
    "nvidia_smi/xml/influxdata_rtx-3080-v12.xml": ("nvidia-smi -q -x", "pass", ""),
    "dcgm_diag/gcm_r4_table_pass.txt": ("dcgmi diag", "pass", ""),
    "dcgm_diag/gcm_diag_warn.json": ("dcgmi diag", "degraded", "Persistence Mode"),
    "dcgm_diag/mlengineering_row_remap_pending.txt": ("dcgmi diag", "fail", "gpu 3"),
    "dcgm_diag/gcm_dcgmi_nvlink_errors.txt": ("dcgmi nvlink -e", "pass", ""),
    "dcgm_exporter_metrics/dcgm_exporter_readme_sample.prom": ("dcgm-exporter", "pass", ""),
    "infiniband_sysfs/treydock_tools/ibswinfo/test1.out": ("ibswinfo", "fail", "fan status is ERROR"),
    "infiniband_sysfs/treydock_tools/ibswinfo/test3.out": ("ibswinfo", "fail", "PSU1 DC power is ERROR"),
    "xid/gpud_xe9680_xid119_dmesg.log": ("kernel log", "fail", "Xid 119"),
    "xid/gpud_xid79_single.log": ("kernel log", "fail", "Xid 79"),
    "xid/mlengineering_xid63.log": ("kernel log", "degraded", "Xid 63"),
    "xid/dcgm_kmsg_xid43.log": ("kernel log", "pass", ""),
    "aer/imbue_pcie_width_limited.log": ("kernel log", "degraded", "0000:9c:00.0"),
    "slurm/telegraf_slurmrestd_nodes.json": ("Slurm nodes", "degraded", "Kill task failed"),
    "slurm/rivos_sinfo_out.json": ("Slurm nodes", "fail", "cs5.example.company.com"),
    "slurm/gcm_sample-sinfo-output.txt": ("Slurm nodes", "fail", "node0201"),
    "slurm/datadog_sinfo.txt": ("Slurm nodes", "pass", ""),
    "slurm/datadog_seff.txt": ("seff", "pass", ""),
    "slurm/vpenso_squeue.txt": ("Slurm jobs", "degraded", "a node failed"),
}


@pytest.mark.parametrize("name", TRUE)
def test_a_real_file_has_its_true_answer(name):
    tool, health, message = TRUE[name]
    found = check_file(str(captures.DATA / name), Settings())
    bad = " ".join(one.summary() for one in found.verdicts.values() if one.state in ("fail", "degraded"))
    assert tool in found.tools
    assert (found.health.value, message in bad) == (health, True), bad


@pytest.mark.parametrize("name", ["xid/catalog.csv", "dcgm_diag/dcgm_diag_schema.json"])
def test_what_is_no_output_of_a_node_is_refused(name):
    with pytest.raises(Refusal, match="not recognised"):
        check_file(str(captures.DATA / name), Settings())
