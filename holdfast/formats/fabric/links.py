"""Tools for an InfiniBand subnet: iblinkinfo, ibdiagnet, ibqueryerrors, perfquery, ibportstate, ibswinfo."""

import re

from holdfast.formats.fabric import counters
from holdfast.formats.fabric.subnet import label
from holdfast.formats.tool_output import ToolOutput

_OWNER = re.compile(r"^(?:CA|Switch)(?: 0x[0-9a-fA-F]+)?: ?(?:0x[0-9a-fA-F]+ )?(.*?):\s*$")
_ADAPTER = re.compile(r"(?:^|\s)(?:mlx[45]_\w+|HCA-\d+|ib[ps]?\d\w*|bnxt_re\d+)$")
_LINK = re.compile(
    r'^\s*(?:0x[0-9a-fA-F]+\s+)?(?:"\s*(?P<owner>[^"]*)"\s+)?(?:\d+\s+)?(?P<port>\d+)\[[^\]]*\]\s*==\(\s*(?P<how>[^()]*(?:\([^()]*\)[^()]*)?)\)==>'
    r'\s*(?:0x[0-9a-fA-F]+\s+)?(?:\d+\s+)?(?:(?P<far_port>\d+))?\[[^\]]*\]\s*"(?P<far>[^"]*)"\s*\((?P<note>.*)\)\s*$'
)
_COULD = re.compile(r"Could be\s+([^()]+?)\s*(?=Could be|$)")
_DIAGNET = re.compile(r"^-([EW])-\s+(.*)$", re.MULTILINE)
_STAGE = re.compile(r"^(?:-I-\s+)?([A-Z][\w/ .()-]+?)\s{2,}(\d+)\s+(\d+)(?:\s+.*)?$", re.MULTILINE)
_SWITCH_ROW = re.compile(r"^([ \t]*)([^\s|][^|\n]*?)[ \t]*\|[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_PHYSICAL = (
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "PortRcvErrors",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
)
_PORT_INFO = re.compile(
    r"^# Port info: (?:Lid \d+ )?(?:DR path slid \S+; dlid \S+; |Lid )(\S+) port (\d+)\s*$", re.MULTILINE
)
_DOTTED = re.compile(r"^(\w+):\.+(.*?)\s*$", re.MULTILINE)
MOST = 50


def read_linkinfo(text: str) -> ToolOutput | None:
    output = ToolOutput("iblinkinfo")
    owner, seen, adapter = "", 0, False
    for line in text.splitlines():
        if head := _OWNER.match(line):
            owner, adapter = head[1], line.startswith("CA")
        elif link := _LINK.match(line):
            seen += 1
            name = (link["owner"] or owner).strip()
            _link(output, name, link, adapter or bool(_ADAPTER.search(name)))
    if not seen:
        return None
    output.lines = seen
    return output


def _link(output: ToolOutput, owner: str, link: re.Match[str], adapter: bool) -> None:
    """State of a link. A switch port with nothing connected is free; a host's adapter without a peer has lost its
    link."""
    how, far = link["how"], link["far"].strip()
    place = f"switch/{label(owner) or 'unknown'}/port/{link['port']}"
    output.see(place)
    state = re.sub(r"\s+", "", how.rpartition(" ")[0].rsplit(" ", 1)[-1] + how.rpartition(" ")[2]).lower()
    to = f" to {far}" if far else ""
    if "active/" in state or "active" in how.lower():
        if better := _COULD.findall(link["note"]):
            output.complain(
                place,
                f"link{to} runs at {' '.join(how.split()[:3])} and could be {', '.join(better)}",
                fails=False,
                remedy="reseat or replace cable and transceiver at both ends",
            )
    elif far:
        output.complain(place, f"link{to} is {' '.join(how.split())}", remedy="check cable and both ports")
    elif "init" in how.lower() or "armed" in how.lower():
        output.complain(
            place,
            f"link is {' '.join(how.split())}: no subnet manager has brought it up",
            fails=False,
            remedy="look at the subnet manager",
        )
    elif adapter and "disabled" not in how.lower():
        output.complain(place, f"link is {' '.join(how.split())}", remedy="check cable, transceiver and switch port")


def read_diagnet(text: str) -> ToolOutput | None:
    if "ibdiagnet" not in text and "-I- Stage" not in text and not ("Warnings" in text and "Discovery" in text):
        return None
    output = ToolOutput("ibdiagnet")
    messages = _DIAGNET.findall(text)
    stages = [(name.strip(), int(warnings), int(errors)) for name, warnings, errors in _STAGE.findall(text)]
    if not messages and not stages:
        return None
    for kind, message in messages[:MOST]:
        place = f"switch/{_named(message)}" if _named(message) else ""
        output.complain(place, message, fails=kind == "E")
    if not messages:
        for name, warnings, errors in stages:
            if warnings or errors:
                output.complain("", f"{name}: {errors} errors, {warnings} warnings", fails=bool(errors))
    output.lines = len(stages) or len(messages)
    return output


def _named(message: str) -> str:
    found = re.search(r"(?:Node|Port|Switch|node|port)[ =:]+\"?([\w./;:-]+)\"?", message)
    return label(found[1]) if found else ""


def read_counters(text: str) -> ToolOutput | None:
    """Reads counters. ibqueryerrors applies its own thresholds; perfquery shows counts since the last clear."""
    report = counters.parse_errors(text)
    if report.ports or report.nodes_checked is not None:
        output = ToolOutput("ibqueryerrors")
        output.lines = report.nodes_checked or len(report.ports)
        for port in report.ports:
            counts = counters.shown(port.counts)
            output.complain(
                f"switch/{label(port.description)}/port/{port.port}",
                f"errors: {counts}",
                fails=False,
                remedy="see whether they grow; then clean or replace cable and transceiver",
            )
        return output
    ports = counters.parse_perfquery(text)
    if not ports:
        return None
    output = ToolOutput("perfquery")
    output.lines = len(ports)
    for one in ports:
        place = f"switch/lid{one.lid}/port/{one.port}"
        output.see(place)
        bad = {
            name: count
            for name, count in one.counts.items()
            if (name in _PHYSICAL and count) or counters.is_full(name, count)
        }
        if bad:
            output.complain(
                place,
                f"errors since the counters were cleared: {counters.shown(bad)}",
                fails=False,
                remedy="see whether they grow; then clean or replace cable and transceiver",
            )
    return output


def read_port_info(text: str) -> ToolOutput | None:
    """Reads ibportstate and `smpquery portinfo`: one block per port, `Name:......value`."""
    blocks = _PORT_INFO.split(text)
    output = ToolOutput("ibportstate")
    for lid, port, block in zip(blocks[1::3], blocks[2::3], blocks[3::3], strict=True):
        fields = dict(_DOTTED.findall(block))
        if "LinkState" not in fields:
            continue
        place = f"switch/lid{lid}/port/{port}"
        output.see(place)
        if fields["LinkState"] != "Active":
            state = f"{fields['LinkState']}/{fields.get('PhysLinkState', 'unknown')}"
            disabled = fields.get("PhysLinkState") == "Disabled"
            remedy = "enable it: ibportstate LID PORT enable" if disabled else "check cable and both ports"
            output.complain(place, f"link is {state}", fails=not disabled, remedy=remedy)
        else:
            _narrow(output, place, fields)
    output.lines = len(output.present)
    return output if output.present else None


def _narrow(output: ToolOutput, place: str, fields: dict[str, str]) -> None:
    for name in ("LinkWidth", "LinkSpeed", "LinkSpeedExt"):
        able, now = fields.get(f"{name}Enabled", ""), fields.get(f"{name}Active", "")
        best = max((float(n) for n in re.findall(r"\d+(?:\.\d+)?", able)), default=0.0)
        is_now = max((float(n) for n in re.findall(r"\d+(?:\.\d+)?", now)), default=0.0)
        if 0 < is_now < best and not (name == "LinkSpeed" and fields.get("LinkSpeedExtActive", "0")[:1].isdigit()):
            text = f"{name} is {now}, enabled is {able}"
            output.complain(place, text, fails=False, remedy="reseat or replace cable and transceiver at both ends")


def read_switch(text: str) -> ToolOutput | None:
    """Reads ibswinfo: power supplies, fans and temperature of one switch. An empty or unknown value counts as not
    read."""
    rows = [(len(indent), name, value) for indent, name, value in _SWITCH_ROW.findall(text)]
    names = [name for _, name, _ in rows]
    if "part number" not in names or not any(name.startswith(("PSU", "fan", "temperature")) for name in names):
        return None
    output = ToolOutput("ibswinfo", version=next((v for _, n, v in rows if n == "firmware version"), ""))
    guid = next((value for _, name, value in rows if name == "GUID"), "unknown")
    place, part = f"switch/{guid}", ""
    output.see(place)
    for indent, name, value in rows:
        part = name.split()[0] if name.startswith("PSU") else part if indent else ""
        if name.endswith("status") or name == "DC power":
            if value and value.upper() != "OK":
                output.complain(
                    place,
                    f"{part + ' ' if part and indent else ''}{name} is {value}",
                    remedy="replace the power supply or fan",
                )
            elif not value:
                output.miss(place, f"{part} {name}", "ibswinfo shows no value")
        elif name.startswith("fan#") and value == "0":
            output.complain(place, f"{name.partition(' ')[0]} stands still", remedy="replace the fan")
    temperature = next((value for _, name, value in rows if name.startswith("temperature")), "")
    if temperature.isdigit():
        output.add(place, "switch_temperature_celsius", float(temperature))
        if int(temperature) >= HOT_CELSIUS:
            output.complain(place, f"{temperature} C", fails=False, remedy="check the airflow of the switch")
    elif temperature:
        output.miss(place, "switch_temperature_celsius", f"ibswinfo prints {temperature!r}")
    output.lines = len(rows)
    return output


HOT_CELSIUS = 75
