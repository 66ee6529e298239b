"""amd-smi (metric, static, bad-pages: JSON or text) and rocm-smi (JSON or `GPU[0] : name: value`)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from holdfast.catalog.gpus import amd_model_name
from holdfast.formats import json_document
from holdfast.formats.amd import health
from holdfast.formats.amd.values import celsius
from holdfast.formats.amd.values import number as number_of
from holdfast.formats.nvidia_smi.fields import key
from holdfast.formats.pci.address import normal
from holdfast.formats.tool_output import NODE, NOT_SUPPORTED, ToolOutput
from holdfast.model.signal import Value

_NAME = re.compile(r"[A-Za-z][\w /()%.-]*")
_HEAD = re.compile(r"^GPU: \d+\s*$", re.MULTILINE)
_EXCERPT = re.compile(r"^[^\S\n]*(?:TOTAL_)?UNCORRECTABLE_COUNT: ", re.MULTILINE)
_ROCM = re.compile(r"^GPU\[(\d+)\][^\S\n]*:([^:\n]*):(.*)$", re.MULTILINE)
_GT_PER_GENERATION: dict[float | None, float] = {2.5: 1.0, 5.0: 2.0, 8.0: 3.0, 16.0: 4.0, 32.0: 5.0, 64.0: 6.0}
Fields = dict[str, str]


class _Field(NamedTuple):
    signal: str
    paths: tuple[str, ...]
    factor: float = 1.0
    text: bool = False


_FIELDS = (
    _Field("gpu_model", ("asic.marketname", "cardseries", "devicename", "cardmodel"), text=True),
    _Field("gpu_serial", ("asic.asicserial", "board.productserial", "serialnumber"), text=True),
    _Field("gpu_uuid", ("uuid", "gpuuuid", "uniqueid"), text=True),
    _Field("gpu_vbios_version", ("vbios.version", "ifwi.version", "vbiosversion"), text=True),
    _Field(
        "gpu_temperature_celsius",
        (
            "temperature.hotspot",
            "temperaturesensorjunctionc",
            "temperaturehotspotc",
            "temperature.edge",
            "temperaturesensoredgec",
            "temperatureedgec",
            "temperature",
        ),
    ),
    _Field("gpu_memory_temperature_celsius", ("temperature.mem", "temperaturesensormemoryc", "temperaturememc")),
    _Field("gpu_slowdown_temperature_celsius", ("limit.slowdownhotspottemperature",)),
    _Field("gpu_shutdown_temperature_celsius", ("limit.shutdownhotspottemperature",)),
    _Field(
        "gpu_power_watts",
        (
            "power.socketpower",
            "power.currentpower",
            "power.averagesocketpower",
            "averagegraphicspackagepowerw",
            "currentsocketgraphicspackagepowerw",
            "averagesocketpowerw",
            "currentsocketpowerw",
        ),
    ),
    _Field(
        "gpu_power_limit_watts",
        (
            "limit.socketpowerlimit",
            "limit.currentpower",
            "limit.socketpower",
            "limit.maxpower",
            "maxgraphicspackagepowerw",
        ),
    ),
    _Field("gpu_utilization_ratio", ("usage.gfxactivity", "gpuuse", "averagegfxactivity"), 0.01),
    _Field("gpu_memory_total_bytes", ("memusage.totalvram", "vramtotalmemoryb")),
    _Field("gpu_memory_used_bytes", ("memusage.usedvram", "vramtotalusedmemoryb")),
    _Field("gpu_clock_sm_hertz", ("clock.gfx0.clk", "clock.gfx.clk")),
    _Field("gpu_clock_memory_hertz", ("clock.mem0.clk", "clock.mem.clk")),
    _Field("gpu_clock_sm_max_hertz", ("clock.gfx0.maxclk",)),
    _Field("gpu_clock_memory_max_hertz", ("clock.mem0.maxclk",)),
    _Field("gpu_ecc_volatile_corrected_total", ("ecc.totalcorrectablecount", "totalcorrectablecount")),
    _Field("gpu_ecc_volatile_uncorrected_total", ("ecc.totaluncorrectablecount", "totaluncorrectablecount")),
    _Field("gpu_pcie_width_lanes", ("pcie.width", "pcie.currentlanes")),
    _Field("gpu_pcie_max_width_lanes", ("bus.maxpciewidth",)),
    _Field("gpu_pcie_replay_total", ("pcie.replaycount", "pciereplaycount")),
)


_ROW = re.compile(r" *(\d{1,9})\s")
_HEAT_AND_POWER = re.compile(
    r"(?<![\d.])(?:(\d{1,9}(?:\.\d{1,9})?)\s?°?[Cc]|N/A)\s{1,99}(?:(\d{1,9}(?:\.\d{1,9})?)W|N/A)\s"
)
_LAST_SHARE = re.compile(r"(?<!\d)(\d{1,9})%$")
_ROCM_ROW = re.compile(r"^\d+\s+\d+\s+0x[0-9a-f]{4},\s+\d+\s+\d+(?:\.\d+)?°?C\s+\S+\s+NPS\d, ", re.MULTILINE)
_DEVICE = re.compile(r"\d+\s+\d+\s+(0x[0-9a-fA-F]{4}),")
_NO_GPU = re.compile(
    r"^[^\S\n]*(?:WARNING|ERROR): No (?:AMD )?GPUs? (?:specified|found|detected).*$", re.MULTILINE | re.IGNORECASE
)
_UNABLE = re.compile(r"^[^\S\n]*(?:ERROR|WARNING):?\s+GPU\s?\[(\d+)\]\s*:\s*(Unable to \S.*)$", re.MULTILINE)
_BUSY = re.compile(r"GPU%|^\d+\s+\d+\s+0x", re.MULTILINE)
_CAP = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)W")


def read(text: str) -> ToolOutput | None:
    output = _json(text) or _amd_text(text) or _rocm_text(text) or _rocm_table(text)
    return _failures(output, text)


def _failures(output: ToolOutput | None, text: str) -> ToolOutput | None:
    """Output of rocm-smi without a value: no GPU at all, or a GPU that it cannot read."""
    failed: dict[int, list[str]] = {}
    for number, what in _UNABLE.findall(text):
        failed.setdefault(int(number), []).append(what.rstrip().removesuffix("."))
    none = _NO_GPU.search(text)
    if not failed and (none is None or output is not None):
        return output
    output = output or ToolOutput("rocm-smi")
    for number, calls in failed.items():
        output.see(f"gpu/{number}")
        what = calls[0] + (f" and {len(calls) - 1} more" if len(calls) > 1 else "")
        output.complain(f"gpu/{number}", what, fails=False, remedy="see the kernel log of amdgpu; reset the GPU")
    if not failed:
        output.complain(NODE, "rocm-smi finds no AMD GPU", remedy="look for amdgpu in the kernel log and in lspci")
    output.lines = len(output.complaints)
    return output


def _json(text: str) -> ToolOutput | None:
    document = json_document.find(text)
    if not isinstance(document, (dict, list)):
        return None
    if isinstance(document, dict) and isinstance(document.get("gpu_data"), list):
        document = document["gpu_data"]
    if isinstance(document, dict):
        cards = {name[4:]: card for name, card in document.items() if re.fullmatch(r"card\d+", str(name))}
        gpus = {int(number): card for number, card in cards.items() if isinstance(card, dict)}
        return _gpus(ToolOutput("rocm-smi"), {n: dict(_flat(card, ())) for n, card in gpus.items()})
    entries = [one for one in document if isinstance(one, dict) and isinstance(one.get("gpu"), int)]
    if not entries or len(entries) != len(document):
        return None
    return _gpus(ToolOutput("amd-smi"), {entry["gpu"]: dict(_flat(entry, ())) for entry in entries})


def _flat(value: Any, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        if set(value) == {"value", "unit"}:
            yield ".".join(above), f"{value['value']} {value['unit']}"
            return
        for name, inner in value.items():
            yield from _flat(inner, (*above, key(str(name))))
    elif isinstance(value, list):
        yield ".".join((*above, "count")), str(len(value))
    elif value is not None:
        yield ".".join(above), str(value)


def _amd_text(text: str) -> ToolOutput | None:
    gpus: dict[int, Fields] = {}
    number, above = -1, list[tuple[int, str]]()
    if _EXCERPT.search(text) and not _HEAD.search(text):  # values of one GPU without the line that names it
        number, gpus = 0, {0: {}}
        text = "\n".join(f"    {line}" for line in text.splitlines())
    for line in text.splitlines():
        if head := re.match(r"^GPU: (\d+)\s*$", line):
            number, above = int(head[1]), []
            gpus.setdefault(number, {})
        elif number >= 0 and line[:1].isspace() and (found := _field(line)):
            indent, name, value = found
            while above and above[-1][0] >= indent:
                above.pop()
            path = ".".join([*(upper for _, upper in above), name])
            if name == "pageaddress" and above:  # one line per page
                pages = f"{above[-1][1]}.count"
                gpus[number][pages] = str(int(gpus[number].get(pages, "0")) + 1)
            if value:
                gpus[number][path] = value
            else:
                above.append((indent, name))
    return _gpus(ToolOutput("amd-smi"), {n: found for n, found in gpus.items() if found})


def _field(line: str) -> tuple[int, str, str] | None:
    """Indent, name and value of `  NAME: value`."""
    name, colon, value = line.partition(":")
    if not colon or not _NAME.fullmatch(name.strip()):
        return None
    indent = name[: len(name) - len(name.lstrip())]
    return len(indent.expandtabs()), key(name), value.strip()


def _concise(line: str) -> tuple[str, str, str, str, str] | None:
    """Number, temperature, power, the columns after them and the last column of a row of the table."""
    row, line = _ROW.match(line), line.rstrip()
    found = row and _HEAT_AND_POWER.search(line, row.end())
    busy = found and _LAST_SHARE.search(line, found.end())
    if not row or not found or not busy:
        return None
    return row[1], found[1] or "", found[2] or "", line[found.end() : busy.start()], busy[1]


def _rocm_text(text: str) -> ToolOutput | None:
    gpus: dict[int, Fields] = {}
    for number, name, value in _ROCM.findall(text):
        gpus.setdefault(int(number), {})[key(name)] = value.strip()
    return _gpus(ToolOutput("rocm-smi"), gpus)


def _rocm_table(text: str) -> ToolOutput | None:
    """The default table: one line per GPU. The second die of a module shows no power of its own."""
    if "ROCm System Management Interface" not in text and "Concise Info" not in text and not _ROCM_ROW.search(text):
        return None
    gpus, rows = {}, {row.split(None, 1)[0]: row for row in text.splitlines() if row[:1].isdigit()}
    for number, heat, power, rest, busy in filter(None, map(_concise, text.splitlines())):
        cap = _CAP.search(rest)
        limit = cap[1] if cap and float(cap[1]) else ""
        fields = {"temperature.edge": heat, "power.socketpower": power, "limit.maxpower": limit}
        if device := _DEVICE.match(rows.get(number, "")):
            fields["cardseries"] = amd_model_name(device[1], "")
        # in ROCm 1 the last column has another meaning
        fields["usage.gfxactivity"] = busy if _BUSY.search(text) else ""
        gpus[int(number)] = {name: value for name, value in fields.items() if value}
    return _gpus(ToolOutput("rocm-smi"), gpus)


def _gpus(output: ToolOutput, gpus: Mapping[int, Fields]) -> ToolOutput | None:
    for index, found in gpus.items():
        place = f"gpu/{index}"
        output.see(place)
        for field in _FIELDS:
            _take(output, place, field, [found[path] for path in field.paths if path in found])
        health.errors(output, place, found)
        health.bad_pages(output, place, found)
        if address := found.get("bus.bdf") or found.get("bdf") or found.get("pcibus"):
            output.add(place, "gpu_pci_address", normal(address.lower()))
        for path, signal in (("pcie.speed", "gpu_pcie_generation"), ("bus.maxpciespeed", "gpu_pcie_max_generation")):
            if (speed := number_of(found.get(path, ""))) in _GT_PER_GENERATION:
                output.add(place, signal, _GT_PER_GENERATION[speed])
        health.pcie_link(output, place)
    return output if any(place == signal[0] for place in output.present for signal in output.signals) else None


def _take(output: ToolOutput, place: str, field: _Field, given: list[str]) -> None:
    for text in given:
        value: Value | None = text if field.text and text not in ("", "N/A") else None
        if not field.text:
            value = celsius(text) if field.signal.endswith("_celsius") else number_of(text)
        if value is not None:
            output.add(place, field.signal, value if field.text else float(value) * field.factor)
            return
    if given:
        output.miss(place, field.signal, NOT_SUPPORTED)
