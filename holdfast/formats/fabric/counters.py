"""Counters of remote ports in the subnet, as perfquery and ibqueryerrors print them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.catalog import nics
from holdfast.formats.fabric.subnet import guid_of

_HEAD = re.compile(r"# Port[\w ]* ?counters: .*?Lid (\d{1,6}) port (\d{1,3})\b")
_VALUE = re.compile(r"(\w+):\.*(\d{1,20})\s*$")
_NOT_COUNTED = frozenset({"PortSelect", "CounterSelect", "CounterSelect2"})
ALL_PORTS = 255
_NODE = re.compile(r'Errors for (?:0x[0-9a-fA-F]+ )?"(.*)"')
_PORT = re.compile(r"\s*GUID 0x([0-9a-fA-F]{1,16}) port (\d{1,3}):(.*)")
_ERROR = re.compile(r"\[(\w+) == (\d{1,20})(?: \([^)]*\))?\]")
_SUMMARY = re.compile(r"## Summary: (\d+) nodes checked")
_WORD_BYTES = 4
_TRAFFIC = re.compile(r"data|p(?:ac)?kts|packets|wait|unicast|multicast", re.IGNORECASE)
_DATA = {"PortXmitData": "port_xmit_data_bytes_total", "PortRcvData": "port_rcv_data_bytes_total"}


@dataclass(frozen=True, slots=True)
class LidCounters:
    """One port by its LID, as perfquery prints it."""

    lid: int
    port: int
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class PortErrors:
    """One port with errors, as ibqueryerrors prints it. For a host, the guid is that of the port, not of the node."""

    guid: str
    description: str
    port: int
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class ErrorReport:
    ports: list[PortErrors]
    nodes_checked: int | None  # None: the report ends before its summary


def parse_perfquery(text: str) -> list[LidCounters]:
    found: list[LidCounters] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            found.append(LidCounters(int(head[1]), int(head[2]), {}))
        elif found and (value := _VALUE.match(line)) and value[1] not in _NOT_COUNTED:
            found[-1].counts[value[1]] = int(value[2])
    return [one for one in found if one.port != ALL_PORTS]


def parse_errors(text: str) -> ErrorReport:
    ports: list[PortErrors] = []
    description, checked = "", None
    for line in text.splitlines():
        if node := _NODE.match(line):
            description = node[1]
        elif port := _PORT.match(line):
            counts = {name: int(count) for name, count in _ERROR.findall(port[3])}
            ports.append(PortErrors(guid_of(port[1]), description, int(port[2]), counts))
        elif summary := _SUMMARY.match(line):
            checked = int(summary[1])
    return ErrorReport(ports, checked)


def is_full(name: str, count: int) -> bool:
    """Whether an error counter reached its largest value, where it stops. Traffic counters reach it within seconds."""
    return not _TRAFFIC.search(name) and nics.is_saturated(signal_of(name)[0], float(count))


def shown(counts: Mapping[str, int]) -> str:
    """'SymbolErrorCounter 12, LinkDownedCounter: the counter is at its maximum (255)'."""
    return ", ".join(
        f"{name}: the counter is at its maximum ({count})" if is_full(name, count) else f"{name} {count}"
        for name, count in counts.items()
    )


def signal_of(name: str) -> tuple[str, int]:
    """SymbolErrorCounter -> port_symbol_error_total, the name of the same counter on a host's own port, and the
    value of one count."""
    if name in _DATA:
        return _DATA[name], _WORD_BYTES
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.removesuffix("Counter").removeprefix("Port")).lower()
    return f"port_{words}_total", 1
