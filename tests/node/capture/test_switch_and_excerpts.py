"""Switch trays of an NVLink rack, excerpts without a head, and kernel logs that a mail program wrapped."""

import json

import pytest

from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.capture import judge, readers
from holdfast.node.capture.check_file import UNRECOGNISED, check_file
from holdfast.node.capture.plain_text import unwrapped

HEALTH = """admin@tray7:~$ nv show system health
            operational  applied
----------  -----------  -------
status      {status}
status-led  {led}

Health issues
================
{issues}
"""
ISSUES = """Component       Status information
--------------  ------------------------------
{part:<16}{words}
"""
APPS = """$ nv show cluster apps
Name            ID           Status  Reason
--------------  -----------  ------  ---------------
nmx-controller  nmx-c-nvos   {status:<8}{reason}
nmx-telemetry   nmx-t-nvos   ok
"""
AER = """[  12.000001] pcieport 0000:00:05.0: AER: Uncorrected (Fatal) error
received: 0000:00:05.0
[  12.000002] pcieport 0000:00:05.0: PCIe Bus Error:
severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)
"""
CONDITION = "  {kind:<22}{status:<9}Mon, 02 Nov 2026 10:00:00 +0000   Mon, 02 Nov 2026 09:00:00 +0000   Why   words\n"
CONDITIONS = (
    "  Type                  Status   LastHeartbeatTime                 LastTransitionTime   Reason   Message\n"
)
YAML = """apiVersion: v1
kind: Node
metadata:
  name: n7
status:
  conditions:
  - lastHeartbeatTime: "2026-11-02T10:00:00Z"
    reason: Why
    status: "{status}"
    type: GpuXidProblem
"""
ROWS = """    Remapped Rows
        Correctable Error                 : 0
        Pending                           : {pending}
"""


def nmx(state):
    return json.dumps([{"uuid": "GPU-1", "location": {"slotId": 3, "gpuId": 1}, "health": f"NMX_GPU_HEALTH_{state}"}])


def condition(status):
    return CONDITIONS + CONDITION.format(kind="KernelDeadlock", status=status)


CASES = {
    "healthy tray": (HEALTH.format(status="OK", led="green", issues="No Data"), "pass", ""),
    "leak": (
        HEALTH.format(status="Not OK", led="amber", issues=ISSUES.format(part="LEAKAGE-1", words="leak detected")),
        "fail",
        "LEAKAGE-1",
    ),
    "a fan": (
        HEALTH.format(status="Not OK", led="amber", issues=ISSUES.format(part="FAN2/1", words="speed is low")),
        "degraded",
        "FAN2/1",
    ),
    "apps": (APPS.format(status="ok", reason=""), "pass", ""),
    "app down": (APPS.format(status="not ok", reason="no license"), "fail", "nmx-controller"),
    "json": (json.dumps({"status": "OK", "status-led": "green", "issues": {}}), "pass", ""),
    "json, issue": (
        json.dumps({"status": "Not OK", "status-led": "red", "issues": {"PSU1": {"issue": "failed"}}}),
        "fail",
        "PSU1",
    ),
    "nmx": (nmx("HEALTHY"), "pass", ""),
    "nmx, slow": (nmx("DEGRADED_BANDWIDTH"), "degraded", "slotId 3"),
    "nmx, lost": (nmx("NO_NVLINK"), "fail", "NO_NVLINK"),
    "event": (json.dumps([{"severity": "CRITICAL", "resource": "ASIC1", "text": "stopped"}]), "fail", "ASIC1"),
    "event, known": (json.dumps([{"severity": "INFORMATIONAL", "resource": "sw1p1", "text": "up"}]), "pass", ""),
    "fm journal": ("nv-fabricmanager[7]: failed to configure a switch, aborting\n", "fail", "aborting"),
    "fm journal, calm": ("nv-fabricmanager[7]: connected to 4 switches\n", "pass", ""),
    "fm without thread": ("[Nov 02 2026 10:00:00] [ERROR] no room for a team\n", "degraded", "no room"),
    "aer, wrapped": (AER, "fail", "00:05.0"),
    "conditions": (condition("False"), "pass", ""),
    "conditions, bad": (condition("True"), "fail", "KernelDeadlock"),
    "yaml": (YAML.format(status="False"), "pass", ""),
    "yaml, bad": (YAML.format(status="True"), "fail", "GpuXidProblem"),
    "rows waiting": (ROWS.format(pending="Yes"), "degraded", "gpu/0"),
    "amd excerpt": ("      TOTAL_UNCORRECTABLE_COUNT: 0\n", "pass", ""),
    "amd excerpt, bad": ("      TOTAL_UNCORRECTABLE_COUNT: 3\n", "fail", "gpu/0"),
    "nvlink 5": ("GPU 0: NVIDIA GB300\n\t Link 0: Rx Errors: 0\n\t Link 0: Tx packets: 9\n", "pass", ""),
    "nvlink 5, bad": ("GPU 1: NVIDIA GB300\n\t Link 4: Local link integrity Errors: 5\n", "degraded", "gpu/1"),
    "nvlink 5, lost": ("GPU 1: NVIDIA GB300\n\t Link 4: Link recovery failed events: 1\n", "fail", "gpu/1"),
    "nvlink 5, FEC": ("GPU 1: NVIDIA GB300\n\t Link 4: FEC Errors - 0: 77777\n", "pass", ""),
    "module words": ("Identifier : 0x11\nVendor PN : X\nWarning flags: Rx power low\n", "degraded", "Rx power low"),
    "machine check": ("[1.0] [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: be00000000000001\n", "fail", "error"),
    "one corrected": ("[1.0] mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: 8c00000000000001\n", "pass", ""),
    "deferred": ("[1.0] [Hardware Error]: Deferred error, no action required.\n", "degraded", "lost"),
    "amd status": ("[1.0] [Hardware Error]: CPU:1 (19:1:1) MC18_STATUS[-|UE|MiscV|AddrV|-]: 0xb0\n", "fail", "MC18"),
    "bnxt": ("[1.0] bnxt_en 0000:41:00.0: QPLIB: cmdq[0x1]=0x9 status 0x3\n", "degraded", "QPLIB"),
    "ena": ("[1.0] ena 0000:00:05.0 ens5: Keep alive watchdog timeout.\n", "fail", "watchdog"),
    "no error of amdgpu": ("[1.0] amdgpu 0000:05:00.0: amdgpu: no uncorrectable hardware errors\n", "pass", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_is_read_as_what_it_says(case):
    text, health, named = CASES[case]
    outputs = readers.read(text)
    assert outputs, "not recognised"
    judged = judge.judge_outputs(outputs, "n1", Settings(node="n1"))
    assert judged.health.value == health
    bad = [f"{row.subject} {row.reason}" for verdict in judged.verdicts.values() for row in verdict.rows
           if row.health.value == health]  # fmt: skip
    assert named in " ".join(bad)


@pytest.mark.parametrize(
    "text",
    [
        "bad DIMM in slot 3 root 2026-11-02T10:00:00 n[07-08]\n",
        "REASON                     NODELIST\nbad DIMM in slot 3         n[07-08]\n",
    ],
)
def test_reasons_of_slurm_without_their_usual_head(text):
    found = readers.read(text)[0]
    assert [one.place for one in found.complaints] == ["node/n07", "node/n08"]
    assert "bad DIMM" in found.complaints[0].text


def test_words_of_a_failed_tool_are_no_node_of_slurm():
    assert readers.read("Error: Invalid interface ib7\n") == []


def test_only_a_log_with_times_is_joined():
    assert unwrapped("one\ntwo\n") == "one\ntwo\n"
    assert unwrapped("[1.0] a\n[2.0] b\n") == "[1.0] a\n[2.0] b\n"
    assert unwrapped("[1.0] a\nb\n[2.0] c\n") == "[1.0] a b\n[2.0] c\n"


@pytest.mark.parametrize(
    "begin", ["[ 9.25] ", "[Mon Oct  3 13:52:42 2022] ", "Sep 18 03:19:01 n1 nv[4]: ", "  Mar 21 21:42:01 kernel: "]
)
def test_a_terminal_cuts_lines_within_words(begin):
    text = "".join(f"{begin}{' '.join(f'word{n}{k}' for k in range(14))}\n" for n in range(3))
    cut = "".join(f"{line[at : at + 72]}\n" for line in text.splitlines() for at in range(0, len(line), 72))
    assert cut != text
    assert unwrapped(cut).split() == text.split()


def test_what_no_reader_recognises_is_reported(tmp_path):
    (tmp_path / "smart.txt").write_text("Smart Log for NVME device:nvme0\ncritical_warning : 0x0\nmedia_errors : 0\n")
    (tmp_path / "notes.txt").write_text("call the vendor on Monday\n")
    assert check_file(str(tmp_path), Settings(node="n1")).not_read == ["notes.txt"]
    session = tmp_path / "smart.txt"
    session.write_text(
        "root@n1:~# nvme smart-log /dev/nvme0\nSmart Log for NVME device:nvme0\ncritical_warning : 0x0\n"
        "root@n1:~# uptime\n 10:00 up 3 days\n"
    )
    assert check_file(str(session), Settings(node="n1")).not_read == ["root@n1:~# uptime"]


def test_a_file_that_is_not_recognised_says_which_formats_there_are(tmp_path):
    (tmp_path / "x").write_text("call the vendor on Monday\n")
    with pytest.raises(Refusal, match=r"not recognised: .*nvidia-smi.*Slurm") as refused:
        check_file(str(tmp_path / "x"), Settings(node="n1"))
    assert refused.value.exit_code == UNRECOGNISED
