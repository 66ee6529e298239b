"""Tables of nvidia-smi: the summary without options, `nvlink -s`, `nvlink -e` and `c2c -s`."""

import re

from holdfast.catalog.gpus import gpu_model
from holdfast.formats.nvidia_smi import values
from holdfast.formats.tool_output import NODE, ToolOutput

_VERSION = re.compile(r"NVIDIA-SMI\s+\S+\s+(?:KMD Version|Driver Version):\s*(\S+)")
_FIRST = re.compile(
    r"^\|\s+(\d+)\s+(\S.*?)\s+(On|Off|N/A|ERR!|WDDM|TCC|MCDM)\s*\|\s*([0-9A-Fa-f:.]{7,16}|N/A)\s+\S+\s*\|\s*(\S+)\s*\|\s*$"
)
_SECOND = re.compile(
    r"^\|\s*(N/A|\d+%|ERR!)\s+(\d+C|N/A|ERR!)\s+(P\d+|N/A|ERR!)\s+(N/A|[^\s/|]+)\s*/\s*(N/A|[^\s/|]+)\s*\|"
    r"\s*(?:Not Supported|(N/A|[^\s/|]+)\s*/\s*(N/A|[^\s/|]+))\s*\|"
    r"\s*([^\s|]+)\s"  # a Jetson shares the memory of its host
)
_NVLINK_GPU = re.compile(r"^\s*GPU (\d+): (.*?)(?: \(UUID: (.*?)\))?\s*$")
_BY_ADDRESS = re.compile(r"^\s*GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_LINK = re.compile(r"^\s+Link (\d+): ([^:]*?)\s*$")
_COUNTED = re.compile(r"^\s+Link (\d+): ([^:]+?): (\S+)(?: \S+)?\s*$")  # NVLink 5 has more counters
_C2C = re.compile(r"^\s+C2C Link (\d+): (.*?)\s*$")  # between a GPU and its Grace CPU
_CUT_RATE = re.compile(r"[1-9][\d.]*(?: G?B?/?)?")  # the last line of a truncated text
_CUT = re.compile(r"^\s*(?:\.\.\.|…|\[\.\.\.\]|--More--)\s*$")
_RATE = re.compile(r"[\d.]+ GB/s|<active>|active", re.IGNORECASE)
_NO_ANSWER = "ERR!"
_RESET = "look for an Xid in the kernel log, then drain the node and reset the GPU"
_DRIVER_MODELS = ("WDDM", "TCC", "MCDM")  # on Windows, in place of persistence mode
_ALL_INACTIVE = re.compile(r"^\s*NVML: Unable to retrieve NVLink information as all links are inActive")
_ON_A_BASEBOARD = re.compile(r"SXM|HBM3|HGX|B200|B300")  # without a bridge, a card in a slot has no link and needs none
_ERRORS = re.compile(r"^\s+Link (\d+): (Replay|Recovery|CRC FLIT|CRC|Data CRC)\w* Errors?: (\d+)", re.IGNORECASE)
_HARMLESS = re.compile(r"(?i)FEC Errors|packets|bytes|blocks|successful|BER\b|raw|discard", re.IGNORECASE)
_FAULT = re.compile(r"(?i)errors?$|events?$|recover|overrun|malformed")
_COUNTERS = {
    "replay": "gpu_nvlink_replay_errors_total",
    "recovery": "gpu_nvlink_recovery_errors_total",
    "crc": "gpu_nvlink_crc_errors_total",
}


def read_summary(text: str) -> ToolOutput | None:
    found_version = _VERSION.search(text)
    output = ToolOutput("nvidia-smi", version=found_version[1] if found_version else "")
    current: tuple[str, dict[str, str]] | None = None
    for line in text.splitlines():
        if first := _FIRST.match(line):
            number, model, persistence, address, ecc = first.groups()
            persistence = "N/A" if persistence in _DRIVER_MODELS else persistence
            fields = {"persistencemode": persistence, "ecc.errors.uncorrected.volatile.total": ecc}
            if not model.endswith("..."):
                fields["productname"] = model
            current = (f"gpu/{int(number)}", fields)
            if address != "N/A":
                output.add(current[0], "gpu_pci_address", values.address_of(address))
        elif (second := _SECOND.match(line)) and current is not None:
            fan, temperature, state, power, cap, used, total, busy = second.groups()
            place, fields = current
            fields |= {"temperature.gpu": temperature, "power.draw": power, "power.limit": cap, "pstate": state}
            fields |= {"memory.used": used or "N/A", "memory.total": total or "N/A", "utilization.gpu": busy}
            values.take(output, place, fields)
            if _NO_ANSWER in (fan, state):  # signals that no check reads; the others are evaluated by their checks
                what = " and ".join(
                    name for name, cell in (("fan", fan), ("performance state", state)) if cell == _NO_ANSWER
                )
                output.complain(place, f"nvidia-smi cannot read its {what} ({_NO_ANSWER})", remedy=_RESET)
            current = None
    if not output.present:
        return None
    if output.version:
        output.add(NODE, "driver_version", output.version)
    return output


def read_nvlink(text: str) -> ToolOutput | None:
    """Reads states and speeds (`-s`), and error counters (`-e`); the same GPU may occur in both."""
    return _NvlinkText().read(text)


class _NvlinkText:
    def __init__(self) -> None:
        self.output = ToolOutput("nvidia-smi nvlink")
        self.links: dict[str, dict[int, bool]] = {}
        self.counts: dict[tuple[str, str], float] = {}
        self.faults: dict[str, list[tuple[str, str, str]]] = {}
        self.addresses: list[str] = []
        self.place = self.model = ""

    def read(self, text: str) -> ToolOutput | None:
        for line in text.splitlines():
            if not self._take_head(line) and self.place:
                self._take_line(line)
        if not self.links and not self.counts and not self.output.present:
            return None
        self._drop_the_cut()
        _report_links(self.output, self.links, self.counts)
        for place, counted in self.faults.items():
            _report_faults(self.output, place, counted)
        return self.output

    def _drop_the_cut(self) -> None:
        """Drops a truncated list of links.

        The tool lists every link, including those that are down, so a short last list is truncated. A link that the
        remaining part shows as down still counts as down.
        """
        model = gpu_model(self.model)
        listed = self.links.get(self.place, {})
        if model is None or model.nvlink_optional or not listed or not all(listed.values()):
            return
        if len(listed) < model.nvlink_lanes:
            del self.links[self.place]
            self.output.doubt(self.place, f"the list of its NVLinks breaks off after {len(listed)}")
            self.output.see(self.place)

    def _take_head(self, line: str) -> bool:
        if gpu := _NVLINK_GPU.match(line):
            self.place, self.model = f"gpu/{int(gpu[1])}", gpu[2]
            self.output.add(self.place, "gpu_model", self.model)
            if gpu[3]:
                self.output.add(self.place, "gpu_uuid", gpu[3])
        elif address := _BY_ADDRESS.match(line):
            self.place, self.model = f"gpu/{len(self.addresses)}", ""
            self.addresses.append(values.address_of(address[1]))
            self.output.add(self.place, "gpu_pci_address", self.addresses[-1])
        else:
            return False
        return True

    def _take_line(self, line: str) -> None:
        place = self.place
        if place in self.links and _CUT.match(line):
            del self.links[place]
            self.output.doubt(place, "the list of its NVLinks breaks off")
            self.place = ""
        elif _inactive_or_c2c(self.output, place, self.model, line):
            pass
        elif errors := _ERRORS.match(line):
            signal = _COUNTERS["crc" if "crc" in errors[2].lower() else errors[2].lower()]
            self.counts[place, signal] = self.counts.get((place, signal), 0.0) + float(errors[3])
        elif counted := _COUNTED.match(line):
            self.output.see(place)
            self.faults.setdefault(place, []).append((counted[1], counted[2], counted[3]))
        elif link := _LINK.match(line):
            self.links.setdefault(place, {})[int(link[1])] = bool(
                _RATE.fullmatch(link[2]) or _CUT_RATE.fullmatch(link[2])
            )


def _report_faults(output: ToolOutput, place: str, counted: list[tuple[str, str, str]]) -> None:
    """Reports NVLink 5 counters: a recovered link is degraded for a while, one that could not recover has failed."""
    for link, name, value in counted:
        if value.isdigit() and int(value) and _FAULT.search(name) and not _HARMLESS.search(name):
            output.complain(place, f"NVLink {link}: {name} {value}", fails="failed" in name.lower())


def _inactive_or_c2c(output: ToolOutput, place: str, model: str, line: str) -> bool:
    """Whether the line says that all NVLinks are inactive, or is about a link between a GPU and its Grace CPU."""
    c2c = _C2C.match(line)
    if c2c:
        output.see(place)
        if not _RATE.fullmatch(c2c[2]):
            text = f"C2C link {c2c[1]} to the CPU is {c2c[2].strip('<>')}"
            output.complain(place, text, remedy="drain the node and power-cycle it; if it returns, open a case")
    elif _ALL_INACTIVE.match(line):
        output.see(place)
        if _ON_A_BASEBOARD.search(model):
            output.complain(place, "all NVLinks are inactive", remedy="see the fabric manager, then reset the GPUs")
    else:
        return False
    return True


def _report_links(output: ToolOutput, links: dict[str, dict[int, bool]], counts: dict[tuple[str, str], float]) -> None:
    for place, states in links.items():
        output.see(place)
        output.add(place, "gpu_nvlink_active_lanes", float(sum(states.values())))
        down = ",".join(str(number) for number, up in states.items() if not up)
        output.add(place, "gpu_nvlink_down_links", down)
        if down and len(links) == 1 and any(states.values()):
            text = f"some of its NVLinks are inactive ({down}); no other GPU is shown to compare with"
            output.complain(place, text, fails=False, remedy="compare with its siblings; reset the GPUs of the node")
    for (place, name), count in counts.items():
        output.see(place)
        output.add(place, name, count)
        if count and name != _COUNTERS["replay"]:
            what = name.removeprefix("gpu_nvlink_").removesuffix("_total").replace("_", " ")
            output.complain(place, f"NVLink {what}: {count:.0f} since the last reset", fails=False)
