"""What a checkpoint costs the training, and how long it takes to have it back: 4 ranks, 256 MB each, one run.

    python bench/checkpoint.py [--rounds 5] [--megabytes 256] [--nvrx FOLDER]

Beside ours, in turn and round by round: a plain copy into warm pages (the floor), blocking torch.save,
torch.distributed.checkpoint.async_save, and NVRx's local checkpoint where its unpacked package is named. Each rank is a
node with its own keeper; figures are of the slowest rank. After each save a step of training follows: matrix products,
as many as take --step-seconds without a save. Memory is the proportional set size (PSS) of ranks and keepers.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import checkpoint_nvrx

WORLD = 4
STEPS = ("none", "copy", "ours", "async_save")  # what a step follows
KINDS = ("ours", "copy", "torch_save", "async_save")
NVRX = ("nvrx", "nvrx_replica")
RESULT = Path(__file__).parent / "results" / "checkpoint.json"


def rank_main(folder: Path, megabytes: int, rounds: int, phase: str, nvrx: str, step_seconds: float) -> None:
    import torch
    import torch.distributed as dist

    from holdfast.training import Checkpoint

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    os.environ["HOLDFAST_NODE"] = f"node{rank}"
    torch.set_num_threads(1)
    tensors = {f"t{at}": torch.full((megabytes * 2**20 // 32 // 4,), float(at + rank)) for at in range(32)}
    ckpt = Checkpoint(folder / "job", replicas=2, keeper_options=("--linger-seconds", "600"))
    figures: dict[str, Any] = {}
    if phase == "save":
        before = pss(os.getpid())
        steps = Steps(step_seconds)
        times = _stalls(ckpt, tensors, folder, rank, rounds, nvrx, steps)
        figures = {name: _slowest(one) for name, one in times.items()}
        figures |= {f"step_{name}": _slowest(one) for name, one in steps.times.items()}
        warm = megabytes * 2**20  # of the plain copy
        memory = torch.tensor([pss(os.getpid()) - before - warm, pss(ckpt.status()["keeper"])])
        dist.all_reduce(memory)
        figures["rank_growth_bytes"], figures["keeper_bytes"] = (memory / WORLD).tolist()
        figures["stored"] = ckpt.flush()
    else:
        dist.barrier()
        begun = time.perf_counter()
        step = ckpt.load({"state": _into(tensors)})
        figures = {"seconds": _slowest([time.perf_counter() - begun]), "step": step, "from": ckpt.loaded_from}
        for name, mapped in (("torch_load", False), ("torch_load_mmap", True)):
            dist.barrier()
            begun = time.perf_counter()
            _into(tensors).load_state_dict(torch.load(folder / f"plain.{rank}", mmap=mapped))
            figures[name] = _slowest([time.perf_counter() - begun])
    if rank == int(os.environ.get("REPORT", "0")):
        (folder / f"{phase}.json").write_text(json.dumps(figures))
    dist.barrier()
    dist.destroy_process_group()


class Steps:
    """Steps of training that only compute; `times` by what was saved just before."""

    def __init__(self, seconds: float) -> None:
        import torch

        self._factor = torch.randn(256, 256)
        self._products = 1
        while self._seconds() < seconds:
            self._products = max(self._products + 1, int(self._products * 1.3))
        self.times: dict[str, list[float]] = {name: [] for name in STEPS}

    def after(self, kind: str, keep: bool) -> None:
        seconds = self._seconds()
        if keep:
            self.times[kind].append(seconds)

    def _seconds(self) -> float:
        begun = time.perf_counter()
        for _ in range(self._products):
            self._factor @ self._factor
        return time.perf_counter() - begun


def pss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _into(tensors: dict[str, Any]) -> Any:
    """The tensors as a module has them: a load copies into them."""
    import torch

    module = torch.nn.Module()
    for name, tensor in tensors.items():
        module.register_buffer(name, tensor)
    return module


def _stalls(
    ckpt: Any, tensors: dict[str, Any], folder: Path, rank: int, rounds: int, nvrx: str, steps: Steps
) -> dict[str, list[float]]:
    """Seconds until the call is back, one of each kind per round; what still works behind it is waited for outside."""
    import torch
    import torch.distributed as dist
    from torch.distributed.checkpoint.state_dict_saver import async_save

    warm = {name: tensor.clone() for name, tensor in tensors.items()}
    peers = checkpoint_nvrx.saves(nvrx, folder, tensors) if nvrx else {}
    times: dict[str, list[float]] = {kind: [] for kind in (*KINDS, *peers)}

    def timed(kind: str, keep: bool, call: Callable[[], Any]) -> Any:
        dist.barrier()
        begun = time.perf_counter()
        result = call()
        if keep:
            times[kind].append(time.perf_counter() - begun)
        return result

    for at in range(rounds + 3):
        keep = at >= 3  # the first ones touch new pages
        dist.barrier()
        steps.after("none", keep)
        timed("copy", keep, lambda: [warm[name].copy_(tensor) for name, tensor in tensors.items()])
        steps.after("copy", keep)
        timed("ours", keep, partial(ckpt.save, at + 1, {"state": _into(tensors)}))
        steps.after("ours", keep)
        while ckpt.status()["committed"] < at + 1 and at:
            time.sleep(0.05)
        if at >= 2:
            timed("torch_save", keep, lambda: torch.save(tensors, folder / f"plain.{rank}"))
            named = {f"{rank}/{name}": tensor for name, tensor in tensors.items()}
            writing = timed("async_save", keep, partial(async_save, named, checkpoint_id=folder / "dcp"))
            steps.after("async_save", keep)
            writing.result()
            for kind, save in peers.items():
                timed(kind, keep, partial(save, at + 1))
    return times


def _slowest(times: list[float]) -> list[float]:
    import torch
    import torch.distributed as dist

    gathered = torch.tensor(times)
    dist.all_reduce(gathered, op=dist.ReduceOp.MAX)
    return [round(value, 4) for value in gathered.tolist()]


def launch(folder: Path, options: argparse.Namespace, phase: str, report: int = 0) -> dict[str, Any]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={WORLD}", __file__]
    words = ["--rank-of", str(folder), "--phase", phase, "--rounds", str(options.rounds)]
    words += ["--step-seconds", str(options.step_seconds)]
    environment = {**os.environ, "HOLDFAST_RUNTIME_DIR": str(folder / "r"), "REPORT": str(report)}
    done = subprocess.run(
        [*command, *words, "--megabytes", str(options.megabytes), "--nvrx", options.nvrx],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    figures: dict[str, Any] = json.loads((folder / f"{phase}.json").read_text())
    return figures


def keeper_pids(folder: Path) -> list[int]:
    """In the order of the nodes, by what each keeper's log says of itself."""
    found = {}
    for log in (folder / "r").glob("*.log"):
        node = log.read_text().split(" on ", 1)[1].split(",")[0]
        found[node] = int(log.with_suffix(".lock").read_text())
    return [found[node] for node in sorted(found)]


def end(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--step-seconds", type=float, default=0.5)
    parser.add_argument("--nvrx", default="", help="a folder with the package nvidia_resiliency_ext, to stand beside")
    parser.add_argument("--rank-of", default="")
    parser.add_argument("--phase", default="save")
    options = parser.parse_args()
    if options.rank_of:
        rank_main(
            Path(options.rank_of), options.megabytes, options.rounds, options.phase, options.nvrx, options.step_seconds
        )
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a run that is cut short leaves no keeper behind
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bench-"))
    (folder / "r").mkdir(mode=0o700)
    try:
        saved = launch(folder, options, "save")
        own = launch(folder, options, "load")
        end(keeper_pids(folder)[2:3])
        partner = launch(folder, options, "load", report=2)
        end(keeper_pids(folder))
        stored = launch(folder, options, "load")
    finally:
        end(keeper_pids(folder))
        shutil.rmtree(folder, ignore_errors=True)
    report(options, saved, {"own_memory": own, "partner": partner, "storage": stored})


def _ratio(stall: dict[str, float], kind: str) -> float:
    return round(stall["ours_stall_seconds"] / stall[f"{kind}_stall_seconds"], 3)


def report(options: argparse.Namespace, saved: dict[str, Any], loads: dict[str, dict[str, Any]]) -> None:
    kinds = [kind for kind in (*KINDS, *NVRX) if kind in saved]
    stall = {f"{kind}_stall_seconds": round(statistics.median(saved[kind]), 4) for kind in kinds}
    step = {name: statistics.median(saved[f"step_{name}"]) for name in STEPS}
    state_bytes = options.megabytes * 2**20
    figures = {
        "megabytes_per_rank": options.megabytes,
        "ranks": WORLD,
        "rounds": options.rounds,
        **stall,
        **{f"ours_to_{kind}": _ratio(stall, kind) for kind in kinds if kind != "ours"},
        "step_seconds": round(step["none"], 4),
        **{f"step_after_{name}": round(step[name] / step["none"], 3) for name in STEPS if name != "none"},
        "torch_load_seconds": loads["own_memory"]["torch_load"][0],
        "torch_load_mmap_seconds": loads["own_memory"]["torch_load_mmap"][0],
        "keeper_memory_factor": round(saved["keeper_bytes"] / state_bytes, 2),
        "rank_memory_factor": round(saved["rank_growth_bytes"] / state_bytes, 2),
        **{f"load_from_{name}_seconds": load["seconds"][0] for name, load in loads.items()},
        "loaded_from": {name: load["from"].split(" ")[0] for name, load in loads.items()},
        "spread": {kind: [min(saved[kind]), max(saved[kind])] for kind in kinds},
    }
    RESULT.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
