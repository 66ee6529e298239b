"""Which lines of a job confirm that a connection is lost, and which do not."""

import pytest

from holdfast.supervisor.progress import confirms_loss

NCCL = "n1:77:99 [0] transport/net_ib.cc:295 NCCL WARN NET/IB"


@pytest.mark.parametrize(
    "line",
    [
        f"{NCCL} : Got completion from peer 10.0.0.9<4431> with status=12 opcode=0 len=0 vendor err 129 (Send)",
        f"{NCCL} : Got completion from peer 10.0.0.9<4431> with error 12, opcode 0, len 0, vendor err 129",
        f"{NCCL}: Got completion from peer 10.0.0.9<1> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) x",
        f"{NCCL} : Got async event : port error",
    ],
)
def test_an_error_that_no_transport_recovers_from(line: str) -> None:
    assert confirms_loss(line.encode() + b"\n")


@pytest.mark.parametrize(
    "line",
    [
        f"{NCCL} : Got completion from peer 10.0.0.9<4431> with status=5 opcode=0 len=0 vendor err 249 (Send)",
        f"{NCCL} : mlx5_2:1 Got async event : GID table change",
        "sample: 'NET/IB : Got completion from peer x with status=12 '",
        "step 3 loss 2.1",
    ],
)
def test_what_follows_or_passes_confirms_nothing(line: str) -> None:
    assert not confirms_loss(line.encode() + b"\n")
