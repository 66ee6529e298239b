"""Process of the active probes: `python -m holdfast.node.probes.active.suite REQUEST`, JSON lines on stdout.

It leads its process group. When its input ends, because its parent is finished or dead, it kills the whole group, so
that an abort leaves neither processes nor files.
"""

import importlib
import json
import os
import signal
import sys
import threading
import time
from typing import IO, Any

from holdfast.node.probes.active.bench import Bench, CannotMeasure, FoundDevices, find_devices
from holdfast.node.probes.active.probes import DEVICE, PROBES, STAND_IN, seconds_name

CPU_SECONDS, GPU_SECONDS = 1.0, 15.0


def main(text: str) -> int:
    request = json.loads(text)
    answers = _private_stdout()
    threading.Thread(target=_end_with_input, daemon=True).start()
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # in the driver's order
    try:
        devices = find_devices(request["node"], request["stand_ins"])
    except (ImportError, RuntimeError) as error:
        _write(answers, {"blind": f"torch cannot be used: {' '.join(str(error).split())[:300]}"})
        return 0
    cuda = devices[0].cuda
    bench = Bench(request["node"], devices, request["seconds"] or (GPU_SECONDS if cuda else CPU_SECONDS))
    kind = "cuda" if cuda else STAND_IN if request["stand_ins"] else "cpu"
    _write(answers, {"signals": [(request["node"], DEVICE, kind)]})
    try:
        for name in request["probes"]:
            _run(name, bench, answers)
    finally:
        if bench.crew is not None:
            bench.crew.stop()
    return 0


def _private_stdout() -> IO[str]:
    """Redirects stdout, because libraries print and the protocol must stay clean."""
    keep = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(keep, "w", buffering=1)


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


def _write(answers: IO[str], document: dict[str, Any]) -> None:
    answers.write(json.dumps(document) + "\n")


def _run(name: str, bench: Bench, answers: IO[str]) -> None:
    _write(answers, {"begin": name})
    began = time.perf_counter()
    found = FoundDevices()
    try:
        probe = importlib.import_module(f"holdfast.node.probes.active.{name}")
        found = probe.measure(bench, lambda words: _write(answers, {"begin": name, "at": words}))
    except (CannotMeasure, RuntimeError, ValueError, OSError, MemoryError) as error:
        reason = f"{name} did not run: {' '.join(str(error).split())[:300]}"
        found = FoundDevices()  # drop partial results
        for subject in {bench.node, *(device.subject for device in bench.devices)}:
            found.miss(subject, reason, *PROBES[name])
    found.record(bench.node, seconds_name(name), round(time.perf_counter() - began, 3))
    absent = [(subject, signal_name, why) for (subject, signal_name), why in found.absent.items()]
    _write(answers, {"signals": found.signals, "absent": absent})


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
