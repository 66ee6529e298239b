"""Readers that combine several formats: kernel log or lspci, DCGM diagnostic and exporter, a subnet map."""

import re

from holdfast.catalog.dcgm import fields as dcgm_fields
from holdfast.formats.dcgm import diag as dcgm_diag
from holdfast.formats.dcgm import exporter as dcgm_exporter
from holdfast.formats.dcgm.dcgmi_listing import last_xid
from holdfast.formats.dcgm.diag_result import CONFIGURATION_SEVERITY, FAIL, WARN
from holdfast.formats.fabric import subnet
from holdfast.formats.kernel import sxid
from holdfast.formats.kernel.log import KernelLog
from holdfast.formats.nccl import tests as nccl_tests
from holdfast.formats.tool_output import NODE, NOT_SUPPORTED, ToolOutput
from holdfast.model.signal import Event
from holdfast.node.capture.plain_text import unwrapped

_KERNEL_LINE = re.compile(
    r"^(?:\s*\[\s*\+?\d+\.\d+\]|\[\w{2,4}\.? \w{3,5}\.? +\d|<\d+>|\d+,\d+,\d+,[^;\n]{0,80};|.{0,80}\bkernel: "
    r"|.*\"_TRANSPORT\"\s*:\s*\"kernel\"|.*NVRM: |kern +:\w+ *: "
    r"|(?:mlx5_core|amdgpu|pcieport|bnxt_en|ionic|efa|ena|nvidia-nvswitch\d*|EDAC|mce|nvme)[ :])",
    re.MULTILINE,
)
_LSPCI = re.compile(r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S.*(?:: | \[[0-9a-f]{4}\]: )", re.MULTILINE)
_COLLECTIVES = re.compile(
    r"busbw|# Out of bounds values :|_perf\b|bus bandwidth|\"bus_bw\""
    r"|^\s*\d+\s+\d+\s+(?:u?int|float|half|double|bfloat|f8)\w*\s+[a-z]+\s+-?\d+\s+[\d.]+\s",
    re.MULTILINE,
)
_DIAGNOSTIC = re.compile(
    r"DCGM (?:GPU )?Diagnostic|Successfully ran diagnostic|\|\s*Diagnostic\s*\|\s*Result"
    r"|^\+-+  (?:Deployment|Integration|Hardware|Stress)  -+\+",
    re.MULTILINE,
)
_OFF_THE_BUS = re.compile(r"^(\S+) (.*(?:NVIDIA|AMD/ATI|Mellanox|Non-Volatile).*) \(rev ff\)", re.MULTILINE)
_FABRIC_MANAGER = re.compile(r"^\[\w{3} \d+ \d{4} [\d:]+\] \[\w+\s*\] \[tid \d+\]", re.MULTILINE)
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
}  # a file has no NVML, so the exporter's values take its place
_PORT_LIST = re.compile(r"^(?:SW|CA|RT)\s+\d+\s+\d+\s+0x[0-9a-f]{16}\s+(?:\d+x|\?\?)\s+\S", re.MULTILINE)
_QUOTED = re.compile(r"NVRM: Xid \(PCI:[0-9a-fA-F:.]+\): \d|SXid \(PCI:|amdgpu.*\d (?:new )?uncorrectable")
_OOM_KILLER = re.compile(r"(\S{1,64}) invoked oom-killer: gfp_mask=0x")
_REMEDIES = {
    ("amdgpu", "reset"): (
        "pci",
        "the GPU hung and its driver reset it: the work on it was lost",
        "restart the program; if it happens with other programs too, test the GPU",
    ),
    ("amdgpu", "ring_timeout"): (
        "pci",
        "a queue of the GPU stopped: the work on it was lost",
        "restart the program; if it happens with other programs too, reset and test the GPU",
    ),
    ("mlx5", "completion_error"): (
        "nic",
        "work requests of a program failed on this adapter",
        "see whether the peer went away; if not, look at the port's counters",
    ),
}  # Xids that programs cause; in service they are ignored, but the reader of a log wants to see them
_SETTING = "change the setting that DCGM names, then run the diagnostic again"
_DIAGNOSE = "follow the text that DCGM gives for the failed test; reset the GPU and run it again before an RMA"
_RUN_AGAIN = "remove what stops it, then run the diagnostic again"
LEAST_LINES = 0.2  # share of the lines of a kernel log


def kernel(text: str) -> ToolOutput | None:
    whole = unwrapped(text)
    events = _events(text) if whole == text else max(_events(text), _events(whole), key=len)
    total = max(1, sum(1 for line in text.splitlines() if line.strip()))
    marked = len(_KERNEL_LINE.findall(text))
    is_log = marked >= LEAST_LINES * total or bool(_LSPCI.search(text)) or bool(_FABRIC_MANAGER.search(text))
    if not events and not is_log and not _QUOTED.search(text):
        return None
    output = ToolOutput("lspci" if _LSPCI.search(text) and not marked else "kernel log")
    output.lines, output.events = total, events
    for address, title in _OFF_THE_BUS.findall(text) if _LSPCI.search(text) else ():
        if "Audio" not in title and "USB" not in title and "Serial bus" not in title:
            why = f"{address} {title}: it answers with ones only (rev ff): it fell off the bus or has no power"
            output.complain(f"pci/{address}", why, remedy="power-cycle the node; reseat or replace the part")
    if not events and (quoted := len(_QUOTED.findall(text))):
        output.doubt(NODE, f"{quoted} lines quote errors of a driver and are not kernel lines: use the kernel log")
    for event in {(one.kind, one.code, one.device): one for one in events}.values():
        if remedy_row := _REMEDIES.get((event.kind, str(event.code))):
            kind, text, remedy = remedy_row
            place = f"{kind}/{event.device}" if event.device else NODE
            output.complain(place, f"{text} [{event.text}]", fails=False, remedy=remedy)
    _lost_links(output)
    if (killer := _OOM_KILLER.search(text)) and not any(event.kind == "oom" for event in events):
        output.complain(
            NODE,
            f"memory ran out: {killer[1]} invoked the OOM killer; the log does not name the ended process",
            fails=False,
            remedy="give jobs memory limits",
        )
    if output.tool == "kernel log":
        output.add(NODE, "kmsg_records_total", float(total))
    return output


def _lost_links(output: ToolOutput) -> None:
    """Ports whose last message is a lost link."""
    last = {event.device: event for event in output.events if event.kind == "link" and event.device}
    for device, event in last.items():
        if event.code == "down":
            text = f"its link went down and the log shows no link up after it [{event.text}]"
            output.complain(f"nic/{device}", text, fails=False, remedy="check cable, transceiver and switch port")


def _events(text: str) -> list[Event]:
    log = KernelLog(shipped=True)
    events = log.feed(text.encode("utf-8", "replace")) + log.finish()
    return events + sxid.of_data_alone(text.splitlines(), events)


def diagnostic(text: str) -> ToolOutput | None:
    if not _DIAGNOSTIC.search(text):
        return None
    found = dcgm_diag.parse(text)
    if not found.results and not re.search(r"(?i)error|unable|fail|not ", found.error):
        return None
    output = ToolOutput("dcgmi diag", version=found.dcgm_version)
    output.lines = len(found.results)
    if found.error and not found.results:
        output.complain(NODE, f"the diagnostic did not run: {found.error}", fails=False, remedy=_RUN_AGAIN)
    for result in found.results:
        place = NODE if result.gpu is None else f"gpu/{result.gpu}"
        if result.gpu is not None:
            output.see(place)
        if result.status in (FAIL, WARN):
            setting = result.severity == CONFIGURATION_SEVERITY
            output.complain(
                place,
                f"{result.test}: {result.text or result.status}",
                fails=result.status == FAIL and not setting,
                remedy=_SETTING if setting else _DIAGNOSE,
            )
    if not found.complete:
        output.doubt(NODE, "the output of the diagnostic breaks off")
    return output


def exporter(text: str) -> ToolOutput | None:
    if "DCGM_FI_" not in text and "DCGM_EXP_" not in text:
        return None
    output = ToolOutput("dcgm-exporter")
    for sample in dcgm_exporter.parse(text):
        output.lines += 1
        gpu = dcgm_exporter.gpu_of(sample)
        if gpu is None:
            continue
        place = f"gpu/{gpu}"
        output.see(place)
        if model := sample.labels.get("modelName"):
            output.add(place, "gpu_model", model)
        if "_XID_ERRORS_" in sample.name and sample.value and sample.labels.get("xid", "").isdigit():
            _judge_sample(output, place, "dcgm_last_xid", float(sample.labels["xid"]))
        field = dcgm_fields().get(sample.name)
        if field is None:
            continue
        signal = _AS_NVML.get(field.signal, field.signal)
        if sample.value is None:
            output.miss(place, signal, NOT_SUPPORTED)
        else:
            output.add(place, signal, sample.value * field.factor)
            _judge_sample(output, place, field.signal, sample.value)
    return output if output.present or output.lines else None


def _judge_sample(output: ToolOutput, place: str, signal: str, value: float) -> None:
    """Complaints from a scrape about values that no check evaluates from one reading."""
    if signal == "dcgm_last_xid" and value:
        last_xid(output, place, int(value))
    elif signal == "dcgm_ecc_volatile_uncorrected_total" and value:
        output.complain(
            place, f"{value:.0f} uncorrected memory errors since the driver was loaded", remedy="reset the GPU"
        )
    elif signal == "dcgm_row_remap_failure" and value:
        output.complain(place, "a bad memory row could not be remapped", remedy="replace the GPU")


def subnet_map(text: str) -> ToolOutput | None:
    """Recognises a subnet map; `holdfast probe run --topology` uses it."""
    found = subnet.parse(text)
    ports = len(_PORT_LIST.findall(text))
    if (len(found.nodes) < 2 or not found.cables) and not ports:
        return None
    output = ToolOutput("ibnetdiscover")
    output.lines = len(found.nodes) or ports
    return output


def collectives(text: str) -> ToolOutput | None:
    """nccl-tests and rccl-tests: a wrong result is a fault at any bandwidth."""
    if not _COLLECTIVES.search(text):
        return None
    found = nccl_tests.parse(text)
    if not (found.rows or found.damage):
        return None
    output = ToolOutput("nccl-tests")
    output.lines = len(found.rows)
    wrong = sum(row.wrong or 0 for row in found.rows)
    if wrong or found.damage:
        output.complain(NODE, found.damage or f"{wrong} wrong results", remedy="find the GPU: dcgmi diag -r 3")
    elif found.trouble.startswith("the output breaks off"):  # the end of the test, or of the copied excerpt
        output.doubt(NODE, found.trouble)
    elif found.trouble:
        output.complain(NODE, found.trouble, fails=False)
    return output
