"""The settings that `holdfast run --tune-nccl` makes, and the file for whole nodes, say the same."""

from pathlib import Path

from holdfast.catalog import nccl, nccl_tuning
from holdfast.formats.nccl.settings import nccl_conf

CONF = Path(__file__).parents[2] / "deploy" / "nccl.conf"


def test_the_file_for_nodes_sets_what_nccl_reads_of_them() -> None:
    wanted = {name: value for name, value in nccl_tuning.environment().items() if name.startswith("NCCL_")}
    assert nccl_conf(CONF.read_text()) == wanted


def test_every_value_says_what_it_survives_and_the_outage_is_computed_right() -> None:
    assert all(one.survives for one in nccl_tuning.settings())
    values = nccl_tuning.environment()
    timeout = nccl.transport_timeout("", float(values["NCCL_IB_TIMEOUT"]), float(values["NCCL_IB_RETRY_CNT"]))
    assert round(timeout.seconds) == 120
