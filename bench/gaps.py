"""What sending copies to a partner costs the steps of a training over a limited network, at once and in its gaps.

    python bench/gaps.py [--rounds 3] [--cycles 3] [--megabits 1000] [--megabytes 160]     (root: it makes hosts)

Four hosts in network namespaces, each behind a link of the same rate, one rank with its keeper on each. A step computes
(it sleeps, as a host does while its GPU works) and then sums gradients over the link under DDP; every fourth one saves.
Three arms in turn, round by round, in one run: no replica, replicas sent at once (nothing is known of gaps), replicas
sent while no rank of the node communicates. A cycle is a save and the steps until the next; figures are seconds of a
step, the middle of all cycles, with the interval in which 95 % of resampled middles lie.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from measure import PYTHON, cpu_times, publish, steal_ratio

WORLD = 4
EVERY = 4  # steps of a cycle
COMPUTE_SECONDS = 0.5  # long against the 33 ms that a chunk of 4 MiB takes, as on a fabric it is
GRADIENT_NUMBERS = 1 << 22  # 16 MB are summed at every step
ARMS = ("no_replica", "at_once", "in_gaps")
BUFFERS = 3  # that a keeper has for each rank
RESAMPLES = 2_000
ADDRESS = "10.96.7.{}"


class Switch:
    """Hands on when a rank communicates, to the checkpoint of the arm that listens to it."""

    def __init__(self) -> None:
        self.to: Any = None

    def communicating(self, now: bool) -> None:
        if self.to is not None:
            self.to.communicating(now)


def rank_main(folder: Path, options: argparse.Namespace) -> None:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    from holdfast.training import Checkpoint, Progress

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Linear(GRADIENT_NUMBERS // 256, 256, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    ballast = torch.rand(options.megabytes << 18)
    alone = Checkpoint(folder / "alone", replicas=1, every_steps=EVERY)
    pairs = Checkpoint(folder / "pairs", replicas=2, every_steps=EVERY)
    switch = Switch()
    given = torch.ones(1, GRADIENT_NUMBERS // 256)
    made = {id(alone): 0, id(pairs): 0}
    with Progress("gaps") as progress:
        progress.watch(model, switch)

        def cycle(checkpoint: Checkpoint) -> float:
            begun = time.perf_counter()
            for _ in range(EVERY):
                with progress.step():
                    time.sleep(COMPUTE_SECONDS)
                    model(given).sum().backward()
                    optimizer.step()
                ballast.add_(1.0)  # all of it changed: nothing is left out as known
                made[id(checkpoint)] += 1
                checkpoint.save(made[id(checkpoint)], {"ballast": ballast})
            return (time.perf_counter() - begun) / EVERY

        def settle(checkpoint: Checkpoint) -> float:
            """Until everything is where it belongs, so that no arm pays for another; how long that took."""
            begun = time.perf_counter()
            while checkpoint.status()["committed"] < made[id(checkpoint)]:
                time.sleep(0.005)
            dist.barrier()
            return time.perf_counter() - begun

        for checkpoint in (alone, pairs):
            for _ in range(BUFFERS):
                cycle(checkpoint)  # touches new pages
            settle(checkpoint)
        result = _rounds(options, {"no_replica": alone, "at_once": pairs, "in_gaps": pairs}, switch, cycle, settle)
    result["troubles"] = {**alone.troubles, **pairs.troubles}
    result["sent_bytes"] = pairs.status()["sent_bytes"]
    (folder / f"result.{dist.get_rank()}").write_text(json.dumps(result))
    alone.close()
    pairs.close()
    dist.barrier()
    dist.destroy_process_group()


def _rounds(
    options: argparse.Namespace,
    arms: dict[str, Any],
    switch: Switch,
    cycle: Callable[[Any], float],
    settle: Callable[[Any], float],
) -> dict[str, Any]:
    """Seconds of a step of each cycle, by arm, and how long the last copy of a block took after it."""
    steps: dict[str, list[float]] = {arm: [] for arm in ARMS}
    behind: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for _ in range(options.rounds):
        for arm in ARMS:
            checkpoint = arms[arm]
            switch.to = checkpoint if arm == "in_gaps" else None
            steps[arm] += [cycle(checkpoint) for _ in range(options.cycles)]
            behind[arm].append(settle(checkpoint))
    return {"steps": steps, "behind": behind, "waited_for_gaps": arms["in_gaps"].status()["waited_for_gaps_seconds"]}


@contextmanager
def hosts(megabits: int) -> Iterator[list[str]]:
    """Namespaces on one bridge; each link is limited both ways."""
    prefix = f"hfg{os.getpid() % 10000}"
    switch, names = f"{prefix}s", [f"{prefix}h{at}" for at in range(WORLD)]
    limit = ["rate", f"{megabits}mbit", "burst", "256kb", "latency", "50ms"]
    try:
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "br0", "type", "bridge")
        _ip("-n", switch, "link", "set", "br0", "up")
        for at, name in enumerate(names):
            _ip("netns", "add", name)
            _ip("-n", switch, "link", "add", f"p{at}", "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", switch, "link", "set", f"p{at}", "master", "br0", "up")
            _ip("-n", name, "addr", "add", f"{ADDRESS.format(at + 1)}/24", "dev", "eth0")
            for link in ("eth0", "lo"):
                _ip("-n", name, "link", "set", link, "up")
            for space, link in ((name, "eth0"), (switch, f"p{at}")):
                _ip("netns", "exec", space, "tc", "qdisc", "add", "dev", link, "root", "tbf", *limit)
        yield names
    finally:
        for name in (*names, switch):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"bench/gaps.py makes hosts and must be root: ip {' '.join(words)}: {done.stderr.strip()}")


def train(folder: Path, names: list[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    (folder / "r").mkdir(mode=0o700)
    words = [f"--{name}={getattr(options, name)}" for name in ("rounds", "cycles", "megabits", "megabytes")]
    ranks = []
    for at, name in enumerate(names):
        environment = {
            **os.environ,
            **{"RANK": str(at), "WORLD_SIZE": str(WORLD), "LOCAL_RANK": "0"},
            **{"MASTER_ADDR": ADDRESS.format(1), "MASTER_PORT": "29611", "GLOO_SOCKET_IFNAME": "eth0"},
            **{"HOLDFAST_NODE": name, "HOLDFAST_KEEPER_HOST": ADDRESS.format(at + 1)},
            **{"HOLDFAST_RUNTIME_DIR": str(folder / "r"), "HOLDFAST_AGENT_SOCKET": "", "OMP_NUM_THREADS": "1"},
            "HOLDFAST_PROGRESS_DIR": str(folder / "progress"),
        }
        command = ["ip", "netns", "exec", name, PYTHON, __file__, "--rank-of", str(folder), *words]
        with (folder / f"log.{at}").open("wb") as log:
            ranks.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
    try:
        failed = [at for at, rank in enumerate(ranks) if rank.wait()]
    finally:
        for rank in ranks:
            rank.kill()
        _end_keepers(folder)
    if failed:
        raise SystemExit((folder / f"log.{failed[0]}").read_text()[-3000:])
    return [json.loads((folder / f"result.{at}").read_text()) for at in range(WORLD)]


def _end_keepers(folder: Path) -> None:
    pids = [lock.read_text().strip() for lock in (folder / "r").glob("*.lock")]
    for pid in pids:
        if pid.isdecimal() and int(pid) > 1:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def interval(ones: list[float], floors: list[float]) -> list[float]:
    """Of the ratio of two middles: where 95 % of it lies when cycles are drawn again."""
    source = random.Random(1)
    ratios = sorted(
        median(source.choices(ones, k=len(ones))) / median(source.choices(floors, k=len(floors)))
        for _ in range(RESAMPLES)
    )
    return [round(ratios[int(share * RESAMPLES)], 3) for share in (0.025, 0.975)]


def report(options: argparse.Namespace, result: list[dict[str, Any]], steal: float) -> None:
    slowest = {arm: [max(ones) for ones in zip(*(one["steps"][arm] for one in result), strict=True)] for arm in ARMS}
    floor = slowest["no_replica"]
    figures: dict[str, Any] = {
        "ranks": WORLD,
        "megabits_per_second": options.megabits,
        "megabytes_per_rank": options.megabytes,
        "cycles": len(floor),
        "steps_in_a_cycle": EVERY,
        "troubles": [one["troubles"] for one in result if one["troubles"]],
        "sent_bytes_per_rank": min(one["sent_bytes"] for one in result),
        "waited_for_gaps_seconds": round(max(one["waited_for_gaps"] for one in result), 2),
        "steal_ratio": round(steal, 4),
    }
    for arm in ARMS:
        figures[f"{arm}_step_seconds"] = round(median(slowest[arm]), 4)
        last = [max(ones) for ones in zip(*(one["behind"][arm] for one in result), strict=True)]
        figures[f"{arm}_committed_after_seconds"] = round(median(last), 3)
        if arm != "no_replica":
            figures[f"{arm}_to_no_replica"] = round(median(slowest[arm]) / median(floor), 3)
            figures[f"{arm}_to_no_replica_95"] = interval(slowest[arm], floor)
    publish("gaps", figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument("--megabits", type=int, default=1000)
    parser.add_argument("--megabytes", type=int, default=160, help="of state of each rank")
    parser.add_argument("--rank-of", default="")
    options = parser.parse_args()
    if options.rank_of:
        rank_main(Path(options.rank_of), options)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a run that is cut short leaves nothing behind
    folder = Path(tempfile.mkdtemp(prefix="holdfast-gaps-"))
    before = cpu_times()
    try:
        with hosts(options.megabits) as names:
            result = train(folder, names, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report(options, result, steal_ratio(before, cpu_times()))


if __name__ == "__main__":
    main()
