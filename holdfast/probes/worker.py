"""The probe's hand on one host: reads one JSON command a line, answers with one JSON document a line.

It lives for a whole probe, so that torch is loaded once; every exchange gets a process group of its own, which ends
with it. Whatever goes wrong is said in one sentence: a host that cannot take part is not a slow one.
"""

import datetime
import json
import os
import platform
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from holdfast.probes.interface import interface_of


def main() -> int:
    answers = _private_stdout()
    say(answers, hello())
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "stop":
            break
        if command["do"] == "port":
            say(answers, {"port": _free_port(command["address"])})
            continue
        try:
            perform = fingerprint if command["do"] == "fingerprint" else exchange
            say(answers, {"id": command["id"], **perform(command, answers)})
        except (RuntimeError, ValueError, OSError, MemoryError) as error:
            say(answers, {"id": command["id"], "error": " ".join(str(error).split())[:400]})
    return 0


def _private_stdout() -> IO[str]:
    """Libraries print; the protocol's line stays clean."""
    keep = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(keep, "w", buffering=1)


def say(answers: IO[str], document: dict[str, Any]) -> None:
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
    return {"hello": platform.node(), "gpu_model": model, **facts}


def _own_address() -> str:
    """As others resolve this host, for those whose address was not given."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def _free_port(address: str) -> int:
    with socket.socket() as listener:
        listener.bind((address, 0))
        return int(listener.getsockname()[1])


def _free_memory() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def fingerprint(command: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    """The bits of every device here, from repeats; `flip` is a drill that turns one bit of an input."""
    from holdfast.probes import bench, fingerprint

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
    if command["backend"] == "nccl":  # it says which network plugin it chose, once, on what we made our stderr
        os.environ.setdefault("NCCL_DEBUG", "INFO")
        os.environ.setdefault("NCCL_DEBUG_SUBSYS", "INIT,NET")
    with pinned(command.get("environment", {})):
        return _in_group(command, answers)


@contextmanager
def pinned(environment: dict[str, str]) -> Iterator[None]:
    """NCCL reads its algorithm and protocol anew for every communicator."""
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

    dist.init_process_group(
        command["backend"],
        init_method=f"tcp://{command['master']}",
        rank=command["rank"],
        world_size=command["world"],
        timeout=datetime.timedelta(seconds=command["patience_seconds"]),
    )
    try:
        return _sweep(command, answers)
    finally:
        dist.destroy_process_group()


def _sweep(command: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    from holdfast.probes import collective

    device = "cuda" if command["backend"] == "nccl" else "cpu"
    spoil = collective.spoil_one(*command["spoil"]) if command.get("spoil") else collective.spoil_nothing
    rows = []
    stopped = ""
    for size in command["sizes"]:
        timing = collective.measure(command["operation"], size, command["budget_seconds"], device, spoil)
        rows.append({"bytes": size, "seconds": timing.seconds, "wrong": timing.wrong})
        if timing.wrong and command["operation"] == "all_reduce":
            rows[-1]["wrong_ranks"] = collective.wrong_ranks(size, device, spoil)
        say(answers, {"id": command["id"], "progress": size})
        if timing.slowest > command["longest_seconds"]:
            stopped = f"stopped after {size} bytes: one {command['operation']} took {timing.slowest:.1f} s"
            break
    return {"rows": rows, "stopped": stopped}


if __name__ == "__main__":
    raise SystemExit(main())
