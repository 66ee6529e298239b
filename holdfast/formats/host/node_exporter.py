"""A scrape of Prometheus node_exporter: RDMA ports, memory errors, disks and file systems."""

import re

from holdfast.formats.dcgm.exporter import ExporterSample, parse
from holdfast.formats.tool_output import NODE, ToolOutput

_MARK = re.compile(r"^node_\w+(?:\{|\s)", re.MULTILINE)
_PORT_COUNTERS = {
    "node_infiniband_symbol_error_total": "symbol errors",
    "node_infiniband_port_receive_errors_total": "receive errors",
    "node_infiniband_local_link_integrity_errors_total": "link integrity errors",
    "node_infiniband_excessive_buffer_overrun_errors_total": "buffer overruns",
}
ACTIVE = 4.0


def read(text: str) -> ToolOutput | None:
    if not _MARK.search(text):
        return None
    output = ToolOutput("node_exporter")
    for sample in parse(text):
        if sample.name.startswith("node_") and sample.value is not None:
            output.lines += 1
            _port(output, sample, sample.value)
            _host(output, sample, sample.value)
    return output if output.lines else None


def _port(output: ToolOutput, sample: ExporterSample, value: float) -> None:
    if not sample.name.startswith("node_infiniband_"):
        return
    place = f"nic/{sample.labels.get('device', 'unknown')}/{sample.labels.get('port', '1')}"
    output.see(place)
    if sample.name == "node_infiniband_state_id":
        output.add(place, "port_state", value)
        if value != ACTIVE:
            output.complain(place, f"port state is {value:.0f}, not {ACTIVE:.0f} (active)", fails=False)
    elif sample.name == "node_infiniband_rate_bytes_per_second":
        output.add(place, "port_rate_bytes_per_second", value)
    elif value and sample.name in _PORT_COUNTERS:
        output.complain(place, f"{value:.0f} {_PORT_COUNTERS[sample.name]}", fails=False,
                        remedy="see whether they grow; then clean or replace cable and transceiver")  # fmt: skip


def _host(output: ToolOutput, sample: ExporterSample, value: float) -> None:
    if not value:
        return
    where = ", ".join(f"{name} {label}" for name, label in sorted(sample.labels.items()))
    if sample.name == "node_edac_uncorrectable_errors_total":
        output.complain(NODE, f"{value:.0f} uncorrectable memory errors ({where})", remedy="replace the DIMM")
    elif sample.name == "node_edac_correctable_errors_total":
        output.complain(NODE, f"{value:.0f} correctable memory errors ({where})", fails=False)
    elif sample.name == "node_md_disks" and sample.labels.get("state") == "failed":
        output.complain(NODE, f"{value:.0f} failed disks ({where})", fails=False, remedy="replace the disk")
    elif sample.name == "node_filesystem_device_error":
        output.complain(NODE, f"a file system does not answer ({where})", fails=False)
