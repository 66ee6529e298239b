"""One device under a shaped load: `python -m holdfast.node.probes.stress.worker REQUEST`; a JSON line a second."""

import json
import os
import signal
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from holdfast.node.probes.stress.exchange import PhaseExchange
from holdfast.node.probes.stress.profiles import BESIDE, SHARED

TABLE_ROWS, TABLE_WIDTH = 500_000, 16


def main(text: str) -> int:
    request = json.loads(text)
    if request["device"] == "cpu":
        torch.set_num_threads(1)
    together = PhaseExchange(request)
    phases = [_made(phase, together) for phase in request["phases"]]
    for phase in phases:
        phase()  # buffers and kernels are created before the clock starts
    sys.stdout.write(json.dumps({"ready": True}) + "\n")
    sys.stdout.flush()
    os.read(0, 1)  # all begin together: loading torch next to a working neighbour would look like a slow start
    threading.Thread(target=_end_with_input, daemon=True).start()
    _iterate(phases, request["seconds"], together)
    return 0


def _made(phase: dict[str, Any], together: PhaseExchange) -> Callable[[], None]:
    if phase["do"] in SHARED:
        shared: Callable[[], None] = getattr(together, phase["do"])(phase)
        return shared
    if phase["do"] == BESIDE:
        train, serve = ([_made(one, together) for one in phase[which]] for which in ("train", "serve"))
        return _beside(train, serve, together.device)
    return _PHASES[phase["do"]](phase, together.device)


def _beside(train: list[Callable[[], None]], serve: list[Callable[[], None]], device: str) -> Callable[[], None]:
    """Generates tokens while training steps run on the same device, each on its own thread and stream."""
    stream: Any = torch.cuda.Stream(device) if device != "cpu" else None  # type: ignore[no-untyped-call]
    server = ThreadPoolExecutor(1)

    def generate() -> None:
        with torch.cuda.stream(stream):
            for phase in serve:
                phase()

    def both() -> None:
        beside = server.submit(generate)
        for phase in train:
            phase()
        beside.result()

    return both


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def _iterate(phases: list[Callable[[], None]], seconds: float, together: PhaseExchange) -> None:
    """Report iterations per second of this worker's own work, without the time it waited for the others."""
    began = reported_at = time.perf_counter()
    iterations, waited = 0, together.waited
    while together.go_on((now := time.perf_counter()) < began + seconds):
        if now - reported_at >= 1.0:
            _report(now - began, iterations / max(1e-9, now - reported_at - (together.waited - waited)))
            reported_at, iterations, waited = now, 0, together.waited
        for phase in phases:
            phase()
        if together.device != "cpu":
            torch.cuda.synchronize(together.device)
        iterations += 1
    own = time.perf_counter() - reported_at - (together.waited - waited)
    if iterations:
        _report(time.perf_counter() - began, iterations / max(1e-9, own))


def _report(second: float, rate: float) -> None:
    sys.stdout.write(json.dumps({"second": round(second, 2), "iterations_per_second": rate}) + "\n")
    sys.stdout.flush()


def _repeated(work: Callable[[], object], times: int) -> Callable[[], None]:
    def repeat() -> None:
        for _ in range(times):
            work()

    return repeat


def _product(phase: dict[str, Any], device: str) -> Callable[[], None]:
    left = torch.randn(phase["side"], phase["side"], device=device)
    return _repeated(lambda: torch.mm(left, left), phase["times"])


def _decode(phase: dict[str, Any], device: str) -> Callable[[], None]:
    weights, token = (torch.randn(phase["side"], columns, device=device) for columns in (phase["side"], 1))
    return _repeated(lambda: torch.mm(weights, token), phase["times"])


def _copy(phase: dict[str, Any], device: str) -> Callable[[], None]:
    here = torch.ones(int(phase["mebibytes"] * (1 << 18)))
    there = torch.empty_like(here, device=device)
    return _repeated(lambda: there.copy_(here), phase["times"])


def _lookup(phase: dict[str, Any], device: str) -> Callable[[], None]:
    table = torch.randn(TABLE_ROWS, TABLE_WIDTH, device=device)
    wanted = torch.randint(0, TABLE_ROWS, (phase["rows"],), device=device)
    return _repeated(lambda: table.index_select(0, wanted), phase["times"])


def _unpack(phase: dict[str, Any], device: str) -> Callable[[], None]:
    packed = zlib.compress(bytes(range(256)) * (phase["kibibytes"] * 4), 6)
    return _repeated(lambda: zlib.decompress(packed), phase["times"])


def _save(phase: dict[str, Any], device: str) -> Callable[[], None]:
    weights = bytes(int(phase["mebibytes"] * (1 << 20)))

    def save() -> None:
        with tempfile.TemporaryFile() as file:
            file.write(weights)
            file.flush()
            os.fsync(file.fileno())

    return save


def _pause(phase: dict[str, Any], device: str) -> Callable[[], None]:
    return lambda: time.sleep(phase["seconds"])


_PHASES: dict[str, Callable[[dict[str, Any], str], Callable[[], None]]] = {
    "product": _product,
    "decode": _decode,
    "copy": _copy,
    "lookup": _lookup,
    "unpack": _unpack,
    "save": _save,
    "pause": _pause,
}

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
