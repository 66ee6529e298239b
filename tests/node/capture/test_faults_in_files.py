"""Faults that a tool prints without calling them so: each is named, and its part with it."""

import pytest

from .test_silent_passes import judged, wrong

LINK_DOWN = "[12365.0] mlx5_core 0000:3b:00.0 eth4: Link down\n"
LINK_UP = "[12366.0] mlx5_core 0000:3b:00.0 eth4: Link up\n"
IBSTAT = """CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: Active
\t\tPhysical state: {}
\t\tRate: 400
\t\tLink layer: InfiniBand
"""
LINKINFO = """CA: n03 mlx5_0:
      0x946dae0300aabbcc      5    1[  ] ==(                {0})==>             [  ] "" ( )
Switch: 0x248a070300f88060 MF0;leaf1:MQM8700/U1:
           1    3[  ] ==(                Down/ Polling)==>             [  ] "" ( )
"""
NVLINK = """GPUs:
    gpuId 0:
        U U U U
NvSwitches:
    physicalId 8:
        U U {} X
    physicalId 9:
        U U U U
"""
PERFQUERY = """# Port counters: Lid 12 port 1 (CapMask: 0x5A00)
PortSelect:......................1
SymbolErrorCounter:..............{}
LinkDownedCounter:...............{}
PortXmitDiscards:................{}
PortXmitData:....................4294967295
PortXmitWait:....................4294967295
"""
ETHTOOL = "NIC statistics:\n     rx_packets: 1000000000\n     {}: {}\n"
FAULTS = {
    "a link that stays down": (LINK_UP + LINK_DOWN, "degraded", "nic/eth4 its link went down"),
    "a link that recovers": (IBSTAT.format("LinkErrorRecovery"), "degraded", "mlx5_0/1 port is Active and recovers"),
    "an adapter without a link": (LINKINFO.format("Down/ Polling"), "fail", "n03.mlx5_0/port/1 link is Down"),
    "a link of an NVSwitch": (NVLINK.format("D"), "fail", "nvswitch/8 NVLink 2 is down"),
    "perfquery, 16 bits": (PERFQUERY.format(65535, 0, 0), "degraded", "SymbolErrorCounter: the counter is at its max"),
    "perfquery, 8 bits": (PERFQUERY.format(0, 255, 0), "degraded", "LinkDownedCounter: the counter is at its maximum"),
    "perfquery, discards": (PERFQUERY.format(0, 0, 65535), "degraded", "PortXmitDiscards: the counter is at its max"),
    "ethtool, 32 bits": (ETHTOOL.format("link_down_events_phy", 4294967295), "degraded", "the counter is at its max"),
    "more errors than packets": (
        ETHTOOL.format("rx_crc_errors_phy", 10**12),
        "fail",
        "rx_crc_errors_phy 1000000000000",
    ),
} | {
    name: (ETHTOOL.format(name, 3), "degraded", f"{name} 3")
    for name in ("tx_timeout", "tx_timeouts", "wd_expired", "reset_cnt", "reset_fail", "tx_pause_storm_error_events")
}
SOUND = [
    LINK_DOWN + LINK_UP,
    IBSTAT.format("LinkUp"),
    LINKINFO.format("Disabled/ Disabled"),
    NVLINK.format("U"),
    PERFQUERY.format(0, 3, 12),
    ETHTOOL.format("tx_pause_storm_warning_events", 3),
    ETHTOOL.format("reset_cnt", 0),
]


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_with_its_part(case):
    text, health, named = FAULTS[case]
    found = judged(text)
    assert found.health.value == health
    assert named in " ".join(wrong(found))
    assert found.verdicts["file.report"].remedy
    assert "e+" not in " ".join(wrong(found))


@pytest.mark.parametrize("text", SOUND)
def test_what_is_sound_passes_and_no_fault_is_mentioned(text):
    found = judged(text)
    assert found.health.value == "pass"
    assert "down" not in found.verdicts["file.report"].summary()


def test_the_port_of_a_host_is_called_by_the_host():
    assert judged(LINKINFO.format("Down/ Polling")).verdicts["file.report"].summary().startswith("n03.mlx5_0 port 1: ")
