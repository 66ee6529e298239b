"""ib_write_bw: its table in both units, one that breaks off, and the two ends of a run."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.node.probes.active import rdma_loopback
from holdfast.node.probes.active.rdma_loopback import average

BEFORE = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 1\t\tTransport type : IB
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 local address: LID 0x1f QPN 0x0127 PSN 0x8f1c2a RKey 0x1ff0be VAddr 0x007f22e4600000
 remote address: LID 0x1f QPN 0x0128 PSN 0x2b7e15 RKey 0x1ff0bf VAddr 0x007fb6c1600000
---------------------------------------------------------------------------------------
"""
GIGABITS = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
MEGABYTES = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
ROW = " 65536      1118800          0.00               391.04 \t\t   0.745847\n"
AFTER = "---------------------------------------------------------------------------------------\n"


def test_the_average_is_read_in_the_unit_of_the_head():
    assert average(BEFORE + GIGABITS + ROW + AFTER) == pytest.approx(391.04e9 / 8)
    assert average(BEFORE + MEGABYTES + ROW + AFTER) == pytest.approx(391.04 * (1 << 20))


@pytest.mark.parametrize("text", ["", BEFORE, BEFORE + GIGABITS, BEFORE + ROW, "Couldn't listen to port 18515\n"])
def test_a_table_without_a_row_or_a_head_is_no_result(text):
    with pytest.raises(ValueError, match="no row"):
        average(text)


@given(st.text(max_size=200), st.integers(0, 120))
def test_anything_is_a_rate_or_refused(noise, cut):
    for text in (noise, (BEFORE + GIGABITS + ROW)[:-cut] + noise, GIGABITS + noise):
        with contextlib.suppress(ValueError):
            assert isinstance(average(text), float)


def test_both_ends_are_run_and_the_server_is_ended(tmp_path, monkeypatch):
    """A stand-in with the same manners: the server waits, the client prints the table."""
    monkeypatch.setattr(rdma_loopback, "START_SECONDS", 0.0)
    (tmp_path / "table").write_text(BEFORE + GIGABITS + ROW + AFTER)
    tool = tmp_path / "ib_write_bw"
    tool.write_text(f'#!/bin/sh\ncase "$*" in *127.0.0.1) cat {tmp_path}/table ;; *) exec sleep 600 ;; esac\n')
    tool.chmod(0o755)
    assert rdma_loopback._loopback(str(tool), "mlx5_0", "1", 1.0) == pytest.approx(391.04e9 / 8)
