"""The devices of one node as ranks of a process group: one worker each, distinguished by the GPU that it may see."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from holdfast.node.probes.active.bench import Bench, CannotMeasure, ProbeDevice
from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.sweep.crew import Crew

MOST_ON_A_CPU = 2  # processes that represent devices on a host without GPU
TIMEOUT_SECONDS = 60.0
_THREADS = "OMP_NUM_THREADS=1"  # otherwise ranks on one CPU would compete for it


def ranks(bench: Bench) -> tuple[ProbeDevice, ...]:
    if bench.cuda:
        if len(bench.devices) < 2:
            raise CannotMeasure("the node has a single GPU: no peer to exchange with")
        return bench.devices
    alone = len(bench.devices) == 1
    chosen = [bench.devices[0 if alone else index] for index in range(MOST_ON_A_CPU)]
    return tuple(ProbeDevice(d.subject, d.torch_name, f"cpu{i}" if alone else d.label) for i, d in enumerate(chosen))


def crew_of(bench: Bench, devices: Sequence[ProbeDevice]) -> Crew:
    """The crew, started once for all probes that need it, because loading torch takes time."""
    if bench.crew is None:
        hosts = [Host(device.label, "127.0.0.1", launch=("env", _seen_by(device))) for device in devices]
        bench.crew = Crew(hosts)
        bench.crew.muster()
    if trouble := next((worker.trouble for worker in bench.crew.workers.values() if worker.trouble), ""):
        raise CannotMeasure(trouble)
    return bench.crew


def _seen_by(device: ProbeDevice) -> str:
    return f"CUDA_VISIBLE_DEVICES={device.torch_name.partition(':')[2]}" if device.cuda else _THREADS


def exchange(
    crew: Crew, devices: Sequence[ProbeDevice], operation: str, sizes: Sequence[int], seconds: float
) -> list[Any]:
    """The rows of every rank, in device order. Raises CannotMeasure if a rank has none."""
    names = [device.label for device in devices]
    command = {
        "backend": "nccl" if devices[0].cuda else "gloo",
        "operation": operation,
        "sizes": list(sizes),
        "budget_seconds": seconds,
        "longest_seconds": TIMEOUT_SECONDS,
        "timeout_seconds": TIMEOUT_SECONDS,
    }
    crew.begin(names, command)
    answers = crew.finish(names, TIMEOUT_SECONDS)
    if error := next((answer["error"] for answer in answers if "error" in answer), ""):
        raise CannotMeasure(str(error))
    return [answer["rows"] for answer in answers]


def slowest(rows: Sequence[Any], of: Callable[[list[float]], float] = median) -> float:
    """The slowest rank's rows: a collective ends when all ranks are done."""
    return max(of(row["seconds"]) for row in rows)
