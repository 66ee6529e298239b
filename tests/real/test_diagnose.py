"""Captures of real jobs and machines: the first cause is the one that is known of them, and healthy ones have none."""

import pytest

from holdfast.cli.diagnose.command import gather
from holdfast.diagnosis.rules.diagnose import diagnose, subject_of

from . import captures

DATA = captures.DATA
pytestmark = captures.needs(DATA)

HEALTHY = ""
CAUSES: dict[str, tuple[str, str, str]] = {  # file -> (cause, end of the subject, action)
    "nccl_logs/gpud_libnccl_segfault.log": ("job.exception", "", "restart_same"),
    "nccl_logs/mlengineering_desync_rank1.log": ("job.rank_missing", "rank/1", "restart_same"),
    "nccl_logs/mlengineering_ib_error12.log": ("fabric.retry_exceeded", "", "restart_after_probe"),
    "training_logs/bigscience_meg_gpt2_perf_n16.out": (HEALTHY, "", ""),
    "training_logs/bigscience_tr1_loss_spike.log": ("job.loss_spike", "", "restart_same"),
    "training_logs/bloom176b_cuda_unknown_error.log": ("gpu.other_xid", "", "restart_after_probe"),
    "training_logs/modded_nanogpt_2024-06-06_AdamW.log": (HEALTHY, "", ""),
    "training_logs/modded_nanogpt_2025-07-12_BosAlign.log": (HEALTHY, "", ""),
    "training_logs/modded_nanogpt_2025-12-10_SALambdaOnWeights.log": (HEALTHY, "", ""),
    "training_logs/superbench_megatron_deepspeed.log": ("unknown", "", "restart_after_probe"),
    "nccl_tests/aws_p5_batch.txt": (HEALTHY, "", ""),
    "nccl_tests/bigscience_n1_16gb_all_reduce_bench.txt": (HEALTHY, "", ""),
    "nccl_tests/gcm_a100_8gpu_ok.txt": (HEALTHY, "", ""),
    "nccl_tests/superbench_nccl_allgather.log": (HEALTHY, "", ""),
    "nccl_tests/superbench_nccl_allreduce.log": (HEALTHY, "", ""),
    "nccl_tests/superbench_nccl_broadcast.log": (HEALTHY, "", ""),
    "xid/catalog.csv": (HEALTHY, "", ""),
    "xid/nvlink5_decode.csv": (HEALTHY, "", ""),
    "xid/dcgm_kmsg_xid43.log": ("job.exception", "", "restart_same"),
    "xid/driver_format_xid94_95_mig.log": ("gpu.ecc_uncorrectable", "0000:01:00", "restart_excluding"),
    "xid/gcm_syslog_two_lines.log": ("gpu.ecc_uncorrectable", "000d:00:00", "restart_excluding"),
    "xid/gpud_kmsg_peermem.log": (HEALTHY, "", ""),
    "xid/gpud_nvlink5_pci0008.log": ("gpu.nvlink", "0008:01:00", "restart_excluding"),
    "xid/gpud_nvlink5_pci0019.log": ("gpu.nvlink", "0019:01:00", "restart_excluding"),
    "xid/gpud_old_driver_no_pci_prefix.log": (HEALTHY, "", ""),
    "xid/gpud_xe9680_xid119_dmesg.log": ("gpu.gsp", "0000:9b:00", "restart_excluding"),
    "xid/gpud_xid79_single.log": ("gpu.fell_off_bus", "0000:05:00", "restart_excluding"),
    "xid/mlengineering_xid63.log": ("gpu.ecc_uncorrectable", "0000:10:1c", "restart_after_probe"),
    "sxid/catalog.csv": (HEALTHY, "", ""),
    "sxid/gpud_fabricmanager.log": ("gpu.nvlink", "0000:86:00.0", "restart_after_probe"),
    "sxid/gpud_sxid_lines.log": ("gpu.nvlink", "0000:00:00.0", "restart_excluding"),
    "sxid/imbue_sxid12028.log": ("gpu.nvlink", "0000:85:00.0", "restart_after_probe"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_first_cause_is_the_known_one(name: str) -> None:
    found, _, _ = gather([captures.there(DATA / name)])
    diagnosis = diagnose(found)
    cause, subject, action = CAUSES[name]
    if cause == HEALTHY:
        assert diagnosis.causes == ()
        assert diagnosis.next is None
        return
    first = diagnosis.causes[0]
    assert (first.name, diagnosis.next.action if diagnosis.next else "") == (cause, action)
    assert subject_of(first).endswith(subject)
    assert first.evidence[0].event.line > 0


def test_what_a_start_that_hung_says_of_itself_is_listed() -> None:
    diagnosis = diagnose(gather([captures.there(DATA / "training_logs/dlrover_training.log")])[0])
    assert any("HCCL_BLOCKING_WAIT" in one.event.text for one in diagnosis.evidence)
    assert diagnosis.causes[0].confidence < 0.6


@pytest.mark.parametrize(("job", "ranks"), [("gpu_error_2nd", "9,14"), ("lock_gil_2nd", "10,15")])
@pytest.mark.parametrize("layout", ["pickle", "json"])
def test_dumps_name_the_injured_ranks(job: str, ranks: str, layout: str) -> None:
    diagnosis = diagnose(gather([captures.there(DATA / "flight_recorder" / job / layout)])[0])
    assert [(one.name, subject_of(one)) for one in diagnosis.causes] == [("job.rank_missing", f"job/this/rank/{ranks}")]
