"""Port states as `rdma link`, `ibv_devinfo` and `ibdev2netdev` print them.

None of these tools prints the type of adapter. A port that is down while others are up may therefore be unused: it is
degraded, not failed.
"""

import re

from holdfast.formats import json_document
from holdfast.formats.fabric import ibstat
from holdfast.formats.tool_output import ToolOutput

_RDMA_LINK = re.compile(r"^(?:\d+/\d+: |link )?([\w.-]+)/(\d+):? .*?\bstate (\w+) physical_state (\w+)", re.MULTILINE)
_UNNAMED = "unnamed"  # the name of the device was cut off
_HCA = re.compile(r"^\s*hca_id:\s*(\S+)")
_STATE = re.compile(r"^[^\S\n]*state:[^\S\n]*PORT_[A-Z]+ \(\d\)", re.MULTILINE)
_PORT = re.compile(r"^\s*port:\s*(\d+)\s*$")
_FIELD = re.compile(r"^\s*(state|link_layer|phys_state|fw_ver|active_width|active_speed):\s*(.*?)\s*$")
_NETDEV = re.compile(r"^[^\S\n]*(?:[0-9a-f:.]+ )?([\w.-]+)\s+port\s+(\d+)\s+==>\s+(\S+)\s+\((Up|Down)\)", re.MULTILINE)


def read(text: str) -> ToolOutput | None:
    return _rdma_link(text) or _devinfo(text) or _netdev(text)


def _rdma_link(text: str) -> ToolOutput | None:
    ports = {
        (device, number): {"state": state, "physical state": physical.replace("_", "")}
        for device, number, state, physical in _RDMA_LINK.findall(text)
    }
    document = json_document.find(text)
    for entry in document if isinstance(document, list) else []:
        if isinstance(entry, dict) and {"ifname", "port", "state"} <= entry.keys():
            physical = str(entry.get("physical_state", "")).replace("_", "")
            ports[str(entry["ifname"]), str(entry["port"])] = {"state": str(entry["state"]), "physical state": physical}
    return ibstat.output_of("rdma link", ports)


def _devinfo(text: str) -> ToolOutput | None:
    ports: dict[tuple[str, str], dict[str, str]] = {}
    device, firmware = _UNNAMED if _STATE.search(text) else "", ""
    port: dict[str, str] | None = None
    for line in text.splitlines():
        if hca := _HCA.match(line):
            device, firmware, port = hca[1], "", None
        elif device and (number := _PORT.match(line)):
            port = ports[device, number[1]] = {"firmware version": firmware}
        elif device and (field := _FIELD.match(line)):
            name, value = field[1], field[2].partition(" (")[0]
            if name == "fw_ver":
                firmware = value
            else:
                if port is None:  # grep removed the line with the number
                    port = ports[device, "1"] = {"firmware version": firmware}
                port[name.replace("_", " ").replace("phys state", "physical state")] = value.removeprefix("PORT_")
    return ibstat.output_of("ibv_devinfo", {where: port for where, port in ports.items() if "state" in port})


def _netdev(text: str) -> ToolOutput | None:
    """The state of the interface. An InfiniBand port works without one, so Down has no meaning if no interface is
    up."""
    found = _NETDEV.findall(text)
    has_addresses = any(state == "Up" and interface.startswith("ib") for _, _, interface, state in found)
    ports = {
        (device, number): {
            "state": "Active" if state == "Up" else "Down",
            "link layer": "InfiniBand" if interface.startswith("ib") else "Ethernet",
        }
        for device, number, interface, state in found
        if has_addresses or not interface.startswith("ib")
    }
    output = ibstat.output_of("ibdev2netdev", ports) or (ToolOutput("ibdev2netdev") if found else None)
    for device, number, interface, _ in found:
        if output is not None and (device, number) not in ports:
            output.doubt(f"nic/{device}/{number}", f"Down is the state of {interface}, not of the port: see ibstat")
    return output
