"""Excerpts as people paste them into a thread: words around them, heads cut off, notes beside them."""

import pytest

from holdfast.model.settings import Settings
from holdfast.node.capture import judge, readers
from holdfast.node.capture.plain_text import blocks

BOX = """
+------------------------------------------------------------------------------+
| AMD-SMI 26.0.2      amdgpu version: 6.14.14 ROCm version: 7.0.1               |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:05:00.0    AMD Instinct MI300X | 0 %      41 °C   0           137/750 W |
|   0       0       2        SPX/NPS1 | 0 %        N/A         285/196288 MB |
| 0000:15:00.0    AMD Instinct MI300X | 0 %      39 °C   {errors}           135/750 W |
|   1       1       3        SPX/NPS1 | 0 %        N/A         285/196288 MB |
+-------------------------------------+----------------------------------------+
"""
PM = """-------------------------------------------------------
Port=7 Lid=0x0011 GUID=0xe41d2d0300aabb01 Device=54000 Port Name=MF0;leaf1:MQM9700/U1/P7
-------------------------------------------------------
link_down_counter={downs}
symbol_error_counter_extended=0x{symbols}
port_xmit_data=0x00ff
Port=8 Lid=0x0011 GUID=0xe41d2d0300aabb01 Device=54000 Port Name=MF0;leaf1:MQM9700/U1/P8
port_rcv_errors=0
"""
UNHEALTHY = """# NodeGUID, PortNum, NodeDesc, PeerNodeGUID, PeerPortNum, PeerNodeDesc, {BadCond1, ...}, TimeStamp
0x0002c903000000a1, 5, "leaf-7", 0x0002c903000000b2, 19, "spine-2", {FLAPPING}, Mon Mar  2 01:13:40 2026
"""
LINK = """    LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
    LnkSta: Speed {speed}GT/s{slow}, Width x{width}{narrow}
"""
HEALTH = """| Overall Health            | Failure                                       |
| -> 3                      | Failure                                       |
|    -> NVLINK system       | Failure                                       |
|                           | GPU 3's NvLink link 4 is currently down        |
"""
COUNTS = """Only {count} of the GPUs are there:

```
Capacity:
  cpu:              128
  nvidia.com/gpu:   8
Allocatable:
  cpu:              128
  nvidia.com/gpu:   {count}      <--- look
```
"""
NO_HEADER = """nvidia-smi --query-gpu=index,gpu_recovery_action --format=csv,noheader
0, None
1, {action}   <= this one

what can I do?
"""
DMON = """#Entity    XIDER
ID
GPU 0      0
GPU 1      {xid}
"""
QUEUES = """NIC statistics:
     rx_crc_errors: 0
     rx_in_range_errors: {errors}
     rxq0: rx_pkts: 1000000
     rxq1: rx_pkts: 1000000
     rxq1: rx_drops_no_frags: {drops}
"""
NETDEV = """mlx5_0 port 1 ==> ibp26s0 (Down)
mlx5_1 port 1 ==> enp27s0f0np0 (Up)
"""
HOST_ENGINE = (
    "ERROR [1514002:1514004] [[Health]] Detected a {kind} in health system Thermal: 'clocks event due to a thermal "
    "violation in GPU 2. Verify the cooling."
)
NVLINK = """GPU 3: Tesla V100-SXM2-32GB (UUID: ...)
         Link 0: 25.781 GB/s
         Link 1: {state}
"""
FABRIC = """One node still shows this in its log
```
    Fabric
        State                             : Completed
        Status                            : {status}
```
"""
CSV = """name, temperature.gpu, power.draw [W], fan.speed [%], clocks.sm [MHz], power.default_limit [W]
GeForce RTX 2080 Ti, 56, 228, 56, 1560, [Unknown Error]
"""
SUMMARY = """|===============================+======================+======================|
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:1A:00.0 Off |                    {errors} |
| N/A   33C    P0              71W / 700W |      4MiB / 81559MiB |      0%      Default |
"""
ERRORS_CSV = """index, name, ecc.errors.uncorrected.volatile.total
0, NVIDIA H100 80GB HBM3, {errors}
"""
CONDITION = """kubectl describe node gke-p100-kd6j | grep Xid
  XidCriticalError     {state}    Mon, 23 Jun 2025 18:45:43 +0000   Mon, 23 Jun 2025 18:44:57 +0000   {{"31":true}}    x
"""
SINFO = """By default ``sinfo`` lists partitions.

::

    % sinfo
    PARTITION   AVAIL  TIMELIMIT  NODES  STATE NODELIST
    skylake*       up 7-00:00:00      3  {state} john[31,98,103]
    (...)

In this example there are three.
"""
PCI = """    GPU Operation Mode
        Current                           : N/A
    PCI
        Bus                               : 0xB1
        GPU Link Info
            Link Width
                Max                       : 16x
                Current                   : {width}x
"""
QUERY, H100 = "nvidia-smi --query-gpu", "NVIDIA H100 80GB HBM3"
LANES = """index, name, pstate, pcie.link.width.current, pcie.link.width.max
0, {model}, {state}, 8, 16
"""
LINKS = """index, name, pstate, pcie.link.gen.current, pcie.link.gen.max, utilization.gpu [%]
0, NVIDIA H100 80GB HBM3, {state}, 1, 5, {busy} %
"""
B200 = """GPU 0: NVIDIA B200 (UUID: GPU-19a556ea-38df-750d-fcf7-3da28757ba5b)
         Link 0: 50 GB/s
{more}"""
MORE = "".join(f"         Link {number}: 50 GB/s\n" for number in range(1, 18))
ROWS = "  200704   50176   float   max   -1   125.3   1.60   3.00   0   124.6   1.61   3.02   0\n" * 3
OLD_WATCHDOG = "[   43.9] NETDEV WATCHDOG: eth1 (mlx4_core): transmit queue 0 timed out\n"
NEW_WATCHDOG = "[ 1356.2] bnxt_en 0000:22:04.0 eth4: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5010 ms\n"
NO_GPU = "WARNING: No AMD GPUs specified\n=== ROCm System Management Interface ===\n"
DIFF = "+dmesg\n+[  12.5] NVRM: Xid (PCI:0000:cb:00): 79, GPU has fallen off the bus.\n+[  13.5] done\n"
EMPHASIS = "_[ 1358.9] amdgpu 0000:83:00.0: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!_\n"
INLINE = "1. `mlx5_core 0000:4b:00.0 eth2: TX timeout detected` was first\n2. then nothing moved\n\nwhy?\n"
REASONS = "as `sinfo -R` shows:\n\n```\nKill task failed root 2026-01-25T15:12:23 n17\n```\n"
EXPORTER = 'DCGM_FI_DEV_XID_ERRORS_ACTIVE{gpu="0",xid="79"} 1\n'
CASES = {
    "amd-smi alone": (BOX.format(errors=0), "amd-smi alone", "pass", ""),
    "amd-smi alone, errors": (BOX.format(errors=2), "amd-smi alone", "fail", "gpu/1"),
    "pm": (PM.format(downs=0, symbols="0000"), "ibdiagnet2.pm", "pass", ""),
    "pm, symbols": (PM.format(downs=0, symbols="00ff"), "ibdiagnet2.pm", "degraded", "symbol_error_counter 255"),
    "pm, link down": (PM.format(downs=3, symbols="0000"), "ibdiagnet2.pm", "degraded", "link_down_counter 3"),
    "unhealthy ports": (UNHEALTHY, "unhealthy ports", "fail", "switch/leaf-7/port/5"),
    "link": (LINK.format(speed=32, slow="", width=16, narrow=""), "lspci excerpt", "pass", ""),
    "link, narrow": (LINK.format(speed=32, slow="", width=1, narrow=" (x)"), "lspci excerpt", "degraded", "x1 of x16"),
    "link, slow": (LINK.format(speed=2.5, slow="", width=16, narrow=""), "lspci excerpt", "unknown", "2.5 GT/s"),
    "health without its head": (HEALTH, "dcgmi health -c", "fail", "gpu/3"),
    "gpus that are not allocatable": (COUNTS.format(count=7), "kubectl nodes", "degraded", "7 of 8"),
    "all are": (COUNTS.format(count=8), "kubectl nodes", "pass", ""),
    "no header": (NO_HEADER.format(action="None"), "nvidia-smi --query-gpu", "pass", ""),
    "no header, reset": (NO_HEADER.format(action="Reset"), "nvidia-smi --query-gpu", "fail", "gpu/1"),
    "last Xid": (DMON.format(xid=0), "dcgmi dmon", "pass", ""),
    "last Xid, of a program": (DMON.format(xid=13), "dcgmi dmon", "pass", ""),
    "last Xid, grave": (DMON.format(xid=79), "dcgmi dmon", "fail", "gpu/1"),
    "queues": (QUEUES.format(errors=0, drops=100), "ethtool -S", "pass", ""),
    "queues, drops": (QUEUES.format(errors=0, drops=20000), "ethtool -S", "degraded", "rx_drops_no_frags rxq1 20000"),
    "queues, errors": (QUEUES.format(errors=1, drops=0), "ethtool -S", "degraded", "rx_in_range_errors 1"),
    "interface without an address": (NETDEV, "ibdev2netdev", "unknown", "see ibstat"),
    "host engine, warning": (HOST_ENGINE.format(kind="WARNING"), "nv-hostengine log", "degraded", "gpu/2"),
    "host engine, failure": (HOST_ENGINE.format(kind="FAILURE"), "nv-hostengine log", "fail", "gpu/2"),
    "one GPU, all links": (NVLINK.format(state="25.781 GB/s"), "nvidia-smi nvlink", "pass", ""),
    "one GPU, a link inactive": (NVLINK.format(state="<inactive>"), "nvidia-smi nvlink", "degraded", "inactive (1)"),
    "fabric joined": (FABRIC.format(status="Success"), "nvidia-smi -q", "pass", ""),
    "fabric refused": (FABRIC.format(status="Insufficient Resources"), "nvidia-smi -q", "fail", "gpu/0"),
    "one call fails": (CSV, "nvidia-smi --query-gpu", "fail", "some calls"),
    "no AMD GPU": (NO_GPU, "rocm-smi", "fail", "no AMD GPU"),
    "rocm-smi cannot read": ("ERROR: GPU[1] : Unable to get GPU use.\n", "rocm-smi", "degraded", "gpu/1"),
    "exporter's newer name": (EXPORTER, "dcgm-exporter", "fail", "Xid is 79"),
    "a diff": (DIFF, "kernel log", "fail", "cb:00"),
    "emphasis": (EMPHASIS, "kernel log", "fail", "83:00"),
    "quoted in a line": (INLINE, "kernel log", "degraded", "TX timeout"),
    "table, no errors": (SUMMARY.format(errors=0), "nvidia-smi", "pass", ""),
    "table, errors": (SUMMARY.format(errors=2), "nvidia-smi", "fail", "2 uncorrected memory errors"),
    "table, no ECC": (SUMMARY.format(errors="N/A"), "nvidia-smi", "pass", ""),
    "csv, no errors": (ERRORS_CSV.format(errors=0), "nvidia-smi --query-gpu", "pass", ""),
    "csv, errors": (ERRORS_CSV.format(errors=1), "nvidia-smi --query-gpu", "fail", "1 uncorrected memory errors"),
    "one condition": (CONDITION.format(state="True"), "kubectl nodes", "fail", "node/gke-p100-kd6j"),
    "one condition, good": (CONDITION.format(state="False"), "kubectl nodes", "pass", ""),
    "sinfo in a text": (SINFO.format(state="alloc"), "Slurm nodes", "pass", ""),
    "sinfo in a text, down": (SINFO.format(state="down*"), "Slurm nodes", "fail", "node/john98"),
    "a narrow link of one GPU": (LANES.format(model=H100, state="P0"), QUERY, "degraded", "8 of 16 lanes"),
    "a narrow link at rest": (LANES.format(model=H100, state="P8"), QUERY, "unknown", "under load"),
    "a narrow link of a desktop": (LANES.format(model="GeForce RTX 2080", state="P0"), QUERY, "pass", ""),
    "a narrow link without a name": (PCI.format(width=8), "nvidia-smi -q", "unknown", "under load"),
    "slow and busy": (LINKS.format(state="P0", busy=40), QUERY, "degraded", "generation 1 of 5"),
    "slow and idle": (LINKS.format(state="P0", busy=0), QUERY, "pass", ""),
    "slow and at rest": (LINKS.format(state="P8", busy=40), QUERY, "pass", ""),
    "a wide link of one GPU": (PCI.format(width=16), "nvidia-smi -q", "pass", ""),
    "infoROM": ("WARNING: infoROM is corrupted at gpu 0000:00:05.0\n", "nvidia-smi", "degraded", "0000:00:05.0"),
    "watchdog before 6.9": (OLD_WATCHDOG, "kernel log", "degraded", "eth1"),
    "watchdog since": (NEW_WATCHDOG, "kernel log", "degraded", "22:04.0"),
    "links that break off": (
        B200.format(more="         Link 1: 50 GB\n"),
        "nvidia-smi nvlink",
        "unknown",
        "breaks off after 2",
    ),
    "links, all": (B200.format(more=MORE), "nvidia-smi nvlink", "pass", ""),
    "rows of a test": (ROWS, "nccl-tests", "unknown", "breaks off"),
    "reasons after words": (REASONS, "Slurm nodes", "degraded", "node/n17"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_excerpt_is_judged(case):
    text, tool, health, message = CASES[case]
    outputs = readers.read(text)
    assert [one.tool for one in outputs] == [tool]
    found = judge.judge_outputs(outputs, "captured", Settings())
    rows = [f"{row.subject} {row.reason}" for verdict in found.verdicts.values() for row in verdict.rows]
    assert (found.health.value, any(message in row for row in rows)) == (health, True), rows


def test_of_two_blocks_of_a_tool_the_one_that_reports_counts():
    table = "NodeName=n1 State=IDLE"
    text = f"first\n\n```\n{table}\n```\n\nthen\n\n```\n{table.replace('IDLE', 'DOWN')}\n```\n"
    assert [one.place for output in readers.read(text) for one in output.complaints] == ["node/n1"]


def test_blocks_are_fences_or_paragraphs():
    assert blocks("words\n```\none\n```\nwords\n~~~ text\ntwo\n~~~\n") == ["one\n", "two\n"]
    assert blocks("one\n\n  \ntwo\n") == ["one", "two\n"]
    assert blocks("one\ntwo\n") == []
    assert blocks("see `a quoted line of twenty letters`") == ["a quoted line of twenty letters"]
