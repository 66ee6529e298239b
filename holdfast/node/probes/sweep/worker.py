"""Probe worker on one host: reads one JSON command per line, answers with one JSON document per line.

It lives for a whole probe, so that torch is loaded once. Every exchange gets its own process group, which ends with it.
An error is reported in one sentence: a host that cannot take part is not a slow one.
"""

import datetime
import json
import os
import platform
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from holdfast.node.probes.sweep import datagrams
from holdfast.node.probes.sweep.interface import interface_of
from holdfast.node.probes.sweep.run_delay import RunDelay
from holdfast.node.probes.sweep.slots import ExtraRanks

PINNED = ("NCCL_ALGO", "NCCL_PROTO")
_speaking = threading.Lock()  # slots send messages too


def main() -> int:
    answers = _private_stdout()
    commands: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(commands, answers), daemon=True).start()
    send_document(answers, hello())
    while True:
        perform(commands.get(), answers)


def perform(command: dict[str, Any], answers: IO[str]) -> None:
    try:
        send_document(answers, {"id": command["id"], **_PERFORM[command["do"]](command, answers)})
    except (RuntimeError, ValueError, OSError, MemoryError) as error:
        send_document(answers, {"id": command["id"], "error": " ".join(str(error).split())[:400]})


def _listen(commands: "queue.SimpleQueue[dict[str, Any]]", answers: IO[str]) -> None:
    """Reads commands, also while an exchange runs.

    When the input ends, the result is not needed any more: the node is released at once, behind ssh and srun too.
    """
    slots = ExtraRanks(lambda document: send_document(answers, document))
    try:
        for line in sys.stdin:
            command = json.loads(line)
            slot = command.pop("slot", 0)
            if slot:
                slots.ask(slot, command)
            else:
                commands.put(command)
    finally:  # also if the connection breaks
        os._exit(0)


def _private_stdout() -> IO[str]:
    """Redirects stdout, because libraries print and the protocol must stay clean."""
    keep = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(keep, "w", buffering=1)


def send_document(answers: IO[str], document: dict[str, Any]) -> None:
    with _speaking:
        answers.write(json.dumps(document) + "\n")
        answers.flush()


def hello() -> dict[str, Any]:
    try:
        import torch
    except ImportError as error:
        return {"hello": platform.node(), "error": f"torch is not installed: {error}"}
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    facts = {"torch": torch.__version__, "gpus": gpus, "free_bytes": _free_memory(), "address": _own_address()}
    model = torch.cuda.get_device_name(0) if gpus else ""
    memory = min((torch.cuda.get_device_properties(gpu).total_memory for gpu in range(gpus)), default=0)
    return {"hello": platform.node(), "gpu_model": model, "gpu_bytes": memory, **facts}


def _own_address() -> str:
    """The address to which other hosts resolve this one, if none was given."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def free_port(command: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    with socket.socket() as listener:
        try:
            listener.bind((command["address"], 0))
        except OSError as error:
            raise OSError(f"cannot listen on {command['address']}: {error.strerror}") from None
        return {"port": int(listener.getsockname()[1])}


def _free_memory() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def fingerprint(command: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    """The digest of every device here, from repeated runs. `flip` is a drill that flips one bit of an input."""
    from holdfast.node.probes.active import bench, fingerprint

    devices = []
    for device in bench.find_devices(command["node"], 0):
        digests = [fingerprint.digest(device, command["flip"]) for _ in range(command["repeats"])]
        unstable = sum(digest != digests[0] for digest in digests)
        devices.append((device.subject, fingerprint.key(device), digests[0], len(digests), unstable))
    return {"devices": devices}


def exchange(command: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    address = command["address"]
    if address:
        os.environ["GLOO_SOCKET_IFNAME"] = interface_of(address)
    if command["backend"] == "nccl":  # NCCL prints the chosen network plugin once, to our stderr
        os.environ.setdefault("NCCL_DEBUG", "INFO")
        os.environ.setdefault("NCCL_DEBUG_SUBSYS", "INIT,NET")
        _choose_gpu(command.get("gpu", 0))
    with pinned(command.get("environment", {})), _cpu_wait() as waited:
        return {**_in_group(command, answers), "cpu_wait_ratio": waited()}


@contextmanager
def _cpu_wait() -> Iterator[Callable[[], float]]:
    """The share of the time in which a thread of this process was runnable without a CPU."""
    delay, start = RunDelay(), time.monotonic()
    before = delay.seconds()
    try:
        yield lambda: max(0.0, delay.seconds() - before) / max(1e-3, time.monotonic() - start)
    finally:
        delay.close()


def _choose_gpu(number: int) -> None:
    import torch

    torch.cuda.set_device(number)


@contextmanager
def pinned(environment: dict[str, str]) -> Iterator[None]:
    """Pins algorithm and protocol, which NCCL reads for every communicator. No other variable may be set remotely:
    some name libraries that NCCL loads."""
    if strange := sorted(set(environment) - set(PINNED)):
        raise ValueError(f"expected nothing but {' and '.join(PINNED)} to pin, found {strange[0]!r}")
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _in_group(command: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    import torch.distributed as dist

    # A group that could not form leaves its number behind on some ranks, which then look for each other under other
    # names: none of their later groups would complete.
    dist.distributed_c10d._world.group_count = 0
    dist.init_process_group(
        command["backend"],
        init_method=f"tcp://{command['master']}",
        rank=command["rank"],
        world_size=command["world"],
        timeout=datetime.timedelta(seconds=command["timeout_seconds"]),
    )
    try:
        return _sweep(command, answers)
    finally:
        dist.destroy_process_group()


def _sweep(command: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    from holdfast.node.probes.sweep import collective

    device = f"cuda:{command.get('gpu', 0)}" if command["backend"] == "nccl" else "cpu"
    spoil = collective.spoil_one(*command["spoil"]) if command.get("spoil") else collective.spoil_nothing
    rows = []
    stopped = ""
    latencies = (
        collective.latencies(command["operation"], command["latency_bytes"], device)
        if command.get("latency_bytes")
        else []
    )
    for size in command["sizes"]:
        timing = collective.measure(command["operation"], size, command["budget_seconds"], device, spoil)
        rows.append({"bytes": size, "seconds": timing.seconds, "wrong": timing.wrong})
        if timing.wrong:
            rows[-1]["wrong_ranks"] = collective.wrong_ranks(size, device, spoil)
        send_document(answers, {"id": command["id"], "progress": size})
        if timing.slowest > command["longest_seconds"]:
            stopped = f"stopped after {size} bytes: one {command['operation']} took {timing.slowest:.1f} s"
            break
    return {"rows": rows, "stopped": stopped, "latencies": latencies}


def echo_datagrams(command: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    return {"port": datagrams.echo(command["address"], command["peer"], command["key"])}


def send_datagrams(command: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    address = command["address"]
    mtu = datagrams.mtu_of(interface_of(address))
    return datagrams.send(address, (command["to"], command["port"]), mtu, command["key"])


_PERFORM = {
    "port": free_port,
    "fingerprint": fingerprint,
    "exchange": exchange,
    "echo": echo_datagrams,
    "datagrams": send_datagrams,
}

if __name__ == "__main__":
    raise SystemExit(main())
