"""Copies between host memory and each device, from every NUMA node, with the numbers compared on the way back."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from holdfast.node.probes.active.bench import (
    Bench,
    CannotMeasure,
    FoundDevices,
    Notify,
    ProbeDevice,
    Stopwatch,
    cores,
    settle,
)

BYTES = {True: 256 << 20, False: 16 << 20}  # by whether it is a GPU


def measure(bench: Bench, notify: Notify) -> FoundDevices:
    found = FoundDevices()
    places = _numa_nodes()
    for place in places:
        with _running_on(place):
            for device in bench.devices:  # one after another, because they share a path
                notify(f"{place} {device.label}")
                share = bench.seconds / len(places) / len(bench.devices)
                _measure_one(bench, found, place, device, share)
    return found


def _measure_one(bench: Bench, found: FoundDevices, place: str, device: ProbeDevice, seconds: float) -> None:
    path = f"{bench.node}/host_path/{place.replace('node', 'numa')}-{device.label}"
    size = BYTES[device.cuda]
    host = torch.arange(size // 4, dtype=torch.int32)
    back = torch.empty_like(host)
    if device.cuda:
        host, back = host.pin_memory(), back.pin_memory()
    there = torch.empty(size // 4, dtype=torch.int32, device=device.torch_name)
    found.record(path, "probe_host_copy_to_device_bytes_per_second", _rate(device, there, host, seconds / 2))
    found.record(path, "probe_host_copy_from_device_bytes_per_second", _rate(device, back, there, seconds / 2))
    found.record(path, "probe_host_copy_wrong", float(not torch.equal(back, host)))


def _rate(device: ProbeDevice, target: torch.Tensor, source: torch.Tensor, seconds: float) -> float:
    target.copy_(source, non_blocking=True)
    settle(device)
    watch, busy, done = Stopwatch(seconds), 0.0, 0
    while watch.running or not done:
        began = time.perf_counter()
        target.copy_(source, non_blocking=True)
        settle(device)
        busy += time.perf_counter() - began
        done += 1
    return source.numel() * source.element_size() * done / busy


def _numa_nodes(root: str = "/sys") -> list[str]:
    folder = f"{root}/devices/system/node"
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith("node") and name[4:].isdigit())
    except OSError:
        names = []
    usable = [name for name in names if cores(name, root)]
    if not usable:
        raise CannotMeasure(f"{folder} names no NUMA node whose CPUs this process may use")
    return usable


@contextmanager
def _running_on(place: str) -> Iterator[None]:
    """Runs on a NUMA node: memory is allocated on the node of the thread that touches it first."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores(place))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
