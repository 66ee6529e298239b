"""Problems in output of amd-smi and rocm-smi that no check covers: ECC by block, bad pages, a narrow PCIe link."""

import re
from collections.abc import Mapping

from holdfast.catalog.gpus import gpu_model
from holdfast.formats.amd.values import number
from holdfast.formats.tool_output import NOT_SUPPORTED, ToolOutput

_LINK = "drain the node and reboot it once; if it stays, reseat the module"
_NONE = "no bad pages found"
_KINDS = {
    "retired": "gpu_retired_pages_double_bit",
    "pending": "gpu_retired_pages_pending",
    "unres": "gpu_retired_pages_failed",
}


def errors(output: ToolOutput, place: str, found: Mapping[str, str]) -> None:
    """Uncorrectable and deferred errors of any block."""

    def count(path: str) -> float:
        return number(found.get(path, "")) or 0.0

    def of(kind: str) -> tuple[float, str]:
        blocks = [path for path in found if re.fullmatch(rf"eccblocks\.\w+\.{kind}count", path) and count(path)]
        old = [path for path in found if re.fullmatch(rf"\w+{kind}errors?", path) and count(path)]
        named = (path.removeprefix("eccblocks.").partition(".")[0] for path in (*blocks, *old))
        total = count(f"ecc.total{kind}count") or count(f"total{kind}count")
        return total or sum(map(count, (*blocks, *old))), ", ".join(named)

    for kind, fails, meaning, remedy in (
        ("uncorrectable", True, "", "drain the node and reset the GPU; replace it if they return"),
        ("deferred", False, ": data that is lost when it is used", "when its work has ended, reset the GPU"),
    ):
        total, where = of(kind)
        if total:
            text = f"{total:.0f} {kind} ECC errors" + (f" ({where})" if where else "") + meaning
            output.complain(place, text, fails=fails, remedy=remedy)


def bad_pages(output: ToolOutput, place: str, found: Mapping[str, str]) -> None:
    """`amd-smi bad-pages`: a list for each state, or the sentence that there are none."""
    for kind, signal in _KINDS.items():
        listed = number(found.get(f"{kind}.count", "") or found.get(f"{kind}pages.count", ""))
        said = found.get(kind, "").lower()
        if listed is not None:
            output.add(place, signal, listed)
        elif said.startswith(_NONE):
            output.add(place, signal, 0.0)
        elif said:
            output.miss(place, signal, NOT_SUPPORTED)
    if waiting := number(found.get("badpages.pending", "")):
        output.add(place, _KINDS["pending"], waiting)


def pcie_link(output: ToolOutput, place: str) -> None:
    """Complains about a link that is narrower or slower than possible.

    Only models of servers are evaluated: a desktop's card slows its link to save power, and its slot may have fewer
    lanes.
    """
    own = {name: value for where, name, value in output.signals if where == place}
    model = gpu_model(str(own.get("gpu_model", "")))
    able = own.get("gpu_pcie_max_width_lanes") or (model.pcie_width_lanes if model else None)
    fastest = own.get("gpu_pcie_max_generation") or (model.pcie_generation if model else None)
    if "gpu_model" in own and model is None:
        return
    for word, now, most in (
        ("width: {} of {} lanes", own.get("gpu_pcie_width_lanes"), able),
        ("speed: generation {} of {}", own.get("gpu_pcie_generation"), fastest),
    ):
        if isinstance(now, float) and isinstance(most, float | int) and 0 < now < most:
            text = f"its PCIe link is below its full {word.format(f'{now:.0f}', f'{most:.0f}')}"
            if model:
                output.complain(place, text, fails=False, remedy=_LINK)
            else:
                output.doubt(place, f"{text}; the file does not name the model: see whether it stays so under load")
