"""What an agent says to training processes: read back as it was said, and whatever else arrives is refused."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.formats.job import orders as job_orders
from holdfast.formats.job.orders import Flush, OrderError, RankHardwareError


def test_what_is_reported_is_read_as_it_was_reported():
    assert job_orders.decode(job_orders.happened(7.5, "xid 94\non GPU 3")) == RankHardwareError(7.5, "xid 94 on GPU 3")
    assert job_orders.decode(job_orders.flush(120.0)) == Flush(120.0)


def test_words_without_end_are_cut():
    assert len(job_orders.decode(job_orders.happened(1.0, "x" * 10_000)).what) == job_orders.LONGEST_TEXT


@pytest.mark.parametrize(
    "bad",
    [b"ok", b"{}", b'{"type": "flush", "seconds": -1}', b'{"type": "flush", "seconds": 1e9}', b'{"type": "reboot"}',
     b'{"type": "happened", "at": 1, "what": "\\u0007"}'],
)  # fmt: skip
def test_anything_else_is_refused(bad):
    with pytest.raises(OrderError):
        job_orders.decode(bad)


@given(st.binary(max_size=300))
@example(b'{"type": "happened", "at": 1e400, "what": ""}')
def test_noise_is_refused_and_nothing_else_happens(raw):
    try:
        assert isinstance(job_orders.decode(raw), RankHardwareError | Flush)
    except OrderError as error:
        assert "\n" not in str(error)
