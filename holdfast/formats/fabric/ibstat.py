"""`ibstat` and `ibstatus`: the RDMA ports of a host."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from holdfast.formats.tool_output import NODE, ToolOutput

_CA = re.compile(r"^[^\S\n]*CA '([^']+)'")
_CA_LINE = re.compile(_CA.pattern, re.MULTILINE)
_COUNTED = re.compile(r"^[^\S\n]*Number of ports:\s*(\d{1,3})\s*$", re.MULTILINE)
_PORT = re.compile(r"^\s*Port (\d+):\s*$")
_FIELD = re.compile(r"^\s*([A-Za-z][\w ]*?):\s+(.*?)\s*(?:#.*)?$")
_STATUS = re.compile(r"^Infiniband device '([^']+)' port (\d+) status:")
_FAILED = re.compile(r"^ibpanic: (.*?'([\w.-]+)'.*)$", re.MULTILINE)
_NO_DEVICE = re.compile(r"^Fatal error:\s+(device '[^'\n]*': sys files not found.*?)\s*$", re.MULTILINE)
_STATES = {"down": 1.0, "initializing": 2.0, "initialize": 2.0, "init": 2.0, "armed": 3.0, "active": 4.0}
_PHYSICAL = {
    "sleep": 1.0,
    "polling": 2.0,
    "disabled": 3.0,
    "portconfigurationtraining": 4.0,
    "linkup": 5.0,
    "linkerrorrecovery": 6.0,
}
_OF_A_PORT = frozenset(
    {"state", "physical state", "phys state", "rate", "base lid", "sm lid", "lmc", "port guid", "link layer"}
)
Port = dict[str, str]


def read(text: str) -> ToolOutput | None:
    if no_device := _NO_DEVICE.search(text):
        return _without_device(no_device[1])
    output = output_of("ibstat" if _CA.search(text) or "CA '" in text else "ibstatus", _ports(text))
    if output is not None:
        for error, device in _FAILED.findall(text):
            output.doubt(f"nic/{device}", f"the tool gave up here: {error}")
        for place, why in _cut(text):
            output.doubt(place, f"the text breaks off: {why}")
    return output


def _cut(text: str) -> Iterator[tuple[str, str]]:
    """Reports truncation: adapters with fewer ports than they announce, and a last port with fewer fields than the
    others."""
    ports = _all_ports(text)
    heads = list(_CA_LINE.finditer(text))
    for following, head in enumerate(heads, start=1):
        end = heads[following].start() if following < len(heads) else len(text)
        device, counted = head[1].replace("\\", ""), _COUNTED.search(text, head.end(), end)
        seen = sum(1 for one, _ in ports if one == device)
        if seen < (least := int(counted[1]) if counted else 1):
            yield f"nic/{device}", f"{device} has {least} ports and the text shows {seen}"
    if ports:
        (device, number), last = list(ports.items())[-1]
        others = [_OF_A_PORT.intersection(port) for where, port in ports.items() if where != (device, number)]
        expected = frozenset.intersection(*others) if others else frozenset({"state"})
        if lacking := sorted(expected.difference(last)):
            yield f"nic/{device}/{number}", f"its last port lacks {', '.join(lacking)}"


def _without_device(why: str) -> ToolOutput:
    output = ToolOutput("ibstatus")
    output.complain(NODE, f"no RDMA device: {why}", remedy="see whether lspci has the adapter, and load its driver")
    return output


def output_of(tool: str, ports: Mapping[tuple[str, str], Port]) -> ToolOutput | None:
    """The ports of a host, each compared with its equivalents: same adapter type, link layer and number, another
    device.

    On healthy nodes the second port of a card with one cable is down next to the first.
    """
    if not ports:
        return None
    output = ToolOutput(tool)
    up = Counter(_peers(number, port) for (_, number), port in ports.items() if _state(port) == 4.0)
    for (device, number), port in ports.items():
        _one(output, f"nic/{device}/{number}", port, up[_peers(number, port)])
    return output


def _ports(text: str) -> dict[tuple[str, str], Port]:
    return {where: port for where, port in _all_ports(text).items() if "state" in port}


def _all_ports(text: str) -> dict[tuple[str, str], Port]:
    found: dict[tuple[str, str], Port] = {}
    device, adapter = "", Port()
    port: Port | None = None
    for line in text.splitlines():
        if ca := _CA.match(line):
            device, adapter, port = ca[1].replace("\\", ""), {}, None
        elif status := _STATUS.match(line):
            port = found[status[1], status[2]] = {}
        elif device and (number := _PORT.match(line)):
            port = found[device, number[1]] = dict(adapter)
        elif field := _FIELD.match(line):
            (port if port is not None else adapter)[field[1].lower().replace("_", " ")] = field[2].strip()
    return found


def _word(text: str) -> str:
    """'4: ACTIVE' and 'Active' -> 'active'."""
    return re.sub(r"[^a-z]", "", text.lower())


def _state(port: Port) -> float | None:
    return _STATES.get(_word(port["state"]))


def _physical(port: Port) -> str:
    return port.get("physical state") or port.get("phys state") or ""


def _peers(number: str, port: Port) -> tuple[str, str, str]:
    return port.get("ca type", ""), port.get("link layer", ""), number


def _one(output: ToolOutput, place: str, port: Port, up: int) -> None:
    state = _state(port)
    if state is None:
        output.see(place)
        output.miss(place, "port_state", f"{output.tool} prints {port['state']!r}")
        return
    expected = state == 4.0 or (up > 0 and bool(port.get("ca type") or output.tool == "ibstatus"))
    if expected:  # an unused port is not a part of the node
        output.see(place)
    output.add(place, "port_state", state)
    output.add(place, "port_up", float(state == 4.0))
    output.add(place, "port_expected", float(expected))
    physical = _PHYSICAL.get(_word(_physical(port)))
    if physical is not None:
        output.add(place, "port_phys_state", physical)
    if (rate := re.match(r"\d+(?:\.\d+)?", port.get("rate", ""))) and float(rate[0]) > 0:
        output.add(place, "port_rate_bytes_per_second", float(rate[0]) * 1e9 / 8)
    for name, field in (
        ("port_link_layer", "link layer"),
        ("port_firmware_version", "firmware version"),
        ("port_hca_type", "ca type"),
    ):
        if port.get(field):
            output.add(place, name, port[field])
    if state == 4.0 and physical == _PHYSICAL["linkerrorrecovery"]:
        output.complain(
            place,
            f"port is {port['state']} and recovers from errors of its link ({_physical(port)})",
            fails=False,
            remedy="clean or replace cable and transceiver",
        )
    if state != 4.0:
        _complain(output, place, port, state in (2.0, 3.0), expected, up)


def _complain(output: ToolOutput, place: str, port: Port, waits: bool, expected: bool, up: int) -> None:
    text = f"port is {port['state']} ({_physical(port) or 'physical state not given'})"
    if waits:
        output.complain(place, f"{text}: no subnet manager has brought it up", remedy="look at the subnet manager")
    elif expected:
        output.complain(place, f"{text} while {up} like it are up", remedy="check cable, transceiver and switch port")
    elif up or port.get("link layer", "InfiniBand") != "Ethernet":
        output.complain(
            place,
            f"{text} while {up} ports of other devices are up" if up else f"{text}; no port like it is up",
            fails=False,
            remedy="connect it, or list the ports that should be up in the manifest",
        )
    else:
        output.doubt(place, f"{text}, and so is every port like it: nothing says whether it is in use")
