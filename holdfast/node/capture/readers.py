"""All file formats of `holdfast check --from`: how each is recognised, its reader, and its versions.

A file may contain several (a bug report, a session log): every reader sees the whole text and takes its part.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from holdfast.formats import json_document
from holdfast.formats.amd import exporter as amd_exporter
from holdfast.formats.amd import monitor_table
from holdfast.formats.amd import smi as amd_smi
from holdfast.formats.dcgm import dcgmi_listing
from holdfast.formats.dcgm import dcgmi_tables as dcgmi
from holdfast.formats.ethtool import module as transceiver
from holdfast.formats.ethtool import statistics as ethtool
from holdfast.formats.fabric import (
    ibstat,
    links,
    mlxlink,
    nvlink_domain,
    nvlink_switch,
    rdma_ports,
    rdma_statistics,
    subnet_dumps,
)
from holdfast.formats.host import benchmarks, disks, memory, node_exporter, services, sysfs_text
from holdfast.formats.kubernetes import kubectl
from holdfast.formats.management import ipmi, redfish
from holdfast.formats.nvidia_smi import listing, query, query_csv, tables
from holdfast.formats.pci import lspci
from holdfast.formats.slurm import any_output as slurm
from holdfast.formats.slurm import others as slurm_others
from holdfast.formats.tool_output import NODE, ToolOutput
from holdfast.node.capture import combined_readers, sysfs_tree, wrapping
from holdfast.node.capture.plain_text import (
    LONGEST_LINE,
    blocks,
    by_command,
    plain,
    unwrapped,
    with_bounded_lines,
    without_fences,
    without_prefixes,
)


class FileFormat(NamedTuple):
    name: str
    versions: str  # versions of the test files, or of the specification
    judged: str  # the evaluated values
    read: Callable[[str], ToolOutput | None]
    alone: bool = False  # only if nothing else recognises the file


FORMATS = (
    FileFormat("nvidia-smi -q", "drivers R418 to R595", "every GPU check whose fields it prints", query.read_text),
    FileFormat("nvidia-smi -q -x", "drivers R418 to R595", "every GPU check whose fields it prints", query.read_xml),
    FileFormat(
        "nvidia-smi --query-gpu",
        "any columns, with a header; units or nounits",
        "the GPU checks of its columns",
        query_csv.read,
    ),
    FileFormat(
        "nvidia-smi",
        "the summary table, drivers R418 to R595",
        "temperature, power, memory, ECC total",
        tables.read_summary,
    ),
    FileFormat("nvidia-smi nvlink", "-s and -e; c2c -s", "NVLink lanes and errors, C2C links", tables.read_nvlink),
    FileFormat(
        "nvidia-smi topo -m", "drivers R450 to R595", "a GPU with fewer NVLinks than the others", listing.read_topology
    ),
    FileFormat("nvidia-smi dmon", "any columns", "temperature, power, ECC", listing.read_dmon),
    FileFormat("nvidia-smi -L", "with UUIDs", "recognised: which GPUs there are", listing.read_list, alone=True),
    FileFormat(
        "nvidia-smi failure",
        "no driver, no devices, a GPU that cannot be opened",
        "the failure itself",
        query.read_failure,
    ),
    FileFormat(
        "kernel log",
        "dmesg, /dev/kmsg, syslog, journalctl (short, json), nvidia-bug-report.log.gz",
        "Xid, SXid, AER, RAS, OOM, driver and disk events",
        combined_readers.kernel,
    ),
    FileFormat("lspci", "-vvv", "PCIe link width and speed, AER status", combined_readers.kernel),
    FileFormat("lspci excerpt", "LnkCap and LnkSta alone", "a narrow link", lspci.read_excerpt, alone=True),
    FileFormat("AER counters", "one aer_dev_* file", "fatal and non-fatal PCIe errors", sysfs_text.read_aer),
    FileFormat(
        "files of /sys",
        "`grep -r`, `head` or `cat` of several files, a JSON object of paths",
        "RDMA ports, their transport counters, memory errors",
        sysfs_tree.of_text,
    ),
    FileFormat("dcgmi diag", "DCGM 2 to 4, table and JSON", "every result", combined_readers.diagnostic),
    FileFormat("dcgmi health", "-c, table and JSON", "every failure and warning", dcgmi.read_health),
    FileFormat("dcgmi nvlink", "-s and -e", "NVLink lanes and errors", dcgmi.read_nvlink),
    FileFormat("dcgmi discovery", "-l", "that GPUs are found", dcgmi_listing.read_discovery),
    FileFormat("dcgmi dmon", "short column names", "temperature, power", dcgmi_listing.read_dmon),
    FileFormat("dcgmi failure", "no host engine", "that nothing is known", dcgmi.read_no_engine, alone=True),
    FileFormat(
        "dcgm-exporter", "Prometheus text, 2.x to 4.x", "the GPU checks of its fields", combined_readers.exporter
    ),
    FileFormat(
        "amd-smi",
        "metric, static, bad-pages: JSON and text, ROCm 6 and 7",
        "uncorrectable errors, bad pages, the GPU checks of its fields",
        amd_smi.read,
    ),
    FileFormat(
        "rocm-smi", "JSON and `GPU[n]` lines", "uncorrectable errors, the GPU checks of its fields", amd_smi.read
    ),
    FileFormat(
        "amd-smi alone", "the box of ROCm 6.4 and 7", "temperature, power, uncorrectable errors", monitor_table.read_box
    ),
    FileFormat("amd-smi monitor", "any columns", "temperature, power, uncorrectable errors", monitor_table.read),
    FileFormat(
        "AMD metrics exporter",
        "device-metrics-exporter and RDC, Prometheus text",
        "uncorrectable errors, health, the GPU checks of its fields",
        amd_exporter.read,
    ),
    FileFormat("node_exporter", "1.x", "RDMA ports, memory errors, failed disks", node_exporter.read),
    FileFormat("ibstat", "ibstat and ibstatus", "port state against its peers", ibstat.read),
    FileFormat("rdma link", "text and JSON", "port state against its peers", rdma_ports.read),
    FileFormat("rdma statistic", "text and JSON", "connections that were given up", rdma_statistics.read),
    FileFormat("ibv_devinfo", "with and without -v", "port state against its peers", rdma_ports.read),
    FileFormat("ibdev2netdev", "MLNX_OFED", "port state against its peers", rdma_ports.read),
    FileFormat("mlxlink", "text and JSON", "state, bit error rate, the tool's recommendation", mlxlink.read),
    FileFormat("nvidia-imex-ctl", "-N, text and JSON", "the domain and its nodes", nvlink_domain.read_imex),
    FileFormat(
        "fabric manager or IMEX log",
        "R450 to R595",
        "NVSwitch errors, errors that stop the service, other errors",
        nvlink_domain.read_log,
    ),
    FileFormat(
        "NVOS and NMX",
        "`nv show` of NVOS 25, tables and JSON; NMX-C and NMX-M as JSON",
        "health of switch trays, NMX's applications, partitions, GPUs and events",
        nvlink_switch.read,
    ),
    FileFormat(
        "kubectl nodes",
        "get nodes, describe node, JSON",
        "nodes that are not ready or cordoned, conditions, GPUs that are not allocatable",
        kubectl.read,
    ),
    FileFormat(
        "ras-mc-ctl",
        "--errors, --error-count, --summary; edac-util",
        "memory errors of the host",
        memory.read,
    ),
    FileFormat(
        "service log",
        "journalctl or syslog lines of systemd, systemctl status",
        "services of a GPU node that ended or did not start",
        services.read_services,
    ),
    FileFormat("nv-hostengine log", "DCGM 2 to 4", "what ended it", services.read_host_engine),
    FileFormat("opensm log", "also of NVLink's subnet manager", "every error", nvlink_domain.read_subnet_manager),
    FileFormat("iblinkinfo", "by node and -l", "links that are down or slower than they could be", links.read_linkinfo),
    FileFormat("ibdiagnet", "log and summary of version 2", "every error and warning", links.read_diagnet),
    FileFormat(
        "ibdiagnet2.pm", "counters in hex or decimal, extended or not", "physical error counters", subnet_dumps.read
    ),
    FileFormat("unhealthy ports", "the dump of opensm and UFM", "every port that it lists", subnet_dumps.read),
    FileFormat("ibqueryerrors", "infiniband-diags", "ports above its thresholds", links.read_counters),
    FileFormat("perfquery", "infiniband-diags", "physical error counters", links.read_counters),
    FileFormat("ibportstate", "ibportstate and smpquery portinfo", "port state, width and speed", links.read_port_info),
    FileFormat("ibswinfo", "ibswinfo 0.5 and later", "power supplies, fans, temperature", links.read_switch),
    FileFormat(
        "ibnetdiscover",
        "with and without -p",
        "recognised: `probe run --topology` uses it",
        combined_readers.subnet_map,
    ),
    FileFormat("ethtool -S", "mlx5, bnxt_en, ice, i40e, ena", "physical errors, discards, link downs", ethtool.read),
    FileFormat("ethtool -m", "SFF-8472, SFF-8636, CMIS; text and JSON", "alarms and warnings", transceiver.read_module),
    FileFormat("ethtool", "without options", "whether there is a link", transceiver.read_link),
    FileFormat(
        "ipmitool sel", "list and elist; OpenBMC's log-util", "asserted events without a deassertion", ipmi.read_sel
    ),
    FileFormat("ipmitool sdr", "list, elist, sensor; ipmi-sensors", "sensors that are not ok", ipmi.read_sensors),
    FileFormat("Redfish", "any resource as JSON", "health of every part, log entries", redfish.read),
    FileFormat("nvme smart-log", "text and JSON", "critical warning, spare, media errors, wear", disks.read),
    FileFormat("smartctl", "text and JSON", "health, sectors, the NVMe facts", disks.read),
    FileFormat("nccl-tests", "NCCL and RCCL, text and JSON", "wrong results", combined_readers.collectives),
    FileFormat("perftest", "ib_write_bw and its siblings", "recognised; that it did not fail", benchmarks.read),
    FileFormat("OSU benchmarks", "5 to 7", "recognised; that it did not fail", benchmarks.read),
    FileFormat("gpu-burn", "any", "a GPU with wrong results, or that stopped", benchmarks.read),
    FileFormat(
        "other benchmarks",
        "nvbandwidth, bandwidthTest, rocm-bandwidth-test, TransferBench, GPCNeT, HPL, STREAM, fio, UCC",
        "recognised; that it did not fail",
        benchmarks.read,
    ),
    FileFormat(
        "Slurm nodes",
        "JSON of 21.08 to 25.11, scontrol show node, sinfo (header or not)",
        "nodes that are down or drained, with the reason",
        slurm.read,
        alone=True,
    ),
    FileFormat(
        "Slurm jobs",
        "JSON of 21.08 to 25.11, squeue, sacct and scontrol show job",
        "jobs that a node ended",
        slurm.read,
        alone=True,
    ),
    FileFormat("Slurm log", "slurmctld and slurmd", "nodes that were set down or drained", slurm_others.read_log),
    FileFormat(
        "other Slurm output",
        "scontrol show partition, config, topology and reservation; seff, sdiag, sshare, sacctmgr",
        "partitions that are not up; the others are recognised",
        slurm.read,
        alone=True,
    ),
)


MOST_SESSION_CHARACTERS = 1 << 20


def read(text: str) -> list[ToolOutput]:
    """Results of all readers for a text; several if a file has the output of several tools."""
    inside = list(wrapping.carried(text)) if wrapping.is_item(text) else []
    text, cut = with_bounded_lines(text)
    text = plain(text)
    found = _all_of(inside) or _first_of([bare] if (bare := wrapping.without_host(text)) else ())
    found = found or _read(without_fences(text))
    for _, part in by_command(text):
        _join(found, _read(part))
    if not any(map(_reports, found.values())) and len(text) <= MOST_SESSION_CHARACTERS:
        for part in (*wrapping.carried(text), unwrapped(text)):
            inner = _read(plain(with_bounded_lines(part)[0])) if part != text else {}
            _join(found, {tool: output for tool, output in inner.items() if _reports(output)})
    if not _says(found) and len(text) <= MOST_SESSION_CHARACTERS:
        found = _first_of(_without_carrier(text)) or _all_of(wrapping.carried(text)) or found
    if not _says(found) and len(text) <= MOST_SESSION_CHARACTERS:
        for part in blocks(text):
            _join(found, _read(plain(part)))
    if len(found) > 1 and "kernel log" in found and not found["kernel log"].events:
        del found["kernel log"]  # other texts have lines with a time in brackets too
    if cut and found:
        reason = f"{cut} lines are longer than {LONGEST_LINE} characters: the rest of these lines is not evaluated"
        next(iter(found.values())).doubt(NODE, reason)
    return list(found.values())


def _without_carrier(text: str) -> Iterator[str]:
    if (bare := without_prefixes(text)) != text:
        yield bare
    yield from wrapping.without_common_prefix(text)


def _first_of(texts: Iterable[str]) -> dict[str, ToolOutput]:
    """Results for the first text in which readers find something."""
    return next((found for text in texts if _says(found := _read(plain(text)))), {})


def _all_of(texts: Iterable[str]) -> dict[str, ToolOutput]:
    found: dict[str, ToolOutput] = {}
    for text in texts:
        _join(found, _read(plain(with_bounded_lines(text)[0])))
    return found if _says(found) else {}


def _join(found: dict[str, ToolOutput], more: dict[str, ToolOutput]) -> None:
    """Joins two outputs of one tool: the first counts, unless only the other has complaints.

    Whether the output is truncated is decided by the whole text, not by its part.
    """
    for tool, output in more.items():
        if tool not in found or (_reports(output) and not _reports(found[tool])):
            found[tool] = output


def _reports(output: ToolOutput) -> bool:
    return any(not one.unknown for one in output.complaints) or bool(output.events)


def unread_commands(text: str) -> list[str]:
    """Commands of a terminal session whose output no reader recognises."""
    text, _ = with_bounded_lines(text)
    parts = by_command(plain(text)) if len(text) <= MOST_SESSION_CHARACTERS else []
    return [command for command, part in parts if command and not _read(part)]


def _says(found: dict[str, ToolOutput]) -> bool:
    return any(_says_something(one) for one in found.values())


def _says_something(output: ToolOutput) -> bool:
    """Whether an output has any content: a prefix may hide every event of a recognised log."""
    return output.tool != "kernel log" or bool(output.events)


def _read(text: str) -> dict[str, ToolOutput]:
    found: dict[str, ToolOutput] = {}
    done = set()
    for alone in (False, True):
        if alone and found:
            break
        for one in FORMATS:
            if one.alone is not alone or one.read in done:
                continue
            done.add(one.read)
            if output := one.read(text):
                found[output.tool] = output
    if found and json_document.breaks_off(text):
        next(iter(found.values())).doubt(NODE, "the JSON document breaks off: the missing part is not evaluated")
    return found
