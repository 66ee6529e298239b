"""A part that does not answer, and a fault in an unusual place, is never a silent pass."""

import json

import pytest

from holdfast.model.settings import Settings
from holdfast.node.capture import judge, readers

CELLS = ("On", "0", "31%", "44C", "P0", "212W", "700W", "513MiB", "97%")
ROW = """|   2  NVIDIA H100 80GB HBM3          {0}  |   00000000:5D:00.0 Off |                    {1} |
| {2}   {3}    {4}             {5} /  {6} |     {7} /  81559MiB |     {8}      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
HANG = "[9.0] amdgpu 0000:05:00.0: ring sdma1 timeout, signaled seq=7, emitted seq=9\n"
HANG += "[9.1] amdgpu 0000:05:00.0: GPU reset begin!. Source:  1\n"
PREEMPTION = "[9.0] amdgpu: The cp might be in an unrecoverable state due to an unsuccessful queues preemption\n"
DONE = "[12.0] amdgpu 0000:05:00.0: GPU reset succeeded, trying to resume\n"
MES = "[3.0] [drm:mes_v11_0_submit_pkt [amdgpu]] *ERROR* MES failed to response msg=3\n"
REQUESTS = "[5.0] infiniband mlx5_3: mlx5_poll_one:512:(pid 0): Requestor error cqe on cqn 0x417:\n" * 4
CONDITION = '  - lastHeartbeatTime: "2026-02-01T08:00:00Z"\n    reason: Seen\n    status: "{}"\n    type: GpuXidError\n'
REASONS = "$ sinfo -R REASON USER TIMESTAMP NODELIST\nKill task failed root 2026-01-25T15:12:23 n[07-08]\n"
ROCM = "3  5  0x74a1,  48427  42.0°C  131.0W  NPS1, SPX, 0  145Mhz  900Mhz  0%  auto  750.0W  0%  {}%\n"
NCCL = "[2026-06-23 15:45:07] job-1:420:437 [5] nvls.cc:379 NCCL WARN Failed to bind multicast memory: CUDA error 401\n"
LINKS = """GPU0     X      NV18    NODE    NV18    PXB     0-55    0       N/A
GPU1    NV18     X      NODE    NV18    NODE    0-55    0       N/A
GPU2    NODE    NODE     X      NODE    PXB     0-55    0       N/A
GPU3    NV18    NV18    NODE     X      NODE    0-55    0       N/A
"""
QUOTED = "line kern  :err   : nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {{0x000001c0}}\nname: a_regex\n"
DATA = "kern  :err   : 2025-01-25T10:34:54,85+00:00 nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x1c0}\n"
FABRIC = """    Fabric
        State                             : Completed
        Status                            : Success
        Health
            Summary                       : {}
            Bandwidth                     : Full
            Route Recovery in progress    : {}
            Incorrect Configuration       : None
"""
PORT = "\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n\t\t\tlink_layer:\t\tEthernet\n"
CASES = {
    "a hang that a reset ended": (HANG + DONE, "degraded", "pci/0000:05:00.0"),
    "a hang without a device, and the reset": (PREEMPTION + HANG + DONE, "degraded", "pci/0000:05:00.0"),
    "a hang without a device, and two resets": (
        PREEMPTION + HANG + DONE + (HANG + DONE).replace(":05:", ":06:"),
        "fail",
        "unrecoverable state",
    ),
    "a hang without a device and without an end": (PREEMPTION, "fail", "unrecoverable state"),
    "a scheduler that does not answer": (MES, "fail", "MES failed"),
    "work requests that failed": (REQUESTS, "degraded", "nic/mlx5_3"),
    "a condition without its head": (CONDITION.format("True"), "fail", "GpuXidError"),
    "a condition that is not met": (CONDITION.format("False"), "pass", ""),
    "reasons in the line of the command": (REASONS, "degraded", "node/n08"),
    "a matrix of links without its head": (LINKS, "fail", "gpu/2"),
    "an error that another program quotes": (QUOTED, "unknown", "quote errors"),
    "rows of a table without its head": (ROCM.format("12"), "pass", ""),
    "data of an SXid without its first line": (DATA, "pass", "", "it mentions sxid 12028 0000:84:00.0"),
    "a fabric that is not healthy": (FABRIC.format("Unhealthy", "False"), "degraded", "its health is Unhealthy"),
    "a fabric of less capacity": (FABRIC.format("Limited Capacity", "False"), "degraded", "is Limited Capacity"),
    "a fabric that recovers": (FABRIC.format("Healthy", "True"), "degraded", "route recovery in progress is True"),
    "a healthy fabric": (FABRIC.format("Healthy", "False"), "pass", ""),
    "a fabric whose health is not measured": (FABRIC.format("N/A", "N/A"), "pass", ""),
    "the end of a test of collectives": (
        "# Out of bounds values : 12 FAILED\n# Avg bus bandwidth    : 5.1\n",
        "fail",
        "12 values out of bounds",
    ),
    "an Ethernet port that is down, and nothing else": (PORT, "unknown", "nothing says whether it is in use"),
    "a lost GPU without the line of its address": (
        "NVRM: fallen off the bus and is not responding to commands.\n",
        "fail",
        "a part that the text does not name",
    ),
    "the unified event log of OpenBMC": (
        "3  slot3  2022-09-20 01:52:58  ipmid  SEL Entry: FRU: 3, Record: Facebook Unified SEL (0xFB), GeneralInfo: "
        "x86/PCIeErr(0x20), Bus 7F/Dev 03/Fun 00, ErrID2: 0x21(Surprise Down Error), ErrID1: 0x00(Receiver Error)\n",
        "fail",
        "Surprise Down Error",
    ),
    "counters without their head": (
        '$ ethtool -S eth2 | egrep "discard|out_of"\n     out_of_buffer:           0\n     rx_discards_phy:   0\n',
        "pass",
        "",
    ),
    "counters without their head, and bad ones": (
        '$ ethtool -S eth2 | egrep "crc"\n     rx_bytes: 99\n     rx_crc_errors_phy:   4093\n     out_of_buffer: 0\n',
        "degraded",
        "nic/eth2/1",
    ),
    "a GPU whose firmware did not start": (
        "[ 20.5] NVRM: kgspWaitForGfwBootOk_TU102: failed to wait for GFW boot complete: 0x65 VBIOS version 94.02\n",
        "fail",
        "failed to wait for GFW boot",
    ),
    "a daemon of Slurm that ended": (
        "slurmd: error: cannot find cgroup plugin for cgroup/v2\nslurmd: error: slurmd initialization failed\n",
        "fail",
        "slurmd ended",
    ),
    "one that ended with a fatal error": (
        "[2026-01-02T03:04:05] fatal: no gres.conf\nslurmd slurmd\n",
        "fail",
        "gres.conf",
    ),
    "one that was started again": (
        "slurmd: fatal: no gres.conf\nslurmd: slurmd version 24.05.1 started\n",
        "pass",
        "",
    ),
    "a driver that its script could not start": (
        'Sep 18 03:19:01 n1 nvidia-fabricmanager-start.sh[47]: "/usr/bin/nv-fabricmanager -c x" failed! Exit code: 1\n',
        "fail",
        "nvidia-fabricmanager.service ended with 1",
    ),
}


def judged(text):
    outputs = readers.read(text)
    assert outputs, "not recognised"
    return judge.judge_outputs(outputs, "n1", Settings(node="n1"))


def wrong(found):
    rows = [row for verdict in found.verdicts.values() for row in verdict.rows]
    return [f"{row.subject} {row.reason}" for row in rows if row.health.value not in ("pass", "not_applicable")]


@pytest.mark.parametrize("case", CASES)
def test_it_is_reported(case):
    text, health, message, *mentioned = CASES[case]
    found = judged(text)
    assert found.health.value == health
    assert message in " ".join(wrong(found))
    assert "".join(mentioned) in found.verdicts[judge.REPORT].rows[0].reason


@pytest.mark.parametrize("cell", range(len(CELLS)))
def test_a_cell_that_the_driver_cannot_fill_is_not_well(cell):
    """Whichever it is: nvidia-smi prints ERR! where a call of the driver failed."""
    cells = [*CELLS[:cell], "ERR!", *CELLS[cell + 1 :]]
    found = judged(ROW.format(*cells))
    assert found.health.value in ("fail", "unknown")
    assert any("gpu/2" in row for row in wrong(found))
    assert judged(ROW.format(*CELLS)).health.value == "pass"


@pytest.mark.parametrize("state", ["Active", "Polling"])
@pytest.mark.parametrize("first", range(1, 4))
@pytest.mark.parametrize("last", range(1, 4))
def test_a_piece_of_a_document_is_read_for_what_it_has_and_never_passes(state, first, last):
    """A piece that begins at any line and ends before the end: what it shows is judged, what it lacks is unknown."""
    info = {"FEC": "No FEC", "State": state, "Width": "4x"}
    whole = json.dumps({"result": {"output": {"Operational Info": info, "Rest": {"a": 1}}}}, indent=1)
    piece = "\n".join(whole.splitlines()[first : len(whole.splitlines()) - last])
    assert judged(piece).health.value == ("unknown" if state == "Active" else "fail")


def test_a_sentence_is_no_list_of_jobs():
    """A word of it may be the name of a state."""
    assert readers.read(NCCL) == []
    assert [one.tool for one in readers.read("4711 train FAILED 1:0\n4712 train COMPLETED 0:0\n")] == ["Slurm jobs"]
    assert [one.tool for one in readers.read("4711_3 train FAILED 1:0\n")] == ["Slurm jobs"]
