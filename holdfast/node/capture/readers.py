"""Every kind of file that `holdfast check --from` reads: how it is recognised, by which reader, from which versions.

A file may hold several (a bug report, a session log): every reader sees the whole text and takes what is its own.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from holdfast.catalog import xid
from holdfast.catalog.dcgm import fields as dcgm_fields
from holdfast.formats.amd_smi import output as amd_smi
from holdfast.formats.dcgm import diag as dcgm_diag
from holdfast.formats.dcgm import exporter as dcgm_exporter
from holdfast.formats.dcgm.diag_result import CONFIGURATION_SEVERITY, FAIL, WARN
from holdfast.formats.dcgmi import tables as dcgmi
from holdfast.formats.ethtool import statistics as ethtool
from holdfast.formats.fabric import ibstat, links, subnet
from holdfast.formats.kernel.log import KernelLog
from holdfast.formats.nvidia_smi import query, query_csv, tables
from holdfast.formats.slurm import any_output as slurm
from holdfast.formats.tool_output import NODE, NOT_SUPPORTED, ToolOutput

_KERNEL_LINE = re.compile(
    r"^(?:\s*\[\s*\d+\.\d+\]|\[\w{3} \w{3} +\d|<\d+>|\d+,\d+,\d+,|.{0,80}\bkernel: "
    r"|.*\"_TRANSPORT\"\s*:\s*\"kernel\"|.*NVRM: )",
    re.MULTILINE,
)
_LSPCI = re.compile(r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S.*(?:: | \[[0-9a-f]{4}\]: )", re.MULTILINE)
_FABRIC_MANAGER = re.compile(r"^\[\w{3} \d+ \d{4} [\d:]+\] \[\w+\s*\] \[tid \d+\]", re.MULTILINE)
GRAVE_ACTIONS = ("restart_node", "drain_and_reset", "reset_gpu", "drain_p2p")
_AS_NVML = {
    "dcgm_clock_sm_hertz": "gpu_clock_sm_hertz",
    "dcgm_clock_memory_hertz": "gpu_clock_memory_hertz",
    "dcgm_temperature_celsius": "gpu_temperature_celsius",
    "dcgm_memory_temperature_celsius": "gpu_memory_temperature_celsius",
    "dcgm_power_watts": "gpu_power_watts",
    "dcgm_utilization_ratio": "gpu_utilization_ratio",
    "dcgm_memory_used_bytes": "gpu_memory_used_bytes",
    "dcgm_uncorrectable_remapped_rows_total": "gpu_remapped_rows_uncorrectable",
    "dcgm_correctable_remapped_rows_total": "gpu_remapped_rows_correctable",
    "dcgm_row_remap_failure": "gpu_remapped_rows_failure",
    "dcgm_ecc_volatile_uncorrected_total": "gpu_ecc_volatile_uncorrected_total",
    "dcgm_ecc_volatile_corrected_total": "gpu_ecc_volatile_corrected_total",
}  # in a file the exporter is the only one that tells: its values stand for NVML's
LEAST_LINES = 0.2  # of a text that is a kernel log


class FileFormat(NamedTuple):
    name: str
    versions: str  # what it was read from in tests, or what its specification covers
    judged: str  # what of it is judged
    read: Callable[[str], ToolOutput | None]
    alone: bool = False  # only where nothing else recognises the file


def _kernel(text: str) -> ToolOutput | None:
    log = KernelLog()
    events = log.feed(text.encode("utf-8", "replace")) + log.finish()
    total = max(1, sum(1 for line in text.splitlines() if line.strip()))
    marked = len(_KERNEL_LINE.findall(text))
    is_log = marked >= LEAST_LINES * total or bool(_LSPCI.search(text)) or bool(_FABRIC_MANAGER.search(text))
    if not events and not is_log:
        return None
    output = ToolOutput("lspci" if _LSPCI.search(text) and not marked else "kernel log")
    output.lines, output.events = total, events
    if output.tool == "kernel log":
        output.add(NODE, "kmsg_records_total", float(total))
    return output


def _dcgm_diag(text: str) -> ToolOutput | None:
    if not re.search(r"DCGM (?:GPU )?Diagnostic|Successfully ran diagnostic|\|\s*Diagnostic\s*\|\s*Result", text):
        return None
    found = dcgm_diag.parse(text)
    if not found.results and not re.search(r"(?i)error|unable|fail|not ", found.error):
        return None
    output = ToolOutput("dcgmi diag", version=found.dcgm_version)
    output.lines = len(found.results)
    if found.error and not found.results:
        output.complain(NODE, f"the diagnostic did not run: {found.error}", fails=False)
    for result in found.results:
        place = NODE if result.gpu is None else f"gpu/{result.gpu}"
        if result.gpu is not None:
            output.see(place)
        if result.status in (FAIL, WARN):
            setting = result.severity == CONFIGURATION_SEVERITY
            output.complain(
                place, f"{result.test}: {result.text or result.status}", fails=result.status == FAIL and not setting
            )
    if not found.complete:
        output.complain(NODE, "the output of the diagnostic breaks off", fails=False)
    return output


def _exporter(text: str) -> ToolOutput | None:
    if "DCGM_FI_" not in text:
        return None
    output = ToolOutput("dcgm-exporter")
    for sample in dcgm_exporter.parse(text):
        gpu = dcgm_exporter.gpu_of(sample)
        if gpu is None:
            continue
        place = f"gpu/{gpu}"
        output.see(place)
        if model := sample.labels.get("modelName"):
            output.add(place, "gpu_model", model)
        field = dcgm_fields().get(sample.name)
        if field is None:
            continue
        signal = _AS_NVML.get(field.signal, field.signal)
        if sample.value is None:
            output.miss(place, signal, NOT_SUPPORTED)
        else:
            output.add(place, signal, sample.value * field.factor)
            _judge_sample(output, place, field.signal, sample.value)
    return output if output.present else None


def _judge_sample(output: ToolOutput, place: str, signal: str, value: float) -> None:
    """What a scrape says that no check reads from one reading."""
    if signal == "dcgm_last_xid" and value:
        fact = xid.find(int(value))
        if fact.action not in ("ignore", "restart_app"):
            grave = fact.known and not fact.not_alone and fact.action in GRAVE_ACTIONS
            text = f"the last Xid is {fact.code}: {fact.meaning}"
            output.complain(place, text, fails=grave, remedy=fact.action.replace("_", " "))
    elif signal == "dcgm_ecc_volatile_uncorrected_total" and value:
        output.complain(
            place, f"{value:.0f} uncorrected memory errors since the driver was loaded", remedy="reset the GPU"
        )
    elif signal == "dcgm_row_remap_failure" and value:
        output.complain(place, "a bad memory row could not be remapped", remedy="replace the GPU")


def _subnet(text: str) -> ToolOutput | None:
    """A map of the subnet: recognised, and used with `holdfast probe run --topology`."""
    found = subnet.parse(text)
    if len(found.nodes) < 2 or not found.cables:
        return None
    output = ToolOutput("ibnetdiscover")
    output.lines = len(found.nodes)
    return output


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
    FileFormat("nvidia-smi nvlink", "-s and -e", "NVLink lanes and errors", tables.read_nvlink),
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
        _kernel,
    ),
    FileFormat("lspci", "-vvv", "PCIe link width and speed, AER status", _kernel),
    FileFormat("dcgmi diag", "DCGM 2 to 4, table and JSON", "every result", _dcgm_diag),
    FileFormat("dcgmi health", "-c, table and JSON", "every failure and warning", dcgmi.read_health),
    FileFormat("dcgmi nvlink", "-s and -e", "NVLink lanes and errors", dcgmi.read_nvlink),
    FileFormat("dcgm-exporter", "Prometheus text, 2.x to 4.x", "the GPU checks of its fields", _exporter),
    FileFormat(
        "amd-smi",
        "metric, static, bad-pages: JSON and text, ROCm 6 and 7",
        "uncorrectable errors, bad pages, the GPU checks of its fields",
        amd_smi.read,
    ),
    FileFormat(
        "rocm-smi", "JSON and `GPU[n]` lines", "uncorrectable errors, the GPU checks of its fields", amd_smi.read
    ),
    FileFormat("ibstat", "ibstat and ibstatus", "port state against its peers", ibstat.read),
    FileFormat("iblinkinfo", "by node and -l", "links that are down or slower than they could be", links.read_linkinfo),
    FileFormat("ibdiagnet", "log and summary of version 2", "every error and warning", links.read_diagnet),
    FileFormat("ibqueryerrors", "infiniband-diags", "ports above its thresholds", links.read_counters),
    FileFormat("perfquery", "infiniband-diags", "physical error counters", links.read_counters),
    FileFormat("ibswinfo", "ibswinfo 0.5 and later", "power supplies, fans, temperature", links.read_switch),
    FileFormat("ibnetdiscover", "with and without -p", "recognised: `probe run --topology` uses it", _subnet),
    FileFormat("ethtool -S", "mlx5, bnxt_en, ice, i40e, ena", "physical errors, discards, link downs", ethtool.read),
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
)


def read(text: str) -> list[ToolOutput]:
    """What the readers find in a text; several where a file holds the output of several tools."""
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
    if len(found) > 1 and "kernel log" in found and not found["kernel log"].events:
        del found["kernel log"]  # lines with a time in brackets are in other texts too
    return list(found.values())
