"""`rdma statistic`, text and JSON, and listings of hw_counters: the transport's counters.

They count since the driver was loaded. Only counters of broken connections are evaluated; growth of the others needs
two readings.
"""

import re

from holdfast.formats import json_document
from holdfast.formats.tool_output import ToolOutput

_LINE = re.compile(r"^link (\S+)/(\d+) ((?:[A-Za-z_]\w* \d+ ?)+)$", re.MULTILINE)
_LISTED = re.compile(
    r"^(?:\S*/infiniband/(\S+?)/ports/(\d+)/(?:hw_)?counters/)?([a-z][a-z0-9_]*)\s*[:=]\s*(\d+)\s*$", re.MULTILINE
)
_LEAST_LISTED = 4  # names of counters; a text with fewer may be anything
_ENDS_CONNECTIONS = re.compile(
    r"unresponsive_remote_events|impaired_remote_conn_events|retry_exc\w*|retries_exceeded|transport_retries_exceeded|retry_excd_err"
)
_KNOWN = (
    "rx_write_requests",
    "rnr_nak_retry_err",
    "tx_rdma_ucast_pkts",
    "local_ack_timeout_err",
    "tx_pkts",
    "rx_bytes",
    "alloc_pd_err",
    "completed_cmds",
    "rx_drops",
    "lifespan",
    "out_of_sequence",
    "np_cnp_sent",
    "rp_cnp_handled",
    "retrans_pkts",
    "roce_adp_retrans",
)


def read(text: str) -> ToolOutput | None:
    ports = {(device, number): dict(zip(*[iter(words.split())] * 2, strict=False))
             for device, number, words in _LINE.findall(text)}  # fmt: skip
    listed = _LISTED.findall(text)
    if sum(name in _KNOWN for _, _, name, _ in listed) >= _LEAST_LISTED:
        for device, number, name, value in listed:
            ports.setdefault((device or "rdma", number or "1"), {})[name] = value
    document = json_document.find(text)
    for entry in document if isinstance(document, list) else []:
        if isinstance(entry, dict) and {"ifname", "port"} <= entry.keys() and any(name in entry for name in _KNOWN):
            ports[str(entry["ifname"]), str(entry["port"])] = {str(name): str(value) for name, value in entry.items()}
    if not ports:
        return None
    output = ToolOutput("rdma statistic")
    output.lines = len(ports)
    for (device, number), counters in ports.items():
        place = f"nic/{device}/{number}"
        for name, value in counters.items():
            if value.isdigit() and int(value) and _ENDS_CONNECTIONS.search(name):
                output.complain(place, f"{name} {value}: connections were given up", fails=False,
                                remedy="see whether it grows; then check the links between both ends")  # fmt: skip
    return output
