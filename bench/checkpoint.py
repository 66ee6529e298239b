"""What a checkpoint costs the training, and how long it takes to have it back: 4 ranks, 256 MB each, one run.

    python bench/checkpoint.py [--rounds 5] [--megabytes 256] [--nvrx FOLDER]
    python bench/checkpoint.py --host-share 0.2 --name checkpoint_gpu_like

Beside ours, in turn and round by round: a plain copy into warm pages, the same copy whose bytes are then moved to the
next rank by sendfile at the lowest priority (the floor of the step after a save), blocking torch.save,
torch.distributed.checkpoint.async_save, and NVRx's local checkpoint where its unpacked package is named. Each rank is a
node with its own keeper; figures are of the slowest rank. After each save a step of training follows: matrix products,
as many as take --step-seconds without a save; with --host-share the host waits for the rest of the time, as it does for
a GPU. It needs an idle machine: beside other work the floor, at the lowest priority, gets no turn. What holds on a busy
one too is the processor time of a keeper during the step after a save. Memory is the proportional set size (PSS)
of ranks and keepers. With --storage every save is stored too, and the floor writes the same bytes.
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
from checkpoint_floor import Mover, free_ports
from measure import RESULTS, cpu_seconds

STEPS = ("none", "copy", "floor", "ours", "async_save")  # what a step follows
KINDS = ("ours", "copy", "floor", "torch_save", "async_save")
NVRX = ("nvrx", "nvrx_replica")
PIECES = 25  # of a step, with a wait after each where the host waits


def rank_main(folder: Path, options: argparse.Namespace) -> None:
    import torch
    import torch.distributed as dist

    from holdfast.training import Checkpoint

    dist.init_process_group("gloo")
    rank, megabytes, phase = dist.get_rank(), options.megabytes, options.phase
    os.environ["HOLDFAST_NODE"] = f"node{rank}"
    torch.set_num_threads(1)
    tensors = {f"t{at}": torch.full((megabytes * 2**20 // 32 // 4,), float(at + rank)) for at in range(32)}
    stores = int(options.storage)
    ckpt = Checkpoint(folder / "job", replicas=2, storage_every=stores, keeper_options=("--linger-seconds", "600"))
    figures: dict[str, Any] = {}
    if phase == "save":
        before = pss(os.getpid())
        steps = Steps(options.step_seconds, options.host_share)
        times = _stalls(ckpt, tensors, folder, options, steps)
        figures = {name: _slowest(one) for name, one in times.items()}
        figures |= {f"step_{name}": _slowest(one) for name, one in steps.times.items()}
        warm = megabytes * 2**20  # of the plain copy
        status = ckpt.status()
        memory = torch.tensor([pss(os.getpid()) - before - warm, pss(status["keeper"]), status["used_bytes"]])
        dist.all_reduce(memory)
        figures["rank_growth_bytes"], figures["keeper_bytes"], figures["buffer_bytes"] = (
            memory / dist.get_world_size()
        ).tolist()
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
    """Steps of training that compute, and wait where the host has only a share; `times` by what was saved before."""

    def __init__(self, seconds: float, host_share: float) -> None:
        import torch

        self._factor = torch.randn(256, 256)
        self._products, self._pause = 1, 0.0
        while self._seconds() < seconds * host_share:
            self._products = max(self._products + 1, int(self._products * 1.3))
        self._pause = seconds * (1 - host_share) / PIECES
        self.times: dict[str, list[float]] = {name: [] for name in STEPS}

    def after(self, kind: str, keep: bool) -> None:
        seconds = self._seconds()
        if keep:
            self.times[kind].append(seconds)

    def _seconds(self) -> float:
        begun = time.perf_counter()
        for _ in range(PIECES):
            for _ in range(self._products):
                self._factor @ self._factor
            if self._pause:
                time.sleep(self._pause)
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
    ckpt: Any, tensors: dict[str, Any], folder: Path, options: argparse.Namespace, steps: Steps
) -> dict[str, list[float]]:
    """Seconds until the call is back, one of each kind per round; what still works behind it is waited for outside."""
    import torch
    import torch.distributed as dist
    from torch.distributed.checkpoint.state_dict_saver import async_save

    rank, rounds = dist.get_rank(), options.rounds
    warm = {name: tensor.clone() for name, tensor in tensors.items()}
    mover = Mover(folder, rank, options.ports, options.megabytes * 2**20, options.storage)
    moved = torch.from_file(str(mover.file), True, options.megabytes * 2**18, dtype=torch.float32)
    shared = dict(zip(tensors, moved.view(len(tensors), -1).unbind(), strict=True))
    peers = checkpoint_nvrx.saves(options.nvrx, folder, tensors) if options.nvrx else {}
    times: dict[str, list[float]] = {kind: [] for kind in (*KINDS, *peers)}
    cpu: dict[str, list[float]] = {"ours": [], "floor": [], "step": []}
    own = dist.new_group()  # async_save gathers in a thread: in the group of the steps its calls would mix with theirs

    def timed(kind: str, keep: bool, call: Callable[[], Any]) -> Any:
        dist.barrier()
        begun = time.perf_counter()
        result = call()
        if keep:
            times[kind].append(time.perf_counter() - begun)
        return result

    def step(kind: str, keep: bool) -> None:
        """All ranks meet at its end, as in training: one that asks its keeper early would slow down the others."""
        steps.after(kind, keep)
        dist.barrier()

    ckpt.load({"state": _into(tensors)})
    for at in range(rounds + 3):
        keep = at >= 3  # the first ones touch new pages
        for tensor in tensors.values():
            tensor.add_(1)  # as training does: what did not change would not be sent
        dist.barrier()
        step("none", keep)
        timed("copy", keep, lambda: [warm[name].copy_(tensor) for name, tensor in tensors.items()])
        step("copy", keep)
        timed("floor", keep, lambda: [shared[name].copy_(tensor) for name, tensor in tensors.items()])
        used = cpu_seconds(mover.pid)
        mover.start()
        step("floor", keep)
        mover.wait()
        cpu["floor"].append(cpu_seconds(mover.pid) - used)
        keeper = ckpt.status()["keeper"]
        used = cpu_seconds(keeper)
        timed("ours", keep, partial(ckpt.save, at + 1, {"state": _into(tensors)}))
        before_step = cpu_seconds(keeper)
        steps.after("ours", keep)
        cpu["step"].append(cpu_seconds(keeper) - before_step)
        dist.barrier()
        while ckpt.status()["committed"] < at + 1:
            time.sleep(0.05)
        dist.barrier()
        cpu["ours"].append(cpu_seconds(keeper) - used)
        if at >= 2:
            timed("torch_save", keep, lambda: torch.save(tensors, folder / f"plain.{rank}"))
            named = {f"{rank}/{name}": tensor for name, tensor in tensors.items()}
            writing = timed(
                "async_save", keep, partial(async_save, named, checkpoint_id=folder / "dcp", process_group=own)
            )
            step("async_save", keep)
            writing.result()
            for kind, save in peers.items():
                timed(kind, keep, partial(save, at + 1))
    mover.close()
    return times | {f"cpu_{kind}": one[3:] for kind, one in cpu.items()}


def _slowest(times: list[float]) -> list[float]:
    import torch
    import torch.distributed as dist

    gathered = torch.tensor(times)
    dist.all_reduce(gathered, op=dist.ReduceOp.MAX)
    return [round(value, 4) for value in gathered.tolist()]


def launch(folder: Path, options: argparse.Namespace, phase: str, report: int = 0) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={options.ranks}",
        __file__,
    ]
    words = ["--rank-of", str(folder), "--phase", phase, "--rounds", str(options.rounds)]
    words += ["--step-seconds", str(options.step_seconds), "--host-share", str(options.host_share)]
    words += [*(["--storage"] if options.storage else []), "--ports", *map(str, free_ports(options.ranks))]
    environment = {**os.environ, "HOLDFAST_RUNTIME_DIR": str(folder / "r"), "REPORT": str(report)}
    ranks = subprocess.Popen(
        [*command, *words, "--megabytes", str(options.megabytes), "--nvrx", options.nvrx],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, errors = ranks.communicate()
    finally:
        ranks.terminate()  # where this run is cut short: torchrun then ends its ranks
        ranks.wait()
    if ranks.returncode:
        raise SystemExit(errors[-3000:])
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
    parser.add_argument("--ranks", type=int, default=4, help="at least 2: each is a node, and needs a partner")
    parser.add_argument("--host-share", type=float, default=1.0, help="of a step in which the host computes")
    parser.add_argument("--storage", action="store_true", help="store every save too")
    parser.add_argument("--name", default="checkpoint", help="of the file in bench/results")
    parser.add_argument("--rank-of", default="")
    parser.add_argument("--phase", default="save")
    parser.add_argument("--ports", nargs="*", type=int, default=[])
    options = parser.parse_args()
    if options.rank_of:
        rank_main(Path(options.rank_of), options)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a run that is cut short leaves no keeper behind
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bench-"))
    (folder / "r").mkdir(mode=0o700)
    try:
        saved = launch(folder, options, "save")
        own = launch(folder, options, "load")
        end(keeper_pids(folder)[-1:])
        partner = launch(folder, options, "load", report=options.ranks - 1)
        end(keeper_pids(folder))
        stored = launch(folder, options, "load")
    finally:
        end(keeper_pids(folder))
        shutil.rmtree(folder, ignore_errors=True)
        for path in Path("/dev/shm").glob(f"{folder.name}.*"):  # of the floor, where a run was cut short
            path.unlink()
    report(options, saved, {"own_memory": own, "partner": partner, "storage": stored})


def _ratio(stall: dict[str, float], kind: str) -> float:
    return round(stall["ours_stall_seconds"] / stall[f"{kind}_stall_seconds"], 3)


def _mean(values: list[float]) -> float:
    return round(statistics.mean(values), 3)


def report(options: argparse.Namespace, saved: dict[str, Any], loads: dict[str, dict[str, Any]]) -> None:
    kinds = [kind for kind in (*KINDS, *NVRX) if kind in saved]
    stall = {f"{kind}_stall_seconds": round(statistics.median(saved[kind]), 4) for kind in kinds}
    step = {name: statistics.median(saved[f"step_{name}"]) for name in STEPS}
    state_bytes = options.megabytes * 2**20
    figures = {
        "megabytes_per_rank": options.megabytes,
        "ranks": options.ranks,
        "rounds": options.rounds,
        "host_share": options.host_share,
        "stored": options.storage,
        "load_average": round(os.getloadavg()[0], 1),
        **stall,
        **{f"ours_to_{kind}": _ratio(stall, kind) for kind in kinds if kind != "ours"},
        "step_seconds": round(step["none"], 4),
        **{f"step_after_{name}": round(step[name] / step["none"], 3) for name in STEPS if name != "none"},
        **{f"{kind}_background_cpu_seconds": _mean(saved[f"cpu_{kind}"]) for kind in ("ours", "floor")},
        "ours_cpu_seconds_in_the_step_after": _mean(saved["cpu_step"]),
        "torch_load_seconds": loads["own_memory"]["torch_load"][0],
        "torch_load_mmap_seconds": loads["own_memory"]["torch_load_mmap"][0],
        "buffers_factor": round(saved["buffer_bytes"] / state_bytes, 2),
        "keeper_memory_factor": round(saved["keeper_bytes"] / state_bytes, 2),
        "rank_memory_factor": round(saved["rank_growth_bytes"] / state_bytes, 2),
        **{f"load_from_{name}_seconds": load["seconds"][0] for name, load in loads.items()},
        "loaded_from": {name: load["from"].split(" ")[0] for name, load in loads.items()},
        "spread": {kind: [min(saved[kind]), max(saved[kind])] for kind in kinds},
        "step_spread": {name: [min(saved[f"step_{name}"]), max(saved[f"step_{name}"])] for name in STEPS},
    }
    (RESULTS / f"{options.name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
