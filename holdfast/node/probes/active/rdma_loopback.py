"""Runs perftest's ib_write_bw from each port to itself, if it is installed."""

import os
import shutil
import socket
import subprocess
import time

from holdfast.node.probes.active.bench import Bench, CannotMeasure, FoundDevices, Notify
from holdfast.runtime import process

TOOL = "ib_write_bw"
ROOT = "/sys/class/infiniband"
NAME = "probe_rdma_loopback_bytes_per_second"
START_SECONDS = 1.0
_UNITS = {"Gb/sec": 1e9 / 8, "MB/sec": float(1 << 20), "MiB/sec": float(1 << 20)}


def measure(bench: Bench, notify: Notify) -> FoundDevices:
    tool = shutil.which(TOOL)
    if tool is None:
        raise CannotMeasure(f"{TOOL} (perftest) is not installed")
    found = FoundDevices()
    ports = _ports()
    if not ports:
        raise CannotMeasure(f"{ROOT} lists no port")
    for device, port in ports:
        notify(f"{device}/{port}")
        subject = f"{bench.node}/nic/{device}/{port}"
        try:
            found.record(subject, NAME, _loopback(tool, device, port, bench.seconds / len(ports)))
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            found.miss(subject, f"{TOOL} failed: {error}", NAME)
    return found


def _ports() -> list[tuple[str, str]]:
    if not os.path.isdir(ROOT):
        return []
    return [
        (device, port)
        for device in sorted(os.listdir(ROOT))
        for port in sorted(os.listdir(f"{ROOT}/{device}/ports"))
        if "ACTIVE" in _read(f"{ROOT}/{device}/ports/{port}/state")
    ]


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _loopback(tool: str, device: str, port: str, seconds: float) -> float:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = str(free.getsockname()[1])
    words = [tool, "-d", device, "-i", port, "-p", number, "-D", str(max(1, round(seconds))), "-F", "--report_gbits"]
    server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(START_SECONDS)  # it prints nothing when it listens
        done = process.capture([*words, "127.0.0.1"], seconds + 15)
        done.check_returncode()
    finally:
        server.kill()
        server.wait()
    return average(done.stdout.decode(errors="replace"))


def average(output: str) -> float:
    """Bytes per second from the table of ib_write_bw: bytes, iterations, peak, average, messages.

    The head has the unit, because a tool that does not know --report_gbits uses MB/sec.
    """
    unit = 0.0
    for line in output.splitlines():
        words = line.split()
        if line.lstrip().startswith("#bytes"):
            unit = next((worth for name, worth in _UNITS.items() if f"BW average[{name}]" in line), 0.0)
        elif unit and len(words) >= 5 and words[0].isdigit() and words[1].isdigit():
            return float(words[3]) * unit
    raise ValueError("its table has no row")
