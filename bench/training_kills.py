"""Random kills of ranks, keepers and nodes in four frameworks; what is resumed must be bit-equal to a calm run.

Two ranks over gloo, each a node with its own keeper, two replicas. A kill comes at a random moment, once the failure
before it is repaired (every rank's newest copy is at its partner again): of a rank (SIGKILL), of a keeper, or of a node
(its keeper and its rank). After the death of a rank all ranks are started again, as a supervisor does; in a kind of its
own they are killed once more while they start and load. They are forked from a process that has imported the framework,
so that imports cost nothing. The last step is set after the last kill; a run without kills goes to the same step;
parameters, optimizer and random numbers of each rank are compared.

    python bench/training_kills.py --kills 50
    python bench/training_kills.py --kills 50 --jobs fsdp2 nanogpt
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import signal
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import training_jobs
from measure import RESULTS

from holdfast.training.checkpoint.keeper.leftovers import keepers
from holdfast.training.checkpoint.keeper.site import socket_path
from holdfast.training.checkpoint.keeper.wire import receive, send

RANKS = 2
TIMEOUT_SECONDS = 600.0
POLL_SECONDS = 0.02
MORE_STEPS = 5  # after the last kill
LONGEST_DELAY_SECONDS = 1.0
LONGEST_LOAD_SECONDS = 2.0
KINDS = ("rank", "keeper", "node", "loading")


def until(holds: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {TIMEOUT_SECONDS:g} s: {what}")
        time.sleep(POLL_SECONDS)
    return found


class Job:
    """Its folder has a name that no other run has: what is left behind is known by it."""

    def __init__(self, name: str, base: Path, kind: str) -> None:
        self.name, self.folder = name, base / f"{kind}-{base.name}"
        self.folder.mkdir()
        self.pids: set[int] = set()  # of all ranks and keepers that there were
        self.ranks: list[BaseProcess] = []
        self.ports: set[int] = set()
        self.context = multiprocessing.get_context("forkserver")

    def start(self) -> None:
        before = [len(self.loads(rank)) for rank in range(RANKS)]
        self.spawn()
        until(lambda: all(len(self.loads(rank)) > before[rank] for rank in range(RANKS)) or self._dead(), "a load")
        if self._dead():
            raise SystemExit(f"{self.name}: a rank failed: {self.log()}")

    def spawn(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as one:
            port = one.getsockname()[1]
        self.ranks = []
        for rank in range(RANKS):
            environ = {
                **os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
                "GROUP_RANK": str(rank), "NODE_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                "TORCHELASTIC_RUN_ID": "kills", "HOLDFAST_NODE": f"node{rank}", "OMP_NUM_THREADS": "1",
                "CUDA_VISIBLE_DEVICES": "", "HOLDFAST_AGENT_SOCKET": "", "HOLDFAST_KEEPER_HOST": "127.0.0.1",
            }  # fmt: skip
            process = self.context.Process(target=training_jobs.as_rank, args=(self.name, str(self.folder), environ))
            process.start()
            self.ranks.append(process)
            self.pids.add(process.pid or 0)

    def _dead(self) -> bool:
        return any(process.exitcode for process in self.ranks)

    def log(self) -> str:
        return (self.folder / "log.0").read_text(errors="replace")[-2000:]

    def rows(self, rank: int) -> list[dict[str, int]]:
        path = self.folder / f"journal.{rank}"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]

    def loads(self, rank: int) -> list[int]:
        return [row["at"] for row in self.rows(rank) if "at" in row]

    def reached(self) -> int:
        """The step that this start has got to; the one it began with before the first."""
        row = self.rows(0)[-1]
        return row.get("step", row.get("at", 0))

    def status(self, rank: int) -> dict[str, Any]:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.settimeout(10)
            line.connect(str(socket_path(self.folder.name, self.folder, f"node{rank}")))
            send(line, {"do": "status"})
            answer: dict[str, Any] = receive(line)
            self.ports.add(int(answer["address"].rpartition(":")[2]))
            self.pids.add(int(answer["keeper"]))
            return answer
        return {}

    def wait_until_safe(self, since: int) -> None:
        """A step behind `since` is held by both nodes."""

        def safe() -> bool:
            if self._dead():
                raise SystemExit(f"{self.name}: a rank failed: {self.log()}")
            for rank in range(RANKS):
                held = {row[0] for row in self.status(rank).get("held", []) if row[1] > since}
                if held != set(range(RANKS)):
                    return False
            return True

        until(safe, f"{self.name}: copies behind step {since} on both nodes")

    def kill_keeper(self, rank: int) -> None:
        pid = int(self.status(rank)["keeper"])
        os.kill(pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{pid}/stat").exists() or _is_zombie(pid), "the end of a keeper")

    def kill_ranks(self, first: int) -> None:
        for rank in (first, *(other for other in range(RANKS) if other != first)):
            self.ranks[rank].kill()
            self.ranks[rank].join()

    def finish(self, step: int) -> list[dict[str, Any]]:
        (self.folder / "stop").write_text(str(step))
        for process in self.ranks:
            process.join(TIMEOUT_SECONDS)
            if process.exitcode:
                raise SystemExit(f"{self.name}: a rank ended with {process.exitcode}: {self.log()}")
        for rank in range(RANKS):
            self.status(rank)
        return [json.loads((self.folder / f"result.{rank}").read_text()) for rank in range(RANKS)]

    def end_keepers(self) -> None:
        """As `holdfast run` does at the end of a run."""
        for one in keepers():
            os.kill(one.pid, signal.SIGTERM)
        until(lambda: not keepers(), "the end of the keepers")

    def left_behind(self) -> list[str]:
        """Processes, ports, and memory: files in /dev/shm (torch names those of a process by its number).
        Anonymous memory of a keeper is gone with the processes that map it, which are those of the job."""
        left = []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                pid, words = int(place.name), (place / "cmdline").read_bytes()
                if (str(self.folder).encode() in words or pid in self.pids) and not _is_zombie(pid):
                    left.append(f"process {pid}: {words.replace(bytes(1), b' ').decode(errors='replace')[:80]}")
        for port in self.ports:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                left.append(f"port {port}")
        named = [self.folder.name, self.folder.parent.name, *(f"_{pid}_" for pid in self.pids)]
        segments = [path for path in Path("/dev/shm").iterdir() if any(one in path.name for one in named)]
        return left + [f"segment {path}" for path in segments]


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def killed(job: Job, kills: int, chance: random.Random, seconds: float) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    until_when = time.monotonic() + seconds
    job.start()
    safe_since = 0
    while len(rows) < kills and time.monotonic() < until_when:
        job.wait_until_safe(safe_since)
        time.sleep(chance.uniform(0.0, LONGEST_DELAY_SECONDS))
        kind, victim = chance.choice(KINDS), chance.randrange(RANKS)
        reached = job.reached()
        row: dict[str, Any] = {"kind": kind, "at": reached, "lost": 0}
        if kind in ("keeper", "node"):
            job.kill_keeper(victim)
        if kind != "keeper":
            job.kill_ranks(victim)
            reached = job.reached()
            if kind == "loading":
                job.spawn()
                time.sleep(chance.uniform(0.0, LONGEST_LOAD_SECONDS))
                job.kill_ranks(victim)
                reached = max(reached, job.reached())
            job.start()
            row["lost"] = reached - job.loads(0)[-1]
        safe_since = job.reached()
        rows.append(row)
        print(job.name, len(rows), row, flush=True)
    return rows


def measure(name: str, kills: int, seed: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hf", ignore_cleanup_errors=True) as base:
        runtime = Path(base) / "r"
        runtime.mkdir(mode=0o700)
        os.environ["HOLDFAST_RUNTIME_DIR"] = str(runtime)
        job = Job(name, Path(base), "killed")
        rows = killed(job, kills, random.Random(seed), seconds)
        last = job.reached() + 50
        results = job.finish(last)
        job.end_keepers()
        left = job.left_behind()
        calm = Job(name, Path(base), "calm")
        (calm.folder / "stop").write_text(str(last))
        calm.start()
        expected = calm.finish(last)
        calm.end_keepers()
    restarts = [row["lost"] for row in rows if row["kind"] != "keeper"]
    return {
        "kills": len(rows),
        "of": dict(Counter(row["kind"] for row in rows)),
        "steps": last,
        "bit_equal": results == expected,
        "steps_lost": {"most": max(restarts, default=0), "mean": round(sum(restarts) / max(len(restarts), 1), 2)},
        "left_behind": left,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for the kills of one framework")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", nargs="*", default=list(training_jobs.JOBS), choices=training_jobs.JOBS)
    options = parser.parse_args()
    needed = [name for job in options.jobs for name in training_jobs.NEEDS[job]]
    ours = ["holdfast.training.checkpoint.checkpoint", "holdfast.training.checkpoint.parts"]
    folders = (str(Path(__file__).parents[1]), str(Path(__file__).parent), str(training_jobs.EXAMPLES))
    os.environ["PYTHONPATH"] = os.pathsep.join(folders)
    multiprocessing.set_forkserver_preload(["torch.distributed", *ours, *needed, "training_jobs"])
    path = RESULTS / "training_kills.json"
    for job in options.jobs:
        measured = measure(job, options.kills, options.seed, options.seconds)
        result = {**(json.loads(path.read_text()) if path.exists() else {}), job: measured}
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(job, json.dumps(result[job]), flush=True)


if __name__ == "__main__":
    main()
