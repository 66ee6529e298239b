"""Values of one GPU from the fields that nvidia-smi prints, and complaints about those that show a fault."""

import re
from collections.abc import Mapping

from holdfast.catalog.gpus import gpu_model
from holdfast.formats.nvidia_smi.fields import COUNT, FIELDS, Field, key
from holdfast.formats.pci.address import normal
from holdfast.formats.tool_output import NOT_SUPPORTED, ToolOutput

_NOTHING = frozenset(
    {"na", "notsupported", "notavailable", "notfound", "unknown", "", "none", "requestedfunctionalityhasbeendeprecated"}
)
_NO_PERMISSION = "insufficientpermissions"
_LOST = ("gpuislost", "fallenoffthebus")
_RESET = ("gpurequiresreset", "resetrequired")
_SICK = ("err", "unknownerror", "error", "timeout")
_NONE_IS_A_VALUE = frozenset({"gpu_recovery_action"})
_FABRIC_HEALTH = {
    "summary": ("healthy", "its health"),
    "bandwidth": ("full", "bandwidth"),
    "routerecoveryinprogress": ("false", "route recovery in progress"),
    "routeunhealthy": ("false", "route unhealthy"),
    "accesstimeoutrecovery": ("false", "access timeout recovery"),
    "incorrectconfiguration": ("false", "incorrect configuration"),
}  # every other value is a fault
REASON_BITS = {
    "idle": 0x01,
    "gpuidle": 0x01,
    "applicationsclockssetting": 0x02,
    "applicationclockssetting": 0x02,
    "swpowercap": 0x04,
    "hwslowdown": 0x08,
    "syncboost": 0x10,
    "swthermalslowdown": 0x20,
    "hwthermalslowdown": 0x40,
    "hwpowerbrake": 0x80,
    "hwpowerbrakeslowdown": 0x80,
    "displayclocksetting": 0x100,
}


def take(output: ToolOutput, place: str, found: Mapping[str, str]) -> None:
    """The signals of one GPU from its fields, and the reason for each one without a value."""
    output.see(place)
    for field in FIELDS:
        given = [found[path] for path in field.paths if path in found]
        if not given:
            continue
        _one(output, place, field, given)
    _sum_sram(output, place, found)
    _ecc_unanswered(output, place, found)
    _ecc_is_on(output, place)
    _pcie_link(output, place, found)
    _reasons(output, place, found)
    _state(output, place, found)


def _one(output: ToolOutput, place: str, field: Field, given: list[str]) -> None:
    """The value of the first path that has one; drivers print N/A for the older of two paths with the same meaning."""
    for text in given:
        plain = key(text)
        if plain in _NOTHING and not (plain == "none" and field.signal in _NONE_IS_A_VALUE):
            continue
        value = field.read(text)
        if value is not None:
            output.add(place, field.signal, value)
            return
    output.miss(place, field.signal, why(given[0]))


def why(text: str) -> str:
    plain = key(text)
    if plain in _NOTHING:
        return NOT_SUPPORTED
    if plain == _NO_PERMISSION:
        return "permission denied by the NVIDIA driver"
    return f"nvidia-smi prints {text.strip()!r}"


def _sum_sram(output: ToolOutput, place: str, found: Mapping[str, str]) -> None:
    """Drivers from R535 split uncorrectable SRAM errors into parity and SEC-DED."""
    for span in ("volatile", "aggregate"):
        name = f"gpu_ecc_{span}_uncorrected_sram_total"
        if any(where == place and signal == name for where, signal, _ in output.signals):
            continue
        halves = [
            COUNT(found[path])
            for path in (f"eccerrors.{span}.sramuncorrectableparity", f"eccerrors.{span}.sramuncorrectablesecded")
            if path in found
        ]
        counts = [float(half) for half in halves if half is not None]
        if counts:
            output.absent.pop((place, name), None)
            output.add(place, name, sum(counts))


_UNCORRECTED = re.compile(r"ecc\.?errors\.(?:volatile\..*(?:uncorrectable|doublebit)|uncorrected\.volatile)")
_UNCORRECTED_SIGNALS = tuple(f"gpu_ecc_volatile_uncorrected_{part}total" for part in ("", "sram_", "dram_"))


def _ecc_unanswered(output: ToolOutput, place: str, found: Mapping[str, str]) -> None:
    """Whether an uncorrected count is an error message: zeros in the other counts do not show that there are none."""
    asked = [text for path, text in found.items() if _UNCORRECTED.match(path)]
    problem = next((text for text in asked if key(text) in (*_SICK, *_LOST, *_RESET)), None)
    known = {name: value for where, name, value in output.signals if where == place}
    if problem is None or any(known.get(name) for name in _UNCORRECTED_SIGNALS):
        return
    output.signals = [one for one in output.signals if one[0] != place or one[1] not in _UNCORRECTED_SIGNALS]
    for name in (*_UNCORRECTED_SIGNALS, *(("gpu_ecc_mode",) if "gpu_ecc_mode" not in known else ())):
        output.miss(place, name, why(problem))


def _ecc_is_on(output: ToolOutput, place: str) -> None:
    """Whether ECC is on, for a table without the mode: error counts exist only with ECC."""
    known = {name for where, name, _ in output.signals if where == place}
    counted = any(name.startswith("gpu_ecc_volatile_uncorrected") for name in known)
    if counted and "gpu_ecc_mode" not in known and (place, "gpu_ecc_mode") not in output.absent:
        output.add(place, "gpu_ecc_mode", 1.0)


def _pcie_link(output: ToolOutput, place: str, found: Mapping[str, str]) -> None:
    """The link, if it is narrower than GPU and slot allow, or slower under load.

    An idle GPU may do both to save power, and the slots of a desktop may have fewer lanes than its card, so only models
    of servers are called narrow.
    """
    own = {name: value for where, name, value in output.signals if where == place}
    now = {name: value for name, value in own.items() if isinstance(value, float)}
    width, able = now.get("gpu_pcie_width_lanes", 0.0), now.get("gpu_pcie_max_width_lanes", 0.0)
    speed, fastest = now.get("gpu_pcie_generation", 0.0), now.get("gpu_pcie_max_generation", 0.0)
    known = "gpu_model" in own and gpu_model(str(own["gpu_model"])) is not None
    if "gpu_model" in own and not known:
        return
    awake = re.fullmatch(r"P?[0-2]", (found.get("performancestate") or found.get("pstate") or "P0").strip())
    if 0 < width < able and awake and known:
        text = f"its PCIe link has {width:.0f} of {able:.0f} lanes"
        output.complain(place, text, fails=False, remedy="reboot once; if it stays, reseat the card or its riser")
    elif 0 < width < able:
        output.doubt(place, f"its PCIe link has {width:.0f} of {able:.0f} lanes: see whether it stays so under load")
    if 0 < speed < fastest and awake and known and now.get("gpu_utilization_ratio", 0.0) > 0.0:
        text = f"its PCIe link runs at generation {speed:.0f} of {fastest:.0f} while it works"
        output.complain(place, text, fails=False, remedy="reboot once; if it stays, reseat the card or its riser")


def _reasons(output: ToolOutput, place: str, found: Mapping[str, str]) -> None:
    mask, seen = 0, False
    for path, text in found.items():
        head, _, last = path.rpartition(".")
        if head not in ("clocksthrottlereasons", "clockseventreasons"):
            continue
        last = last.removeprefix("clocksthrottlereasons").removeprefix("clocksthrottlereason")
        last = last.removeprefix("clockseventreasons").removeprefix("clockseventreason")
        if last in ("active", "supported"):
            if last == "active" and re.fullmatch(r"0x[0-9a-fA-F]+", text.strip()):
                mask, seen = mask | int(text.strip(), 16), True
            continue
        if last in REASON_BITS and key(text) in ("active", "notactive"):
            seen = True
            mask |= REASON_BITS[last] if key(text) == "active" else 0
    if seen:
        output.add(place, "gpu_clock_event_reasons", float(mask))


_LICENCE = "vgpusoftwarelicensedproduct.licensestatus"


def _state(output: ToolOutput, place: str, found: Mapping[str, str]) -> None:
    """State that the driver prints in place of values: lost, needs a reset, or no answer."""
    plain = [key(text) for text in found.values()]
    lost = any(word in text for text in plain for word in _LOST)
    output.add(place, "gpu_lost", float(lost))
    output.add(place, "gpu_reset_required", float(any(word in text for text in plain for word in _RESET)))
    for field, (good, name) in _FABRIC_HEALTH.items():
        path = f"fabric.health.{field}"
        if (given := key(found.get(path, ""))) not in _NOTHING and given != good:
            text = f"NVLink fabric: {name} is {found[path].strip()}"
            output.complain(place, text, fails=False, remedy="check the fabric manager and the NVLink switches")
    if (licence := found.get(_LICENCE, "")) and key(licence).startswith("unlicensed"):
        why_slow = f"its vGPU licence is {licence.strip()}: the driver slows it down"
        output.complain(place, why_slow, fails=False, remedy="see nvidia-gridd's log; give it a licence server")
    sick = sorted(path for path, text in found.items() if key(text) in _SICK)
    if sick and not lost:
        shown = ", ".join(sick[:4]) + (f" and {len(sick) - 4} more" if len(sick) > 4 else "")
        what = "some calls to the GPU fail" if 2 * len(sick) < len(found) else "the GPU does not answer the driver"
        output.complain(
            place,
            f"{what}: nvidia-smi prints an error instead of {shown}",
            remedy="drain the node, reset the GPU; reboot if it still does not answer",
        )


def address_of(text: str) -> str:
    """'00000000:9B:00.0' -> '0000:9b:00.0'."""
    return normal(text)
