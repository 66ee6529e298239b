"""Real runs of nccl-tests: every row is read and the average that the tool printed is what the rows give."""

from statistics import fmean

import pytest

from holdfast.formats.nccl.tests import parse

from . import captures

DATA = captures.DATA
pytestmark = captures.needs(DATA / "nccl_tests")


def sweep(name: str):
    return parse((DATA / "nccl_tests" / name).read_text())


def test_a_table_behind_mpirun_prefixes_is_read_whole() -> None:
    found = sweep("aws_p5_batch.txt")
    assert found.average_busbw_bytes_per_second == pytest.approx(156.742e9)
    assert (found.rows[0].bytes, found.rows[-1].bytes, len(found.rows)) == (8, 16 << 30, 32)
    assert all(row.wrong == 0 for row in found.rows)


@pytest.mark.parametrize(
    "name", ["gcm_a100_8gpu_ok.txt", "superbench_nccl_allgather.log", "superbench_nccl_allreduce.log"]
)
def test_healthy_runs_of_eight_gpus(name: str) -> None:
    found = sweep(name)
    assert found.ranks == 8 and found.complete and not found.trouble
    assert "A100" in found.model
    assert fmean(row.busbw_bytes_per_second for row in found.rows) == pytest.approx(
        found.average_busbw_bytes_per_second, rel=0.02
    )


def test_another_benchmark_is_no_table_of_nccl_tests() -> None:
    found = sweep("bigscience_n1_16gb_all_reduce_bench.txt")
    assert not found.rows and found.trouble
