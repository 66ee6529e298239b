"""Prefixes of launchers and loggers: what they tell is kept, the message is left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.job.line import JobLine, decode, near_stamp

PREFIXES = [
    ("[rank3]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] hello", 3, ""),
    ("[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] hello", 0, ""),
    ("[E ProcessGroupNCCL.cpp:828] hello", None, ""),
    ("2019-06-02T16:13:44.884Z: [1,12]<stdout>:hello", 12, ""),
    ("vm-07-05: [2023-11-29 08:57:32,086] [INFO] [launch.py:315:sigkill_handler] hello", None, "vm-07-05"),
    ("(RayTrainWorker pid=1234, ip=10.0.0.2) hello", None, "10.0.0.2"),
    ("[pod/llm-w-0/pytorch] hello", None, "llm-w-0"),
    ("  | 2024-11-28T07:42:11.528Z | hello", None, ""),
    ("> hello", None, ""),
    ("[INFO|trainer.py:2926] 2023-10-19 09:48:54,430 >> hello", None, ""),
    ("ERROR:torch.distributed.elastic.multiprocessing.api:hello", None, ""),
    ("E0325 20:57:27.620000 2606 site-packages/torch/distributed/elastic/multiprocessing/api.py:869] hello", None, ""),
    ("\x1b[36m(WorkerDict pid=3)\x1b[0m hello", None, ""),
    ("[36m(WorkerDict pid=3)[0m hello", None, ""),
    (" 20%|##   | 375/1881 [3:40:16<14:52:25, 35.55s/it][rank3]:hello", 3, ""),
    ("3: hello", 3, ""),
    ("[2025-01-29 08:52:43 TP5] hello", None, ""),
]


@pytest.mark.parametrize(("text", "rank", "host"), PREFIXES)
def test_the_message_is_left(text: str, rank: int | None, host: str) -> None:
    line = decode(text.encode())
    assert (line.text, line.rank, line.host) == ("hello", rank, host)


def test_nccl_reports_host_process_and_gpu() -> None:
    line = decode(b"n48:34050:34121 [7] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error")
    assert (line.host, line.local_rank, line.nccl) == ("n48", 7, True)
    assert line.text == "NET/IB : Got async event : port error"
    linked = decode(b"n1:3:9 [1] transport/net_ib/[p2p.cc:648](https://p2p.cc:648/) NCCL WARN NET/IB: hello")
    assert (linked.host, linked.text) == ("n1", "NET/IB: hello")


def test_stamps_of_every_kind_are_one_clock() -> None:
    stamps = ["2026-03-04 11:00:05,250", "2026-03-04T11:00:05.250Z", "2026-03-04 12:00:05.250+01:00"]
    assert len({decode(f"[{stamp}] x".encode()).at for stamp in stamps}) == 1
    assert decode(b"E304 11:00:05.250000000 x.cpp:1] x").at == decode(b"E0304 11:00:05.250000 9 x.py:1] x").at > 0
    assert decode(b"99/99/2024 25:61:61 - INFO - x").at == 0.0


def test_one_stamp_from_far_above_dates_nothing() -> None:
    assert near_stamp(b"[2026-03-04 11:00:05] started\n" + b"x\n" * 30) == 0.0
    assert near_stamp(b"[2026-03-04 11:00:05] a\n" * 3) > 0


@given(st.binary(max_size=400))
def test_no_bytes_are_too_strange(raw: bytes) -> None:
    assert isinstance(decode(raw), JobLine)
