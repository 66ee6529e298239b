"""From a log's lines to the setting that fixes it: what the calls, levels and neighbours of a line decide."""

import pytest

from holdfast.diagnosis.rules.diagnose import Diagnosis, diagnose
from holdfast.diagnosis.rules.report import lines, next_lines
from holdfast.formats.job.log import JobLog


def of(text: str) -> Diagnosis:
    log = JobLog()
    log.feed(text.encode())
    return diagnose(log.finish())


@pytest.mark.parametrize(
    ("text", "cause", "action", "names"),
    [
        ("n1:1:2 [0] a.cc:1 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory\n", "launcher.setup", "stop", "ulimit -l"),
        ("n1:1:2 [0] a.cc:1 NCCL WARN Call to ibv_modify_qp failed with error No such device\n", "launcher.setup", "stop", "NCCL_IB_GID_INDEX"),
        ("[E socket.cpp:9] [c10d] The client socket has timed out after 60s while trying to connect to (255.255.255.0, 29500).\n", "launcher.setup", "stop", "MASTER_ADDR"),
        ("[E socket.cpp:9] [c10d] The client socket has timed out after 60s while trying to connect to (10.0.0.3, 29500).\n", "launcher.setup", "restart_same", "MASTER_ADDR"),
        ("Traceback (most recent call last):\n  File \"t.py\", line 1, in f\nRuntimeError: CUDA error: device-side assert triggered\n", "job.illegal_access", "stop", "CUDA_LAUNCH_BLOCKING"),
        ("Traceback (most recent call last):\n  File \"t.py\", line 1, in f\nOSError: You are trying to access a gated repo.\n", "job.exception", "stop", "HF_TOKEN"),
        ("Traceback (most recent call last):\n  File \"t.py\", line 1, in f\nRuntimeError: PytorchStreamReader failed reading zip archive\n", "storage.corrupt", "stop", "download"),
        ("kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=1, name=python3, Ch 00000001 caused by previous Xid 149\n", "gpu.nvlink", "restart_after_probe", "nvlink"),
    ],
)  # fmt: skip
def test_cause_next_step_and_setting(text: str, cause: str, action: str, names: str) -> None:
    found = of(text)
    assert found.causes[0].name == cause
    assert found.next is not None and found.next.action == action
    assert names in "\n".join(next_lines(found))


def test_the_interface_that_the_log_shows_is_named() -> None:
    found = of(
        "n2:1:2 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
        "n2:1:2 [0] misc/socket.cc:4 NCCL WARN socketStartConnect: Connect to 172.17.0.1<4> failed : No route to host\n"
    )
    assert found.next is not None
    assert "docker0" in found.next.settings["NCCL_SOCKET_IFNAME"]


def test_a_size_that_cannot_be_is_no_shortage() -> None:
    watchdog = (
        "[rank3]:[E ProcessGroupNCCL.cpp:563] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, "
        "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600211 milliseconds before timing out.\n"
    )
    found = of(watchdog + "[rank3]: RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.\n")
    assert "job.cuda_oom" not in [one.name for one in found.causes]


@pytest.mark.parametrize(
    "text",
    [
        'n1:1:2 [0] a.cc:1 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity\n',
        "[W socket.cpp:601] [c10d] The IPv6 network addresses of (localhost, 51595) cannot be retrieved (gai error: -2 - "
        "Name or service not known).\nstep 1 loss 2.0\nstep 2 loss 2.0\nstep 3 loss 2.0\nstep 4 loss 2.0\nstep 5 loss 1.9\n",
        "n1:1:2 [0] NCCL INFO include/net.h:24 -> 2\n"
        "n1:1:2 [0] NCCL INFO comm 0x7f rank 0 nranks 16 cudaDev 0 busId 160 - Init COMPLETE\n",
    ],
)
def test_words_that_frighten_and_mean_nothing(text: str) -> None:
    assert of(text).causes == ()


def test_no_place_and_no_none_in_a_headline() -> None:
    found = of("There are not enough slots available in the system to satisfy the 4\n")
    assert lines(found)[0] == "launcher.setup (85 %): mpirun was asked for more processes than it has slots"


def test_steps_without_a_number_are_named_by_their_line() -> None:
    found = of("".join(f"{{'loss': {2.0 if n < 8 else 'nan'}, 'grad_norm': 1.0, 'epoch': 0.1}}\n" for n in range(16)))
    assert found.causes[0].name == "job.nan"
    assert "None" not in "\n".join(lines(found))
