"""`holdfast capture`: reads every source once, runs available tools, redacts the output, writes one bundle."""

import dataclasses
import json
import os
import platform
import pwd
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from holdfast import __version__
from holdfast.model.settings import Settings
from holdfast.model.signal import Event, Reading
from holdfast.node.agent.assemble import census, node_name, sources
from holdfast.node.agent.runner import read_guarded, silent
from holdfast.node.capture import bundle
from holdfast.node.capture.bundle import RecordedReading
from holdfast.node.capture.redaction.redactor import Redactor
from holdfast.runtime import process
from holdfast.runtime.source import Source

COMMAND_SECONDS = 30.0
MOST_OF_ONE = 4 << 20  # most bytes of one command or file
MOST_OF_ALL = 48 << 20  # before compression
FIELDS = range(1, 280)  # NVML field numbers
COMMANDS: dict[str, tuple[str, ...]] = {
    "nvidia-smi-q.txt": ("nvidia-smi", "-q"),
    "nvidia-smi-nvlink-s.txt": ("nvidia-smi", "nvlink", "-s"),
    "nvidia-smi-nvlink-e.txt": ("nvidia-smi", "nvlink", "-e"),
    "nvidia-smi-topo.txt": ("nvidia-smi", "topo", "-m"),
    "dcgmi-discovery.txt": ("dcgmi", "discovery", "-l"),
    "dcgmi-health.txt": ("dcgmi", "health", "-c"),
    "dcgmi-nvlink.txt": ("dcgmi", "nvlink", "-s"),
    "amd-smi-static.json": ("amd-smi", "static", "--json"),
    "amd-smi-metric.json": ("amd-smi", "metric", "--json"),
    "amd-smi-bad-pages.json": ("amd-smi", "bad-pages", "--json"),
    "rocm-smi.json": ("rocm-smi", "-a", "--json"),
    "ibstat.txt": ("ibstat",),
    "rdma-link.txt": ("rdma", "link"),
    "lspci.txt": ("lspci", "-vvv", "-D"),
    "modules.txt": ("lsmod",),
    "uname.txt": ("uname", "-a"),
}
SYSFS = (
    "class/infiniband/*/ports/*/state",
    "class/infiniband/*/ports/*/phys_state",
    "class/infiniband/*/ports/*/rate",
    "class/infiniband/*/ports/*/link_layer",
    "class/infiniband/*/ports/*/counters/*",
    "class/infiniband/*/ports/*/hw_counters/*",
    "class/infiniband/*/fw_ver",
    "class/infiniband/*/hca_type",
    "class/infiniband/*/board_id",
    "bus/pci/devices/*/current_link_speed",
    "bus/pci/devices/*/current_link_width",
    "bus/pci/devices/*/max_link_speed",
    "bus/pci/devices/*/max_link_width",
    "bus/pci/devices/*/aer_dev_*",
    "bus/pci/devices/*/vendor",
    "bus/pci/devices/*/device",
    "bus/pci/devices/*/class",
    "class/drm/card*/device/ras/*",
)
PROC = ("driver/nvidia/version", "version", "cmdline", "meminfo", "loadavg")
Progress = Callable[[str], None]


@dataclass(slots=True)
class Captured:
    """The written parts, and the missing ones with the reason."""

    path: Path
    size: int
    node: str
    sources: list[str]
    blind: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def capture(settings: Settings, path: Path, progress: Progress, stage: str = "passive") -> Captured:
    """Captures the node. Only reads and runs commands; changes nothing on the node."""
    redactor = Redactor(secrets.token_bytes(32), _names(settings), _users())
    settings = replace(settings, agent=replace(settings.agent, state_dir=""))
    progress("reading every source")
    chosen = sources(settings, stage)
    readings = _read_all(chosen)
    now = time.time()
    own = node_name(settings)
    left_out: dict[str, str] = {}
    raw = dict(_raw(settings, progress, left_out))
    for text in (*raw.values(), *(event.text for reading in readings for event in reading.events)):
        redactor.learn(text)
    node = redactor.name(own)
    files = {
        bundle.HEAD: _json(
            {
                "format": bundle.FORMAT,
                "tool": f"holdfast capture {__version__}",
                "node": node,
                "captured_at": now,
                "kernel": platform.release(),
                "machine": platform.machine(),
                "raw": sorted(raw),
                "left_out": left_out,
            }
        ),
        bundle.READINGS: b"\n".join(
            msgspec.json.encode(_recorded(source, reading, redactor, now))
            for source, reading in zip(chosen, readings, strict=True)
        ),
        bundle.CENSUS: _json(_census(settings, redactor)),
    }
    progress("redacting")
    files |= {f"raw/{name}": redactor.text(text).encode("utf-8", "replace") for name, text in raw.items()}
    size = bundle.write(path, files)
    blind = {one.source: redactor.text(one.blind) for one in readings if one.blind}
    return Captured(path, size, node, [one.name for one in chosen], blind, left_out)


def _read_all(chosen: list[Source]) -> list[Reading]:
    """Reads each source in its own thread; a source that misses its deadline is reported as silent."""
    found: dict[str, Reading] = {}
    start, now = time.monotonic(), time.time()

    def read(source: Source) -> None:
        found[source.name] = read_guarded(source, now)

    threads = [threading.Thread(target=read, args=(source,), daemon=True) for source in chosen]
    for thread in threads:
        thread.start()
    for source, thread in zip(chosen, threads, strict=True):
        thread.join(max(0.0, source.deadline - (time.monotonic() - start)))
    return [found.get(source.name) or silent(source, now, time.monotonic() - start) for source in chosen]


def _recorded(source: Source, reading: Reading, redactor: Redactor, now: float) -> RecordedReading:
    subject = redactor.text
    return RecordedReading(
        source=source.name,
        at=now,
        every=source.every,
        deadline=source.deadline,
        carries=list(source.carries),
        signals=[(subject(one.subject), one.name, redactor.value(one.name, one.value)) for one in reading.signals],
        absent=[(subject(about), name, redactor.text(why)) for (about, name), why in reading.absent.items()],
        present=[subject(one) for one in reading.present],
        events=[_event(one, redactor) for one in reading.events],
        blind=redactor.text(reading.blind),
    )


def _event(event: Event, redactor: Redactor) -> Event:
    return dataclasses.replace(
        event,
        text=redactor.text(event.text),
        subject=redactor.text(event.subject),
        detail={name: redactor.value(name, value) for name, value in event.detail.items()},
    )


def _census(settings: Settings, redactor: Redactor) -> dict[str, Any]:
    known = census(settings)
    expect = {
        redactor.text(subject): {name: redactor.value(name, value) for name, value in values.items()}
        for subject, values in known.expect.items()
    }
    return {"lacks": dict(known.manifest_lacks), "expect": expect}


def _raw(settings: Settings, progress: Progress, left_out: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Output of tools and files, up to the size limit."""
    room = MOST_OF_ALL
    for name, text in _everything(settings, progress, left_out):
        if len(text) > room:
            left_out[name] = "the bundle is full"
            continue
        room -= len(text)
        yield name, text


def _everything(settings: Settings, progress: Progress, left_out: dict[str, str]) -> Iterator[tuple[str, str]]:
    progress("asking NVML")
    try:
        yield "nvml.json", json.dumps(_nvml(settings), indent=1)
    except Exception as error:  # noqa: BLE001  a driver that fails in an unforeseen way is left out, not the bundle
        left_out["nvml.json"] = f"{type(error).__name__}: {error}"
    commands = {**COMMANDS, "scontrol-node.txt": ("scontrol", "show", "node", node_name(settings))}
    for name, command in {**commands, **_ethtool(settings)}.items():
        progress(" ".join(command))
        text, why = _run(command)
        if why:
            left_out[name] = why
        if text:
            yield name, text
    progress("kernel log and sysfs")
    for name, text in _kernel(settings):
        yield name, text
    for root, patterns, prefix in ((settings.roots.sys, SYSFS, "sys"), (settings.roots.proc, PROC, "proc")):
        yield f"{prefix}.txt", _files(Path(root), patterns)


def _run(command: tuple[str, ...]) -> tuple[str, str]:
    try:
        done = process.capture(command, COMMAND_SECONDS)
    except FileNotFoundError:
        return "", f"{command[0]} is not installed"
    except subprocess.TimeoutExpired:
        return "", f"no answer within {COMMAND_SECONDS:.0f} s"
    except OSError as error:
        return "", f"cannot be started: {error.strerror}"
    text = (done.stdout + done.stderr)[:MOST_OF_ONE].decode(errors="replace")
    return text, f"ended with code {done.returncode}" if done.returncode else ""


def _ethtool(settings: Settings) -> dict[str, tuple[str, ...]]:
    """ethtool output of the network devices that are also RDMA devices."""
    found = sorted(Path(settings.roots.sys).glob("class/infiniband/*/device/net/*"))
    return {f"ethtool-{one.name}.txt": ("ethtool", "-S", one.name) for one in found[:64]}


def _kernel(settings: Settings) -> Iterator[tuple[str, str]]:
    path = Path(settings.roots.kmsg)
    if path.is_file():
        yield "kernel.log", path.read_bytes()[-MOST_OF_ONE:].decode(errors="replace")
        return
    text, _ = _run(("dmesg", "--raw"))
    if text:
        yield "kernel.log", text


def _files(root: Path, patterns: tuple[str, ...]) -> str:
    """`path: value` for every file; for a file that cannot be read, the error."""
    lines = []
    for pattern in patterns:
        for path in sorted(root.glob(pattern))[:20_000]:
            if path.is_dir():
                continue
            try:
                with path.open("rb") as file:
                    text = file.read(4096).decode(errors="replace").strip()
            except OSError as error:
                text = f"[{error.strerror}]"
            lines.append(f"{path.relative_to(root)}: {' | '.join(text.splitlines())}")
    return "\n".join(lines)[:MOST_OF_ONE]


def _nvml(settings: Settings) -> list[dict[str, Any]]:
    """Every getter that needs only a GPU, and every field number: the answer, or NVML's return code."""
    from holdfast.node.sources.gpu.nvml_session import Session, nvml

    devices = Session(node_name(settings), settings.roots.nvml).devices(0.0)
    if isinstance(devices, str):
        return [{"trouble": devices}]
    getters = sorted(name for name in dir(nvml) if name.startswith("nvmlDeviceGet"))
    found = []
    for device in devices:
        answers: dict[str, Any] = {}
        for name in getters if device.handle is not None else ():
            try:
                answers[name] = _plain(getattr(nvml, name)(device.handle))
            except TypeError:
                continue  # it needs more arguments than the GPU
            except nvml.NVMLError as error:
                answers[name] = {"return": getattr(error, "value", None)}
            except (ValueError, AttributeError, OSError) as error:
                answers[name] = {"error": type(error).__name__}
        found.append(
            {"gpu": device.number, "address": device.address, "answers": answers, "fields": _fields(nvml, device)}
        )
    return found


def _fields(nvml: Any, device: Any) -> dict[str, list[Any]]:
    if device.handle is None:
        return {}
    try:
        values = nvml.nvmlDeviceGetFieldValues(device.handle, list(FIELDS))
    except nvml.NVMLError as error:
        return {"return": [getattr(error, "value", None)]}
    return {
        str(number): [value.nvmlReturn, value.valueType, int(value.value.ullVal) if not value.nvmlReturn else None]
        for number, value in zip(FIELDS, values, strict=True)
    }


def _plain(value: Any) -> Any:
    """A value for JSON; a structure becomes its fields."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value[:64]]
    names = [name for name, *_ in getattr(value, "_fields_", ())]
    return {name: _plain(getattr(value, name)) for name in names} if names else str(type(value).__name__)


def _names(settings: Settings) -> set[str]:
    """Names of this host, of its hosts file, and of its known Slurm neighbours."""
    found = {node_name(settings), socket.gethostname(), platform.node(), settings.node}
    for variable in ("HOSTNAME", "SLURMD_NODENAME", "SLURM_SUBMIT_HOST", "HOLDFAST_NODE"):
        found.add(os.environ.get(variable, ""))
    try:
        for line in Path("/etc/hosts").read_text(encoding="utf-8", errors="replace").splitlines():
            found.update(line.partition("#")[0].split()[1:])
    except OSError:
        pass
    ordinary = {"localhost", "ip6-localhost", "ip6-loopback", "ip6-allnodes", "ip6-allrouters", "broadcasthost"}
    return {name for name in found if name and name.split(".")[0] not in ordinary}


def _users() -> set[str]:
    """Users who can log in; system accounts identify no person."""
    return {one.pw_name for one in pwd.getpwall() if 1000 <= one.pw_uid < 60_000} | {os.environ.get("USER", "")}


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()
