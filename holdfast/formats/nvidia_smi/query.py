"""`nvidia-smi -q` as text or as XML (`-x`), of any driver: a tree of fields for every GPU."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from holdfast.formats.nvidia_smi import breaks_off, values
from holdfast.formats.nvidia_smi.fields import key
from holdfast.formats.tool_output import NODE, ToolOutput

MARK = "NVSMI LOG"
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_EXCERPT = re.compile(
    r"^[^\S\n]*(?:Remapped Rows|Retired Pages|ECC Errors|ECC Mode|Clocks (?:Throttle|Event) Reasons|FB Memory Usage"
    r"|(?:GPU )?Power Readings|Temperature|Max Clocks|Fabric|PCI|GPU Link Info|GPU Operation Mode|Utilization"
    r"|vGPU Software Licensed Product)"
    r"\s*\n\s+\S[^:\n]*?(?:\s{2,}: |\n\s+\S[^:\n]*?\s{2,}: )",
    re.MULTILINE,
)
_SECTIONS = re.compile(
    r"<(?:gpu_temp|temperature|(?:gpu_)?power_readings|clocks|clocks_(?:throttle|event)_reasons|fb_memory_usage|ecc_errors"
    r"|remapped_rows|performance_state|fan_speed|utilization|retired_pages|pci_gpu_link_info)>"
)
LEAST_SECTIONS = 2
MOST_LEVELS = 8  # of nested elements
_TAG = re.compile(r"<(/?)([a-z]\w{1,80})[^<>]{0,200}>([^<]{0,400})")
_LINE = re.compile(r"^(\s*)([^:]*?)\s*(?::(?: (.*))?)?$")
_PROCESS_KEYS = ("processid", "pid")
_HANDLE = re.compile(
    r"Unable to determine the device handle for (?:gpu|GPU)\s?(?:\d+: )?\s*([0-9A-Fa-f:.]{7,}\d):?\s*(.*)",
    re.IGNORECASE,
)
_NO_DRIVER = re.compile(
    r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.*", re.IGNORECASE
)
_NVML = re.compile(r"Failed to initialize NVML: (.*)", re.IGNORECASE)
_INFOROM = re.compile(r"WARNING: infoROM is corrupted at gpu\s+([0-9A-Fa-f:.]{7,})", re.IGNORECASE)
_NO_DEVICES = re.compile(r"^No devices were found", re.IGNORECASE | re.MULTILINE)
Fields = dict[str, str]


def read_text(text: str) -> ToolOutput | None:
    """Reads the text; None if it is not output of `nvidia-smi -q`."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if _GPU.match(line)]
    if not starts and (section := _EXCERPT.search(text)):
        return _excerpt(text[section.start() :].lstrip("\n").splitlines())
    if not starts or not any(" : " in line for line in lines[starts[0] : starts[0] + 200]):
        return None
    output = ToolOutput("nvidia-smi -q")
    head = "\n".join(lines[: starts[0]])
    if found := re.search(r"^Driver Version\s*:\s*(\S+)", head, re.MULTILINE):
        output.version = found[1]
        output.add(NODE, "driver_version", found[1])
    gpus: dict[str, Fields] = {}
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        address = values.address_of(lines[start].split()[1])
        gpus[address] = _block(lines[start + 1 : end])  # the last of several captures of one GPU counts
    if why := breaks_off.of_sections(list(gpus.values()), lines[-1] if text[-1:] != "\n" else ""):
        output.doubt(f"gpu/{len(gpus) - 1}", why)
    if why := breaks_off.too_few(text, len(gpus)):
        output.doubt(NODE, why)
    for number, (address, found_fields) in enumerate(gpus.items()):
        _gpu(output, number, address, found_fields)
    return output


def _excerpt(lines: list[str]) -> ToolOutput | None:
    """Reads sections that were copied without the line that names their GPU."""
    output = ToolOutput("nvidia-smi -q")
    values.take(output, "gpu/0", _block([f"    {line}" for line in lines if line.strip() != "[...]"]))
    return output if output.signals else None


def _block(lines: list[str]) -> Fields:
    """Reads indented lines: a name without a value opens a level."""
    found: Fields = {}
    above: list[tuple[int, str]] = []
    for line in lines:
        if line and not line[0].isspace():
            break
        matched = _LINE.match(line.rstrip())
        if matched is None or not matched[2]:
            continue
        indent, name, value = len(matched[1].expandtabs()), key(matched[2]), matched[3]
        while above and above[-1][0] >= indent:
            above.pop()
        if value is None:
            above.append((indent, name))
            continue
        path = ".".join([*(upper for _, upper in above), name])
        if name in _PROCESS_KEYS and "processes" in path:
            found["processes"] = str(int(found.get("processes", "0")) + 1)
        found.setdefault(path, value.strip())
    if "processes" not in found and any(name == "processes" for name in (path.split(".")[0] for path in found)):
        found["processes"] = "0"
    return found


def read_xml(text: str) -> ToolOutput | None:
    start = text.find("<nvidia_smi_log")
    if start < 0:
        return _fragment(text) if len(_SECTIONS.findall(text)) >= LEAST_SECTIONS else None
    end = text.find("</nvidia_smi_log>", start)
    try:
        root = ElementTree.fromstring(text[start : end + len("</nvidia_smi_log>")] if end > 0 else text[start:])
    except (ElementTree.ParseError, ValueError):  # ValueError: the text is in no known encoding
        return _fragments(text[start:])
    output = ToolOutput("nvidia-smi -q -x")
    if version := (root.findtext("driver_version") or "").strip():
        output.version = version
        output.add(NODE, "driver_version", version)
    for number, gpu in enumerate(root.iter("gpu")):
        address = values.address_of(gpu.get("id", ""))
        _gpu(output, number, address, dict(_walk(gpu, ())))
    if why := breaks_off.too_few(text[:start] + _attached(root), len(root.findall(".//gpu"))):
        output.doubt(NODE, why)
    return output


def _attached(root: ElementTree.Element) -> str:
    return f"\nAttached GPUs : {(root.findtext('attached_gpus') or '').strip()}\n"


def _fragments(text: str) -> ToolOutput | None:
    """Reads a truncated document: its GPUs as far as they are complete."""
    output = ToolOutput("nvidia-smi -q -x")
    for number, part in enumerate(re.split(r"<gpu id=", text)[1:]):
        address, _, fields = part.partition(">")
        _gpu(output, number, values.address_of(address.strip("\"' ")), _leaves(fields))
    if not output.present:
        return None
    output.doubt(NODE, "the XML document breaks off: the missing part is not evaluated")
    return output


def _fragment(text: str) -> ToolOutput | None:
    """Reads sections of one GPU that were copied out of a document."""
    output = ToolOutput("nvidia-smi -q -x")
    values.take(output, "gpu/0", _leaves(text))
    return output if output.signals else None


def _leaves(text: str) -> Fields:
    """Values by path, also for elements that are not closed or not opened."""
    found: Fields = {}
    above: list[str] = []
    for closing, tag, value in _TAG.findall(text):
        name = key(tag)
        if closing:
            del above[len(above) - 1 - above[::-1].index(name) if name in above else 0 :]
            continue
        above = [*above[-MOST_LEVELS:], name]
        if value.strip():
            found.setdefault(".".join(above), value.strip())
    return found


def _walk(element: ElementTree.Element, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for child in element:
        path = (*above, key(child.tag))
        if child.tag == "processes":
            yield "processes", str(len(child.findall("process_info")))
        elif len(child):
            yield from _walk(child, path)
        else:
            yield ".".join(path), (child.text or "").strip()


def _gpu(output: ToolOutput, number: int, address: str, found: Fields) -> None:
    place = f"gpu/{number}"
    processes = found.pop("processes", None)
    values.take(output, place, found)
    output.add(place, "gpu_pci_address", address)
    if processes is not None and processes.isdigit():
        output.add(place, "gpu_processes", float(processes))


def read_failure(text: str) -> ToolOutput | None:
    """Reads an error message in place of the output: no driver, no devices, a GPU that cannot be opened."""
    output = ToolOutput("nvidia-smi")
    if found := _NO_DRIVER.search(text) or _NVML.search(text):
        output.complain(
            NODE, found[0], remedy="load the NVIDIA driver; its kernel module and library must have one version"
        )
    elif _NO_DEVICES.search(text):
        output.complain(
            NODE, "nvidia-smi finds no GPU", remedy="look for Xid 79 in the kernel log and for the GPUs in lspci"
        )
    for address in dict.fromkeys(_INFOROM.findall(text)):
        why = f"GPU {values.address_of(address)}: its infoROM is corrupted"
        output.complain(NODE, why, fails=False, remedy="reset the GPU; replace it if the warning returns")
    for address, problem in _HANDLE.findall(text):
        output.complain(
            NODE,
            f"GPU {values.address_of(address)}: {problem}",
            remedy="drain the node and reboot it; then replace the GPU",
        )
    return output if output.complaints else None
