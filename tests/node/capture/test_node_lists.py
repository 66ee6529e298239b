"""Readers of what kubectl, rasdaemon, ibportstate, OpenBMC and a listing of counters print."""

import json
from pathlib import Path

import pytest

from holdfast.model.settings import Settings
from holdfast.node.capture.check_file import check_file

DESCRIBED = """Name:               n7
Roles:              <none>
Taints:             <none>
Unschedulable:      {closed}
Conditions:
  Type             Status  LastHeartbeatTime   LastTransitionTime   Reason   Message
  ----             ------  -----------------   ------------------   ------   -------
  DiskPressure     {disk}   Mon, 01 Jan 2026   Mon, 01 Jan 2026   KubeletDisk   disk
  XidError         {xid}   Mon, 01 Jan 2026   Mon, 01 Jan 2026   Xid   an Xid
  Ready            {ready}   Mon, 01 Jan 2026   Mon, 01 Jan 2026   KubeletReady   said
Capacity:
  cpu:             8
  nvidia.com/gpu:  8
Allocatable:
  cpu:             8
  nvidia.com/gpu:  {gpus}
"""
GOOD = {"closed": "false", "disk": "False", "xid": "False", "ready": "True", "gpus": "8"}
PORT = """# Port info: Lid 2 port 36
LinkState:.......................{state}
PhysLinkState:...................{physical}
LinkWidthEnabled:................1X or 4X
LinkWidthActive:.................{width}
LinkSpeedEnabled:................2.5 Gbps or 5.0 Gbps or 10.0 Gbps
LinkSpeedActive:.................10.0 Gbps
"""
COUNTS = "Label\tCE\tUE\nmc#0csrow#3channel#0\t{corrected}\t{uncorrected}\nmc#0csrow#2channel#1\t0\t0\n"
LISTED = "rx_drops :0\nlifespan :12\ncompleted_cmds :105\nalloc_pd_err :0\nunresponsive_remote_events :{events}\n"
SEL = (
    "1  server  2026-06-08 00:37:55  ipmid  SEL Entry: FRU: 1, Record: Standard (0x02), Time: 2026-06-08 00:37:55, "
    "Sensor: VR_FAULT (0xB1), Event Data: (001A41) PVCCIN_CPU0 status: 0x1a41 {state}\n"
)
IBSTAT = "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n"
C2C = "GPU 0: NVIDIA GH200 480GB (UUID: GPU-1)\n\t C2C Link 0: 44.712 GB/s\n\t C2C Link 1: {state}\n"
OMNISTAT = 'rocm_ras_umc_uncorrectable_count{{card="3"}} {errors}.0\n'


def node(ready: str, closed: bool = False, gpus: str = "8") -> str:
    item = {
        "kind": "Node",
        "metadata": {"name": "n7"},
        "spec": {"unschedulable": closed},
        "status": {
            "conditions": [{"type": "Ready", "status": ready, "reason": "Kubelet", "message": "said"}],
            "capacity": {"nvidia.com/gpu": "8", "memory": "1Ki"},
            "allocatable": {"nvidia.com/gpu": gpus, "memory": "1Ki"},
        },
    }
    return json.dumps({"kind": "List", "items": [item]})


LIST = "NAME  STATUS  ROLES  AGE  VERSION\nn7  {state}  <none>  17h  v1.33.1\nn8  Ready  <none>  17h  v1.33.1\n"
CASES = {
    "get": (LIST.format(state="Ready"), "pass", ""),
    "get, not ready": (LIST.format(state="NotReady"), "fail", "node/n7"),
    "get, cordoned": (LIST.format(state="Ready,SchedulingDisabled"), "degraded", "node/n7"),
    "describe": (DESCRIBED.format(**GOOD), "pass", ""),
    "describe, not ready": (DESCRIBED.format(**GOOD | {"ready": "Unknown"}), "fail", "Ready is Unknown"),
    "describe, pressure": (DESCRIBED.format(**GOOD | {"disk": "True"}), "degraded", "DiskPressure"),
    "describe, Xid": (DESCRIBED.format(**GOOD | {"xid": "True"}), "fail", "XidError"),
    "describe, cordoned": (DESCRIBED.format(**GOOD | {"closed": "true"}), "degraded", "cordoned"),
    "describe, a GPU is held": (DESCRIBED.format(**GOOD | {"gpus": "7"}), "degraded", "7 of 8"),
    "describe, cut": (DESCRIBED.format(**GOOD).partition("Conditions:")[0], "unknown", "breaks off"),
    "json": (node("True"), "pass", ""),
    "json, not ready": (node("False"), "fail", "node/n7"),
    "json, cordoned": (node("True", closed=True), "degraded", "cordoned"),
    "json, a GPU is held": (node("True", gpus="7"), "degraded", "7 of 8"),
    "port": (PORT.format(state="Active", physical="LinkUp", width="4X"), "pass", ""),
    "port, narrow": (PORT.format(state="Active", physical="LinkUp", width="1X"), "degraded", "lid2/port/36"),
    "port, down": (PORT.format(state="Down", physical="Polling", width="4X"), "fail", "lid2/port/36"),
    "port, disabled": (PORT.format(state="Down", physical="Disabled", width="4X"), "degraded", "lid2/port/36"),
    "memory": (COUNTS.format(corrected=0, uncorrected=0), "pass", ""),
    "memory, few": (COUNTS.format(corrected=100, uncorrected=0), "pass", ""),
    "memory, many": (COUNTS.format(corrected=101, uncorrected=0), "degraded", "csrow#3"),
    "memory, uncorrected": (COUNTS.format(corrected=0, uncorrected=1), "fail", "csrow#3"),
    "memory events": ("No Memory errors.\n\nMCE events:\n1 x error: Uncorrected error, CPU 2\n", "fail", "Uncorrected"),
    "counters": (LISTED.format(events=0), "pass", ""),
    "counters, given up": (LISTED.format(events=2), "degraded", "unresponsive"),
    "openbmc": (SEL.format(state="Assertion"), "degraded", "VR_FAULT"),
    "openbmc, over": (SEL.format(state="Assertion") + SEL.format(state="Deassertion"), "pass", ""),
    "omnistat": (OMNISTAT.format(errors=0), "pass", ""),
    "omnistat, errors": (OMNISTAT.format(errors=2), "fail", "gpu/3"),
    "off the bus": ("1c:00.0 3D controller: NVIDIA Corporation GA100 [A100] (rev ff)\n", "fail", "1c:00.0"),
    "on the bus": ("1c:00.0 3D controller: NVIDIA Corporation GA100 [A100] (rev a1)\n", "pass", ""),
    "c2c": (C2C.format(state="44.712 GB/s"), "pass", ""),
    "c2c, down": (C2C.format(state="<inactive>"), "fail", "C2C link 1"),
    "ibstat, given up": (IBSTAT + "ibpanic: [7] main: stat of IB device 'mlx5_8' failed: gone\n", "unknown", "mlx5_8"),
    "ibstat": (IBSTAT, "pass", ""),
    "netdev in columns": ("mlx5_0  port  1  ==>  ibp1s0  (Up)  # rail 1\n", "pass", ""),
    "quoted": ('[found] (5 minutes ago) "NVRM: Xid (PCI:0000:9b:00): 119, pid=1, Timeout"\n', "unknown", "quote"),
    "slices": ('DCGM_FI_DEV_XID_ERRORS{gpu="0",GPU_I_PROFILE="1g.6gb",GPU_I_ID="3"} 0\n', "pass", ""),
    "service": ("Job for nvidia-fabricmanager.service failed because the control process exited.\n", "fail", "fabric"),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_judged_as_the_tool_reports_it(tmp_path: Path, name: str) -> None:
    text, health, says = CASES[name]
    (tmp_path / "file.txt").write_text(text)
    found = check_file(str(tmp_path / "file.txt"), Settings())
    result = " ".join(f"{row.subject} {row.reason}" for one in found.verdicts.values() for row in one.rows)
    assert (found.health, says in result) == (health, True), result
