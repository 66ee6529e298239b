"""Tools beside the GPU's own: each recognised, passed where it reports nothing, judged where it does."""

import pytest

from holdfast.model.settings import Settings
from holdfast.node.capture import judge, readers
from holdfast.node.capture.check_file import check_file
from tests.node.capture import more_outputs as o

CASES = {
    "topology": (o.TOPOLOGY.format(one="NV18"), "nvidia-smi topo -m", "pass", ""),
    "topology, links lost": (o.TOPOLOGY.format(one="NV16"), "nvidia-smi topo -m", "fail", "gpu/1"),
    "topology of another build": (
        o.TOPOLOGY.replace("NV18", "SYS").format(one="NV4"),
        "nvidia-smi topo -m",
        "pass",
        "",
    ),
    "list": (o.SMI_LIST, "nvidia-smi -L", "pass", ""),
    "smi dmon": (o.SMI_DMON.format(heat=34), "nvidia-smi dmon", "pass", ""),
    "discovery": (o.DISCOVERY.format(count=1), "dcgmi discovery", "pass", ""),
    "discovery, none": (o.DISCOVERY.format(count=0), "dcgmi discovery", "fail", "no GPU"),
    "dcgmi dmon": (o.DCGMI_DMON, "dcgmi dmon", "pass", ""),
    "amd exporter": (o.AMD_EXPORTER.format(errors=0, health=1), "AMD metrics exporter", "pass", ""),
    "amd exporter, errors": (o.AMD_EXPORTER.format(errors=2, health=1), "AMD metrics exporter", "fail", "gpu/0"),
    "amd exporter, sick": (o.AMD_EXPORTER.format(errors=0, health=0), "AMD metrics exporter", "fail", "gpu/0"),
    "node_exporter": (o.NODE_EXPORTER.format(errors=0, symbols=0), "node_exporter", "pass", ""),
    "node_exporter, ue": (o.NODE_EXPORTER.format(errors=1, symbols=0), "node_exporter", "fail", "memory"),
    "node_exporter, symbols": (o.NODE_EXPORTER.format(errors=0, symbols=9), "node_exporter", "degraded", "mlx5_0"),
    "rdma link": (o.RDMA_LINK.format(state="ACTIVE", physical="LINK_UP"), "rdma link", "pass", ""),
    "rdma link, down": (o.RDMA_LINK.format(state="DOWN", physical="POLLING"), "rdma link", "degraded", "mlx5_1"),
    "rdma link json": (o.RDMA_LINK_JSON.format(state="ACTIVE"), "rdma link", "pass", ""),
    "rdma link json, down": (o.RDMA_LINK_JSON.format(state="DOWN"), "rdma link", "degraded", "ionic_1"),
    "devinfo": (o.DEVINFO.format(state="ACTIVE (4)"), "ibv_devinfo", "pass", ""),
    "devinfo, down": (o.DEVINFO.format(state="DOWN (1)"), "ibv_devinfo", "degraded", "mlx5_1"),
    "devinfo, no subnet manager": (o.DEVINFO.format(state="INIT (2)"), "ibv_devinfo", "fail", "mlx5_1"),
    "netdev": (o.NETDEV.format(state="Up"), "ibdev2netdev", "pass", ""),
    "netdev, down": (o.NETDEV.format(state="Down"), "ibdev2netdev", "degraded", "mlx5_1"),
    "mlxlink": (
        o.MLXLINK.format(state="Active", advice="No issue was observed", rate="15E-255"),
        "mlxlink",
        "pass",
        "",
    ),
    "mlxlink, at the limit": (o.MLXLINK.format(state="Active", advice="", rate="1E-12"), "mlxlink", "pass", ""),
    "mlxlink, errors": (o.MLXLINK.format(state="Active", advice="", rate="2E-12"), "mlxlink", "degraded", "BER"),
    "mlxlink, advice": (
        o.MLXLINK.format(state="Active", advice="Bad signal integrity", rate="0"),
        "mlxlink",
        "degraded",
        "Bad signal",
    ),
    "mlxlink, down": (
        o.MLXLINK.format(state="Polling", advice="Cable is unplugged", rate=""),
        "mlxlink",
        "fail",
        "Cable",
    ),
    "mlxlink json": (o.MLXLINK_JSON.format(state="Active"), "mlxlink", "pass", ""),
    "mlxlink json, down": (o.MLXLINK_JSON.format(state="Disable"), "mlxlink", "fail", "Disable"),
    "imex": (o.IMEX.format(node="READY", state="UP"), "nvidia-imex-ctl", "pass", ""),
    "imex, a node": (o.IMEX.format(node="UNAVAILABLE", state="DEGRADED"), "nvidia-imex-ctl", "degraded", "#1"),
    "imex, down": (o.IMEX.format(node="UNAVAILABLE", state="DOWN"), "nvidia-imex-ctl", "fail", "DOWN"),
    "imex json": (o.IMEX_JSON.format(node="READY", state="UP"), "nvidia-imex-ctl", "pass", ""),
    "imex json, down": (o.IMEX_JSON.format(node="UNAVAILABLE", state="DOWN"), "nvidia-imex-ctl", "fail", "#0"),
    "fabric manager": (o.FABRIC_MANAGER.format(level="INFO"), "fabric manager or IMEX log", "pass", ""),
    "fabric manager, stops": (o.FABRIC_MANAGER.format(level="ERROR"), "fabric manager or IMEX log", "fail", "aborting"),
    "opensm": (o.OPENSM.format(level="02", what="nothing"), "opensm log", "pass", ""),
    "opensm, error": (o.OPENSM.format(level="01", what="ERR 3111: Error status"), "opensm log", "degraded", "3111"),
    "module": (o.MODULE.format(alarm="off", warning="off"), "ethtool -m", "pass", ""),
    "module, alarm": (o.MODULE.format(alarm="on", warning="off"), "ethtool -m", "fail", "rx power low"),
    "module, warning": (o.MODULE.format(alarm="off", warning="on"), "ethtool -m", "degraded", "temperature"),
    "module json": (o.MODULE_JSON.format(alarm="false"), "ethtool -m", "pass", ""),
    "module json, alarm": (o.MODULE_JSON.format(alarm="true"), "ethtool -m", "fail", "rx power low"),
    "link": (o.LINK.format(link="yes"), "ethtool", "pass", ""),
    "link, none": (o.LINK.format(link="no (No cable)"), "ethtool", "degraded", "No cable"),
    "allowance": (o.ALLOWANCE.format(count=0), "ethtool -S", "pass", ""),
    "allowance, exceeded": (o.ALLOWANCE.format(count=9), "ethtool -S", "degraded", "bw_out"),
    "sel": (o.SEL.format(state="Deasserted", event="Presence detected"), "ipmitool sel", "pass", ""),
    "sel, still hot": (
        o.SEL.format(state="Asserted", event="Presence detected"),
        "ipmitool sel",
        "fail",
        "Temperature",
    ),
    "sel, ue": (o.SEL.format(state="Deasserted", event="Uncorrectable ECC"), "ipmitool sel", "fail", "Memory"),
    "sel, ce": (o.SEL.format(state="Deasserted", event="Correctable ECC"), "ipmitool sel", "degraded", "Memory"),
    "sdr": (o.SDR.format(state="ok"), "ipmitool sdr", "pass", ""),
    "sdr, critical": (o.SDR.format(state="cr"), "ipmitool sdr", "fail", "FAN2"),
    "sdr, warning": (o.SDR.format(state="nc"), "ipmitool sdr", "degraded", "FAN2"),
    "sensor": (o.SENSOR.format(state="ok"), "ipmitool sensor", "pass", ""),
    "sensor, critical": (o.SENSOR.format(state="lcr"), "ipmitool sensor", "fail", "FAN2"),
    "redfish": (o.REDFISH.format(health="OK"), "Redfish", "pass", ""),
    "redfish, warning": (o.REDFISH.format(health="Warning"), "Redfish", "degraded", "GPU3"),
    "redfish, critical": (o.REDFISH.format(health="Critical"), "Redfish", "fail", "GPU3"),
    "nvme": (o.NVME.format(warning=0, spare=100, errors=0), "nvme smart-log", "pass", ""),
    "nvme, at the limit": (o.NVME.format(warning=0, spare=10, errors=0), "nvme smart-log", "pass", ""),
    "nvme, spare": (o.NVME.format(warning=0, spare=9, errors=0), "nvme smart-log", "fail", "spare"),
    "nvme, warning": (o.NVME.format(warning="0x4", spare=100, errors=0), "nvme smart-log", "fail", "0x4"),
    "nvme, media": (o.NVME.format(warning=0, spare=100, errors=2), "nvme smart-log", "degraded", "media"),
    "nvme json": (o.NVME_JSON.format(warning=0), "nvme smart-log", "pass", ""),
    "nvme json, warning": (o.NVME_JSON.format(warning=1), "nvme smart-log", "fail", "critical"),
    "smartctl": (o.SMARTCTL.format(result="PASSED", sectors=0), "smartctl", "pass", ""),
    "smartctl, failing": (o.SMARTCTL.format(result="FAILED!", sectors=0), "smartctl", "fail", "FAILED"),
    "smartctl, sectors": (o.SMARTCTL.format(result="PASSED", sectors=8), "smartctl", "degraded", "Reallocated"),
    "nccl-tests": (o.NCCL_TESTS.format(wrong=0, word="OK"), "nccl-tests", "pass", ""),
    "nccl-tests, wrong": (o.NCCL_TESTS.format(wrong=7, word="FAILED"), "nccl-tests", "fail", "7"),
    "redfish, supply": (
        o.REDFISH.format(health="Critical").replace('"Enabled", "Health": "C', '"UnavailableOffline", "Health": "C'),
        "Redfish",
        "fail",
        "GPU3",
    ),
    "redfish, old spelling": (
        o.REDFISH.format(health="OK").replace('"Health": "OK"', '"HealthRollUp": "Critical"'),
        "Redfish",
        "fail",
        "a part of",
    ),
    "nvlink, cards without a bridge": (o.NO_LINKS.format(model="A100-PCIE-40GB"), "nvidia-smi nvlink", "pass", ""),
    "nvlink, none on a baseboard": (o.NO_LINKS.format(model="A100-SXM4-40GB"), "nvidia-smi nvlink", "fail", "gpu/1"),
    "perftest": (o.PERFTEST, "perftest", "pass", ""),
    "osu": (o.OSU, "OSU benchmarks", "pass", ""),
    "amd-smi monitor": (o.AMD_MONITOR.format(errors=0), "amd-smi monitor", "pass", ""),
    "amd-smi monitor, errors": (o.AMD_MONITOR.format(errors=2), "amd-smi monitor", "fail", "gpu/1"),
    "service": (o.SERVICE.format(status="0/SUCCESS"), "service log", "pass", ""),
    "service, ended": (o.SERVICE.format(status="1/FAILURE"), "service log", "fail", "fabricmanager"),
    "systemctl": (o.SYSTEMCTL.format(state="active (running)"), "service log", "pass", ""),
    "systemctl, failed": (o.SYSTEMCTL.format(state="failed (Result: exit-code)"), "service log", "fail", "exit-code"),
    "systemctl, stopped": (o.SYSTEMCTL.format(state="inactive (dead)"), "service log", "degraded", "dead"),
    "host engine": (o.HOST_ENGINE.format(level="INFO"), "nv-hostengine log", "pass", ""),
    "host engine, ends": (o.HOST_ENGINE.format(level="FATAL"), "nv-hostengine log", "fail", "ends"),
    "amd exporter, blocks": (o.AMD_BLOCKS.format(errors=0), "AMD metrics exporter", "pass", ""),
    "amd exporter, a block": (o.AMD_BLOCKS.format(errors=1), "AMD metrics exporter", "fail", "in umc"),
    "rocm-smi metrics": (o.ROCM_METRICS, "rocm-smi", "pass", ""),
    "a weekday of two letters": (o.OTHER_WEEKDAY.format(what="GPU reset succeeded"), "kernel log", "pass", ""),
    "a weekday of two letters, lost": (
        o.OTHER_WEEKDAY.format(what="device lost from bus"),
        "kernel log",
        "fail",
        "0b:00",
    ),
    "times as differences": (o.DELTAS, "kernel log", "pass", ""),
    "windows": (o.WINDOWS, "nvidia-smi", "pass", ""),
    "rdma statistic": (o.RDMA_STATISTIC.format(count=0), "rdma statistic", "pass", ""),
    "rdma statistic, given up": (o.RDMA_STATISTIC.format(count=3), "rdma statistic", "degraded", "ionic_0"),
    "rdma statistic text": (o.RDMA_STATISTIC_TEXT, "rdma statistic", "pass", ""),
    "smartctl json": (o.SMARTCTL_JSON.format(count=0), "smartctl", "pass", ""),
    "smartctl json, sectors": (o.SMARTCTL_JSON.format(count=8), "smartctl", "degraded", "Reallocated"),
    "a log in a letter": (o.QUOTED, "kernel log", "fail", "91:00"),
    "a log in another language": (o.OTHER_LANGUAGE, "kernel log", "fail", "01:00"),
    "a log with two stamps": (o.TWO_STAMPS, "kernel log", "fail", "DIMM_A1"),
    "a log in colour": (f"\x1b[31m{o.TWO_STAMPS.strip()}\x1b[0m\n", "kernel log", "fail", "DIMM_A1"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_recognised_and_judged(case):
    text, tool, health, named = CASES[case]
    found = judge.judge_outputs(readers.read(text), "captured", Settings())
    assert found.tools == [tool]
    bad = [f"{row.subject} {row.reason} {verdict.evidence}" for verdict in found.verdicts.values()
           for row in verdict.rows if row.health.value in ("fail", "degraded")]  # fmt: skip
    assert (found.health.value, named in " ".join(bad)) == (health, True), bad


def test_the_second_port_of_a_card_with_one_cable_is_no_fault_of_the_node():
    card = "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
    second = "\tPort 2:\n\t\tState: Down\n\t\tPhysical state: Polling\n\t\tRate: 10\n"
    found = judge.judge_outputs(readers.read(card + second), "captured", Settings())
    assert found.health.value == "degraded"
    other = card.replace("mlx5_0", "mlx5_1") + second.replace("Down", "Active").replace("Polling", "LinkUp")
    both = judge.judge_outputs(readers.read(card + second + other), "captured", Settings())
    assert both.health.value == "fail", "the same port of another card is up"


def test_every_reader_reads_its_own_output_alone():
    for text, tool, _, _ in CASES.values():
        assert [one.tool for one in readers.read(text)] == [tool]


@pytest.mark.parametrize(("state", "health"), [("4: ACTIVE", "pass"), ("1: DOWN", "fail")])
def test_a_copy_of_sysfs_is_judged_as_the_live_one_is(tmp_path, state, health):
    for device, message in (("mlx5_0", "4: ACTIVE"), ("mlx5_1", state)):
        port = tmp_path / "class" / "infiniband" / device / "ports" / "1"
        (port / "counters").mkdir(parents=True)
        (port / "state").write_text(f"{message}\n")
        (port / "phys_state").write_text("5: LinkUp\n" if message.startswith("4") else "2: Polling\n")
        (port / "rate").write_text("400 Gb/sec (4X NDR)\n")
        (port / "link_layer").write_text("InfiniBand\n")
    found = check_file(str(tmp_path), Settings())
    assert (found.tools, found.health.value) == (["files of /sys"], health)
