"""Injects a fault into a twin node and clears it."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.lab.twin.acts import ACTS
from holdfast.lab.twin.breakage import Breakage, Journal, Undo, repair
from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.fault import Fault, fault, faults_of
from holdfast.lab.twin.node import TwinNode, open_node
from holdfast.lab.twin.pci import of_role
from holdfast.lab.twin.sysfs_infiniband import TwinRdmaPort
from holdfast.lab.twin.tree import append
from holdfast.model import subject


def inject(
    node: TwinNode | str | Path,
    name: str,
    *,
    gpu: int = 0,
    port: str = "",
    value: str = "",
    now: float | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Fault:
    """Injects a fault. Injecting it again adds to it (another Xid line); clearing removes all of it."""
    node = _opened(node)
    what = fault(name)
    has = {node.model.vendor, node.model.fabric}
    if name not in faults_of(node.model):
        raise TwinError(f"{name} is a fault of {what.vendor}; this node has {', '.join(sorted(has))}")
    journal = Journal(node)
    entries = journal.read()
    at = Breakage(
        node=node,
        gpu=_gpu(node, gpu),
        port=_port(node, port),
        value=value or what.default,
        now=time.time() if now is None else now,
        pause=pause,
        undo=entries.setdefault(_key(what, gpu, _port(node, port)), Undo()),
    )
    try:
        _apply(what, at)
    except TwinError:
        if at.undo == Undo():  # refused before any change: there is nothing to clear
            del entries[_key(what, at.gpu, at.port)]
        raise
    finally:
        journal.write(entries)
    return what


def clear(node: TwinNode | str | Path, name: str, *, gpu: int = 0, port: str = "", now: float | None = None) -> Fault:
    """Clears an injected fault. Counters keep their values, as on real hardware."""
    node = _opened(node)
    what = fault(name)
    journal = Journal(node)
    entries = journal.read()
    undo = entries.pop(_key(what, _gpu(node, gpu), _port(node, port)), None)
    if undo is None:
        active = ", ".join(sorted(entries)) or "none"
        raise TwinError(f"{name} is not injected there; injected in this node: {active}")
    at = time.time() if now is None else now
    repair(node, undo, keep_lines=bool(what.recovery))
    if what.recovery:
        node.say(list(what.recovery), at)
    elif undo.lines:
        _report_repair(node, what, gpu, at)
    journal.write(entries)
    return what


def _report_repair(node: TwinNode, what: Fault, gpu: int, at: float) -> None:
    """Writes the repair mark of an operator, because a running agent has already read the kernel lines."""
    repaired = subject.gpu(node.name, gpu) if what.on == "gpu" else subject.node(node.name)
    mark = {"at": at, "subject": repaired, "reason": f"twin: {what.name} cleared"}
    append(node.directory / "state" / "repairs.jsonl", json.dumps(mark) + "\n")


def injected(node: TwinNode | str | Path) -> list[str]:
    """Active faults, as 'fault@place'."""
    return sorted(Journal(_opened(node)).read())


def _apply(what: Fault, at: Breakage) -> None:
    if any("{nvswitch" in line for line in what.kernel) and not of_role(at.node.model, "nvswitch"):
        raise TwinError("this node has no NVSwitch: the fault does not fit its hardware")
    words = _words(at)
    for path, number in what.gpu.items():
        at.set_gpu(path.format(**words), _integer(number, words))
    for name, number in what.driver.items():
        at.set_driver(name, _integer(number, words))
    for path, text in what.files.items():
        at.write(path.format(**_places(what, at), **words), text.format(**words))
    if what.kernel:
        at.say([line.format(**_places(what, at), **words) for line in what.kernel])
    if what.act:
        ACTS[what.act](at)


def _words(at: Breakage) -> dict[str, str]:
    return {"value": at.value, "gpu": str(at.gpu), "name": at.port.name}


def _places(what: Fault, at: Breakage) -> dict[str, str]:
    """Directories and addresses that a fault's texts may name."""
    function = at.port.function if what.on == "port" else at.node.gpu_functions()[at.gpu]
    chain = function.path.rsplit("/", 1)[0]
    switches = of_role(at.node.model, "nvswitch")
    address = function.address
    return {
        "pci": function.path,
        "above": chain,
        "bus": f"{address.domain:04x}:{address.bus:02x}:{address.device:02x}",
        "port": at.port.path,
        "net": at.port.interface_path,
        "nvswitch_bus": str(switches[0].address) if switches else "",
    }


def _integer(number: int | str, words: dict[str, str]) -> int:
    if isinstance(number, int):
        return number
    text = number.format(**words)
    try:
        return int(text, 0)
    except ValueError:
        raise TwinError(f"--value: expected a whole number, found {text!r}") from None


def _key(what: Fault, gpu: int, port: TwinRdmaPort) -> str:
    place = {"gpu": f"gpu{gpu}", "port": port.name, "node": "node"}[what.on]
    return f"{what.name}@{place}"


def _opened(node: TwinNode | str | Path) -> TwinNode:
    return node if isinstance(node, TwinNode) else open_node(node)


def _gpu(node: TwinNode, index: int) -> int:
    if not 0 <= index < node.model.gpus:
        raise TwinError(f"--gpu: this node has GPUs 0 to {node.model.gpus - 1}, not {index}")
    return index


def _port(node: TwinNode, name: str) -> TwinRdmaPort:
    ports = node.ports()
    for port in ports:
        if port.name == (name or ports[0].name):
            return port
    raise TwinError(f"--port: this node has {', '.join(port.name for port in ports)}, not {name!r}")
