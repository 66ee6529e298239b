"""Files of /sys in one text, Slurm's logs and settings, syslogs, benchmarks, odd tables: rules on both sides."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.host import sysfs_text
from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.capture import judge, readers
from holdfast.node.capture.check_file import check_file

PORT = "/sys/bus/pci/devices/0000:1a:00.0/infiniband/mlx5_2/ports/1"
NET = "/sys/bus/pci/devices/0000:1a:00.0/net/ib2"


def _inventory(rate="400 Gb/sec (4X NDR)", state="4: ACTIVE", speed="400000", operstate="up"):
    files = {f"{PORT}/rate": rate, f"{PORT}/state": state, f"{PORT}/phys_state": "5: LinkUp"}
    files |= {f"{PORT}/link_layer": "InfiniBand", f"{NET}/speed": speed, f"{NET}/operstate": operstate}
    return json.dumps(files | {"/sys/class/net/eth9/operstate": "up"})


def _counters(name, value):
    return "".join(
        f"/sys/class/infiniband/mlx5_2/ports/1/hw_counters/{key}:{count}\n"
        for key, count in {"lifespan": 12, "np_cnp_sent": 900, name: value}.items()
    )


AER = "RxErr 0\nBadTLP {0}\nTOTAL_ERR_COR {0}\n"
FATAL = "Undefined 0\nDLP {0}\nTOTAL_ERR_{1} {0}\n"
EDAC = "/sys/devices/system/edac/mc/mc1/ue_count\n{}\n/sys/devices/system/edac/mc/mc1/ce_count\n4\n"
SYSLOG = "Mar  4 05:0{}:11 n7 systemd-networkd[811]: ib3: {} carrier\n"
CRON = "Mar  4 05:00:01 n7 CRON[44]: (root) CMD (true)\nMar  4 05:00:02 n7 sshd[9]: Server listening on :: port 22.\n"
CONTROLLER = "Mar  4 05:00:01 head slurmctld[7]: slurmctld: {}\n"
INVALID = "error: Setting node gpu7 state to INVAL with reason:gres/gpu count too low (7 < 8)"
PARTITION = "PartitionName=train AllowGroups=ALL\n   Nodes=g[1-8] State={} TotalCPUs=8\n"
SEFF = "Job ID: 77\nCluster: c\nState: {} (exit code 0)\nCores: 1\n"
BURN = "50.0%  proc'd: 17 (7000 Gflop/s) - 18 (7100 Gflop/s)   errors: 0 - {}   temps: 40 C - 41 C\nTested 2 GPUs:\n"
BURN += "\tGPU 0: OK\n\tGPU 1: {}\n"
BANDWIDTH = (
    "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n          0\n0     55.1\n"
)
ORIN = """|   0  Orin (nvgpu)                  N/A  | N/A              N/A |                  N/A |
| N/A   N/A  N/A               N/A /  N/A | Not Supported        |     N/A          N/A |
"""
LICENCE = "    vGPU Software Licensed Product\n        Product Name                      : vCS\n"
LICENCE += "        License Status                    : {}\n"
STATUS = (
    "nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Loaded: loaded (/usr/lib/x)\n     Active: {}\n"
)
EEH = "[    2.0] EEH: Frozen PE#7 on PHB#1 detected\n[    2.1] EEH: PE location: U78\n"
LSPCI = "00:00.0 Host bridge [0600]: A Corp. Bridge [8086:29c0]\n01:00.0 3D controller [0302]: B Corp. X [10de:20b2]\n"
LSPCI += "02:00.0 Bridge [0680]: B Corp. Y [10de:1af1]\n02:00.1 Bridge [0680]: B Corp. Y [10de:1af1]\n"
DECODE = "GPU  ENC_UTIL  DEC_UTIL  VCLOCK  DCLOCK\n  0       N/A     0.0 %  29 MHz  22 MHz\n"
SECTIONS = """</pci><fan_speed>30 %</fan_speed><performance_state>P0</performance_state>
<temperature><gpu_temp>41 C</gpu_temp></temperature><power_readings><power_draw>{}</power_draw>
"""
BROKEN = '<nvidia_smi_log><driver_version>580.1</driver_version><gpu id="00000000:1B:00.0"><pci>'
MARGIN = "What I see:\n\n"
MARGIN += "> NVRM: Xid (PCI:0000:1b:00): 79, pid=7, name=p, GPU has fallen off the bus.\n- it is gone\n- again\n"
DISCOVERY = "8 GPUs found (Active).\n| GPU ID | Device Information      |\n| 0      | Name: {}  |\n"
DISCOVERY += "|        | PCI Bus ID: 00000000:19:00.0  |\n"
JOBS = "JobID|JobName|State|ExitCode\nup|of|it\n"
CASES = {
    "an inventory": (_inventory(), "files of /sys", "pass", ""),
    "a port slower than its interface": (_inventory(rate="200 Gb/sec (4X HDR)"), "files of /sys", "degraded", "mlx5_2"),
    "a rate that is rounded": (_inventory(rate="392 Gb/sec (4X NDR)"), "files of /sys", "pass", ""),
    "an interface that is down": (_inventory(operstate="down"), "files of /sys", "degraded", "ib2"),
    "counters": (_counters("local_ack_timeout_err", 0), "files of /sys", "pass", ""),
    "timeouts": (_counters("local_ack_timeout_err", 3), "files of /sys", "degraded", "nic/mlx5_2/1"),
    "a counter of no fault": (_counters("rx_read_requests", 3), "files of /sys", "pass", ""),
    "edac": (EDAC.format(0), "files of /sys", "pass", ""),
    "edac, uncorrectable": (EDAC.format(2), "files of /sys", "fail", "2 uncorrectable"),
    "aer, corrected": (AER.format(5), "AER counters", "pass", ""),
    "aer, none": (FATAL.format(0, "FATAL"), "AER counters", "pass", ""),
    "aer, fatal": (FATAL.format(1, "FATAL"), "AER counters", "fail", "DLP 1"),
    "aer, not fatal": (FATAL.format(1, "NONFATAL"), "AER counters", "degraded", "DLP 1"),
    "syslog": (CRON, "service log", "pass", ""),
    "syslog, a link once": (CRON + SYSLOG.format(1, "Lost") + SYSLOG.format(2, "Gained"), "service log", "pass", ""),
    "syslog, a link twice": (
        CRON + (SYSLOG.format(1, "lost") + SYSLOG.format(2, "Gained")) * 2,
        "service log",
        "degraded",
        "ib3 lost its link 2 times",
    ),
    "syslog, a link for good": (CRON + SYSLOG.format(1, "Lost"), "service log", "fail", "nic/ib3"),
    "a service that is active": (STATUS.format("active (running)"), "service log", "pass", ""),
    "a service that failed": (STATUS.format("failed (Result: exit-code)"), "service log", "fail", "fabricmanager"),
    "slurmctld": (CONTROLLER.format("sched: job 7") * 2, "Slurm log", "pass", ""),
    "slurmctld, invalid": (CONTROLLER.format(INVALID), "Slurm log", "fail", "node/gpu7 INVAL: gres/gpu count too low"),
    "slurmctld, drained after": (
        CONTROLLER.format(INVALID) + CONTROLLER.format("drain_nodes: node gpu7 state set to DRAIN"),
        "Slurm log",
        "degraded",
        "DRAIN: gres/gpu count too low",
    ),
    "slurmctld, resumed": (
        CONTROLLER.format(INVALID) + CONTROLLER.format("update_node: node gpu7 state set to RESUME"),
        "Slurm log",
        "pass",
        "",
    ),
    "slurmctld, silent": (CONTROLLER.format("error: Nodes g[1-2] not responding"), "Slurm log", "fail", "node/g2"),
    "partition": (PARTITION.format("UP"), "Slurm partitions", "pass", ""),
    "partition, down": (PARTITION.format("DOWN"), "Slurm partitions", "degraded", "train is DOWN"),
    "rows of partitions": ("a*|c[1-2]|up|0/2/0/2\nb|c3|up|1/2/3/4\n", "Slurm partitions", "pass", ""),
    "rows of partitions, down": ("a*|c[1-2]|up|0/2/0/2\nb|c3|down|1/2/3/4\n", "Slurm partitions", "degraded", "b is"),
    "sections of XML": (SECTIONS.format("70.0 W"), "nvidia-smi -q -x", "pass", ""),
    "sections of XML, an error": (SECTIONS.format("[Unknown Error]"), "nvidia-smi -q -x", "fail", "gpu/0"),
    "XML that breaks off": (BROKEN + SECTIONS.format("70.0 W"), "nvidia-smi -q -x", "unknown", ""),
    "XML that breaks off, an error": (BROKEN + SECTIONS.format("[Unknown Error]"), "nvidia-smi -q -x", "fail", "gpu/0"),
    "lines of a log in the margin": (MARGIN, "kernel log", "fail", "Xid 79"),
    "seff": (SEFF.format("COMPLETED"), "seff", "pass", ""),
    "seff, node failed": (SEFF.format("NODE_FAIL"), "seff", "degraded", "job 77"),
    "sdiag": ("***\nsdiag output at Wed Apr 12 11:04:01 2017\nJobs failed: 0\n", "sdiag", "pass", ""),
    "a broken list of jobs": (JOBS, "Slurm jobs", "unknown", ""),
    "gpu-burn": (BURN.format(0, "OK"), "gpu-burn", "pass", ""),
    "gpu-burn, wrong": (BURN.format(3, "FAULTY"), "gpu-burn", "fail", "gpu/1"),
    "gpu-burn, died": (BURN.replace("41 C", "DIED!").format(0, "OK"), "gpu-burn", "fail", "stopped working"),
    "nvbandwidth": (BANDWIDTH, "nvbandwidth", "pass", ""),
    "nvbandwidth, error": (BANDWIDTH + "[CUDA_ERROR_ILLEGAL_ADDRESS] in memcpy\n", "nvbandwidth", "fail", "ILLEGAL"),
    "discovery": (DISCOVERY.format("NVIDIA H100 80GB HBM3"), "dcgmi discovery", "pass", ""),
    "discovery without names": (DISCOVERY.format("<<<NULL>>>"), "dcgmi discovery", "degraded", "gpu/0"),
    "a Jetson": (ORIN, "nvidia-smi", "pass", ""),
    "a licence": (LICENCE.format("Licensed (Expiry: 2027-1-1)"), "nvidia-smi -q", "pass", ""),
    "no licence": (LICENCE.format("Unlicensed (Restricted)"), "nvidia-smi -q", "degraded", "Unlicensed"),
    "a device cut off": (EEH, "kernel log", "fail", "Frozen PE#7"),
    "lspci -nn": (LSPCI, "lspci", "pass", ""),
    "columns of the decoder": (DECODE, "amd-smi monitor", "pass", ""),
    "ibstatus without a device": (
        "Fatal error:  device '*': sys files not found (/sys/class/infiniband/*/ports)\n",
        "ibstatus",
        "fail",
        "no RDMA device",
    ),
    "a port without a cable": (
        "SW   479 22 0x0002c9020040f161 4x QDR                                   A switch\n",
        "ibnetdiscover",
        "pass",
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_recognised_and_judged(case):
    text, tool, health, named = CASES[case]
    found = judge.judge_outputs(readers.read(text), "captured", Settings())
    assert tool in found.tools
    bad = [f"{row.subject} {row.reason}" for verdict in found.verdicts.values() for row in verdict.rows
           if row.health.value in ("fail", "degraded")]  # fmt: skip
    assert (found.health.value, named in " ".join(bad)) == (health, True), bad


def test_lspci_is_of_one_host(tmp_path):
    """Bus numbers before a colon are no host names."""
    file = tmp_path / "lspci"
    file.write_text(LSPCI)
    assert check_file(str(file), Settings()).node == "captured"


@pytest.mark.parametrize(
    "text, like",
    [
        ("SN,time,a\n0320,72916274,1,1,2019-08-01\n0321,72916274,1,1,2019-08-01\n", "not recognised: read are"),
        ("[root@n1 ~]# odd-tool\nnothing\n", "not recognised: read are"),
        ("[default0]: iteration   10/ 100 | lm loss: 3.1\n", "a job's log"),
        ("DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature (in C).\n", "list of fields"),
        ('{"a": 1}', "JSON of a tool"),
    ],
)
def test_what_is_not_read_says_what_it_looks_like(tmp_path, text, like):
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(Refusal, match=like):
        check_file(str(file), Settings())


def test_a_log_without_a_fault_names_what_it_mentions():
    log = "[18.3] nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 12028, Non-fatal, Link 61 egress non-posted PRIV error\n"
    found = judge.judge_outputs(readers.read(log), "captured", Settings())
    assert found.health.value == "pass"
    assert "it mentions sxid 12028 0000:85:00.0" in found.verdicts["file.report"].rows[0].reason


def test_a_path_does_not_leave_its_folder():
    assert sysfs_text.files('{"/sys/class/../../etc/passwd": "x", "/sys/class/a/b": "1"}') == {"class/a/b": "1"}


@given(st.text(alphabet=st.sampled_from(list('/sys clabudevi.:=>\n0123456789{}"')), max_size=200))
def test_any_text_is_survived(text):
    for read in (sysfs_text.files, sysfs_text.read_aer):
        read("/sys/class/" + text)
