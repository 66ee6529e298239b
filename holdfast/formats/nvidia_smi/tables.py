"""Tables of nvidia-smi: the summary without options, `nvlink -s`, `nvlink -e` and `c2c -s`."""

import re

from holdfast.formats.nvidia_smi import values
from holdfast.formats.tool_output import NODE, ToolOutput

_VERSION = re.compile(r"NVIDIA-SMI\s+\S+\s+(?:KMD Version|Driver Version):\s*(\S+)")
_FIRST = re.compile(
    r"^\|\s+(\d+)\s+(\S.*?)\s+(On|Off|N/A|ERR!|WDDM|TCC|MCDM)\s*\|\s*([0-9A-Fa-f:.]{7,16})\s+\S+\s*\|\s*(\S+)\s*\|\s*$"
)
_SECOND = re.compile(
    r"^\|\s*(N/A|\d+%|ERR!)\s+(\d+C|N/A|ERR!)\s+(P\d+|N/A|ERR!)\s+(\S+)\s*/\s*(\S+)\s*\|\s*(\S+)\s*/\s*(\S+)\s*\|\s*(\S+)\s+"
)
_NVLINK_GPU = re.compile(r"^\s*GPU (\d+): (.*?)(?: \(UUID: (.*?)\))?\s*$")
_LINK = re.compile(r"^\s+Link (\d+): (.*?)\s*$")
_C2C = re.compile(r"^\s+C2C Link (\d+): (.*?)\s*$")  # between a GPU and its Grace CPU
_CUT = re.compile(r"^\s*(?:\.\.\.|…|\[\.\.\.\]|--More--)\s*$")
_RATE = re.compile(r"[\d.]+ GB/s|<active>|active", re.IGNORECASE)
_DRIVER_MODELS = ("WDDM", "TCC", "MCDM")  # of Windows, in the place of persistence mode
_ALL_INACTIVE = re.compile(r"^\s*NVML: Unable to retrieve NVLink information as all links are inActive")
_ON_A_BASEBOARD = re.compile(r"SXM|HBM3|HGX|B200|B300")  # without a bridge a card in a slot has no link, and needs none
_ERRORS = re.compile(r"^\s+Link (\d+): (Replay|Recovery|CRC FLIT|CRC|Data CRC)\w* Errors?: (\d+)", re.IGNORECASE)
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
            output.add(current[0], "gpu_pci_address", values.address_of(address))
        elif (second := _SECOND.match(line)) and current is not None:
            _, temperature, state, power, cap, used, total, busy = second.groups()
            place, fields = current
            fields |= {"temperature.gpu": temperature, "power.draw": power, "power.limit": cap, "pstate": state}
            fields |= {"memory.used": used, "memory.total": total, "utilization.gpu": busy}
            values.take(output, place, fields)
            current = None
    if not output.present:
        return None
    if output.version:
        output.add(NODE, "driver_version", output.version)
    return output


def read_nvlink(text: str) -> ToolOutput | None:
    """States and speeds (`-s`), and error counters (`-e`); the same GPU may come in both."""
    output = ToolOutput("nvidia-smi nvlink")
    links: dict[str, dict[int, bool]] = {}
    counts: dict[tuple[str, str], float] = {}
    place = model = ""
    for line in text.splitlines():
        if gpu := _NVLINK_GPU.match(line):
            place = f"gpu/{int(gpu[1])}"
            model, uuid = gpu[2], gpu[3]
            output.add(place, "gpu_model", model)
            if uuid:
                output.add(place, "gpu_uuid", uuid)
        elif place in links and _CUT.match(line):
            del links[place]
            output.doubt(place, "the list of its NVLinks breaks off")
            place = ""
        elif place and _inactive_or_c2c(output, place, model, line):
            continue
        elif place and (errors := _ERRORS.match(line)):
            signal = _COUNTERS["crc" if "crc" in errors[2].lower() else errors[2].lower()]
            counts[place, signal] = counts.get((place, signal), 0.0) + float(errors[3])
        elif place and (link := _LINK.match(line)):
            links.setdefault(place, {})[int(link[1])] = bool(_RATE.fullmatch(link[2]))
    if not links and not counts and not output.present:
        return None
    _tell_links(output, links, counts)
    return output


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


def _tell_links(output: ToolOutput, links: dict[str, dict[int, bool]], counts: dict[tuple[str, str], float]) -> None:
    for place, states in links.items():
        output.see(place)
        output.add(place, "gpu_nvlink_active_lanes", float(sum(states.values())))
        output.add(place, "gpu_nvlink_down_links", ",".join(str(number) for number, up in states.items() if not up))
    for (place, name), count in counts.items():
        output.see(place)
        output.add(place, name, count)
        if count and name != _COUNTERS["replay"]:
            what = name.removeprefix("gpu_nvlink_").removesuffix("_total").replace("_", " ")
            output.complain(place, f"NVLink {what}: {count:.0f} since the last reset", fails=False)
