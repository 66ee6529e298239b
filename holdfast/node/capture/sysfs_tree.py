"""A copy of `/sys`, in a folder or in one text: the source for live nodes reads its ports; counters are evaluated
here."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from holdfast.formats.host import sysfs_text
from holdfast.formats.tool_output import NODE, ToolOutput
from holdfast.node.sources.fabric.infiniband import InfinibandSource

_NODE = "captured"
_HERE = f"node/{_NODE}/"
_TOOL = "files of /sys"
_CABLE = "check cable, transceiver and switch port"
SLOWER = 0.9  # share of the interface's speed; FDR and older round theirs
_GAVE_UP = {
    "local_ack_timeout_err": "requests that were not acknowledged in time",
    "packet_seq_err": "packets that arrived out of sequence",
    "req_transport_retries_exceeded": "connections that were given up",
    "roce_adp_retrans_to": "retransmissions that timed out",
    "unresponsive_remote_events": "peers that did not answer",
}


def outputs(folder: Path) -> Iterator[ToolOutput]:
    """Outputs of a folder that is `/sys` or `/sys/class/infiniband`, or contains one of them."""
    states = next(iter(sorted(folder.rglob("ports/*/state"))), None) if folder.is_dir() else None
    if states is None:
        return
    devices = states.parents[3]
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "class").mkdir()
        os.symlink(devices.resolve(), Path(root) / "class" / "infiniband")
        yield from _ports(root)


def of_text(text: str) -> ToolOutput | None:
    """Output of files of `/sys` that were printed into one text."""
    files = sysfs_text.files(text)
    if not files:
        return None
    with tempfile.TemporaryDirectory() as root:
        for path, content in files.items():
            device = path.partition("/infiniband/")[2]
            if f"{path.partition('/ports/')[0]}/ports/1/state" in files:  # without it there are only counters
                _write(Path(root) / "class" / "infiniband" / device, content)
        output = next(_ports(root), ToolOutput(_TOOL))
    _take_counters(files, output)
    _compare_rates(files, output)
    _compare_interfaces(files, output)
    counters = [content for path, content in files.items() if "/infiniband/" in path and "/counters/" in path]
    if counters and not output.present and all(content.startswith("N/A") for content in counters):
        output.lines = len(counters)
        output.doubt(NODE, f"the port has no counters: {counters[0]}")
    return output if output.present or output.lines else None


def _write(file: Path, content: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if content.endswith("\n") else f"{content}\n")
    except OSError:  # a file and a folder with the same name, or a name that is too long
        return


def _ports(sys: str) -> Iterator[ToolOutput]:
    reading = InfinibandSource(_NODE, sys=sys).read(1.0)
    output = ToolOutput(_TOOL)
    for signal in reading.signals:
        output.add(signal.subject.removeprefix(_HERE), signal.name, signal.value)
    for (subject, name), why in reading.absent.items():
        output.miss(subject.removeprefix(_HERE), name, why)
    for subject in reading.present:
        output.see(subject.removeprefix(_HERE))
    if output.present:
        yield output


def _take_counters(files: Mapping[str, str], output: ToolOutput) -> None:
    """Reads counters that should stay at zero: of a port's transport, of the host's memory."""
    for path, content in files.items():
        folder, _, name = path.rpartition("/")
        value = int(content) if content.strip().isdecimal() and len(content) < 21 else None
        if value is None or (not folder.endswith("counters") and "/edac/mc/" not in path):
            continue
        output.lines += 1
        if value and name in _GAVE_UP and "/infiniband/" in path:
            device, _, port = path.partition("/infiniband/")[2].partition("/ports/")
            place = f"nic/{device}/{port.partition('/')[0]}"
            output.complain(
                place, f"{value} {_GAVE_UP[name]} ({name})", fails=False, remedy="look at the port and its peers"
            )
        elif value and name == "ue_count":
            output.complain(NODE, f"{value} uncorrectable memory errors ({folder})", remedy="replace the DIMM")


def _compare_interfaces(files: Mapping[str, str], output: ToolOutput) -> None:
    states = {path: content.strip() for path, content in files.items() if re.search(r"/net/[^/]+/operstate$", path)}
    up = sum(state == "up" for state in states.values())
    for path, state in states.items():
        output.lines += 1
        if state == "down" and up:
            name = path.split("/")[-2]
            output.complain(f"nic/{name}", f"interface {name} is down while {up} are up", fails=False, remedy=_CABLE)


def _compare_rates(files: Mapping[str, str], output: ToolOutput) -> None:
    """Compares the speed of an interface with the rate of its port: a slower port has trained down since, or was
    misread."""
    speeds: dict[str, set[str]] = {}
    for path, content in files.items():
        if path.endswith("/speed") and "/net/" in path:
            speeds.setdefault(path.partition("/net/")[0], set()).add(content.strip())
    for path, content in files.items():
        above, _, port = path.partition("/infiniband/")
        of_device = speeds.get(above, set()) if port.endswith("/rate") else set()
        rate = re.match(r"\d{1,5}(?:\.\d)?(?= Gb)", content)
        if rate is None or len(of_device) != 1 or not (speed := next(iter(of_device))[:9]).isdecimal():
            continue
        output.lines += 1
        if float(rate[0]) * 1000 < SLOWER * int(speed):
            device, _, number = port.partition("/ports/")
            text = f"port runs at {rate[0]} Gb/s, its interface at {int(speed) // 1000} Gb/s"
            output.complain(f"nic/{device}/{number.split('/')[0]}", text, fails=False, remedy=_CABLE)
