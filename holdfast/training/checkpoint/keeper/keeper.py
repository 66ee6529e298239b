"""Keeper: one process per node and job that holds copies of the training state and outlives the training.

    python -m holdfast.training.checkpoint.keeper.keeper --job llama --dir /checkpoints/llama

A rank that finds no keeper starts one. A keeper ends after it was unused for a while, or on SIGTERM. In both cases it
first writes its copies to storage.
"""

import argparse
import fcntl
import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from holdfast.runtime import logs
from holdfast.runtime.job_secret import SecretError, job_secret
from holdfast.training.checkpoint.device.buffers import Shelf
from holdfast.training.checkpoint.keeper.account import KeeperStorageAccount
from holdfast.training.checkpoint.keeper.agent_connection import AgentLine
from holdfast.training.checkpoint.keeper.flush import STEPS_KEPT, Flushing
from holdfast.training.checkpoint.keeper.pacing import REPLICA_SECONDS, Gaps, RateLimit
from holdfast.training.checkpoint.keeper.peers import Answerer
from holdfast.training.checkpoint.keeper.ranks import Parts, RankServer
from holdfast.training.checkpoint.keeper.replication import Replication
from holdfast.training.checkpoint.keeper.shard_store import ShardStore
from holdfast.training.checkpoint.keeper.site import memory_path, node_name, own_address, socket_path
from holdfast.training.checkpoint.keeper.storing import Storing
from holdfast.training.checkpoint.keeper.wire import PeerProcess

LOG = logging.getLogger("holdfast.keeper")
USAGE_ERROR = 64
LINGER_SECONDS = 900.0  # for a job that the scheduler restarts; all copies are written to storage before the end
ORPHAN_SECONDS = 60.0  # after the `holdfast run` that started the ranks has ended, and will start no other attempt
GPU_LINGER_SECONDS = 120.0  # host memory has the same copies, and the next job needs the GPU
FLUSH_SECONDS = 120.0
SHARE_OF_MEMORY = 0.5
ATTEMPT = b"HOLDFAST_ATTEMPT="  # variable that `holdfast run` passes to all processes that it starts


def main() -> int:
    # first, because after the end of the `holdfast run` above it can no longer be found
    supervisor = supervisor_of(os.getpid())
    above = PeerProcess(supervisor or 0)
    options = _options()
    logs.to_stderr(logging.INFO)
    try:
        folder = Path(options.dir)
        folder.mkdir(parents=True, exist_ok=True)
        path = socket_path(options.job, folder, options.node)
        lock = _alone(path)
        if lock is None:
            LOG.info("another keeper serves %s already", path)
            return 0
        secret = job_secret(folder)
    except OSError as error:
        sys.stderr.write(f"holdfast: {error}\n")
        return USAGE_ERROR if isinstance(error, SecretError) else 1
    _keep(options, folder, path, secret, lambda: supervisor is None or above.ended())
    return 0


def _keep(options: argparse.Namespace, folder: Path, path: Path, secret: bytes, orphaned: Callable[[], bool]) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    store = ShardStore(int(options.memory_bytes) or default_budget())
    troubles: dict[str, str] = {}
    gaps = Gaps()
    rate_limit = RateLimit(options.bytes_per_second, gaps)
    replication = Replication(store, secret, rate_limit, troubles, options.replica_seconds)
    host, _, port = options.listen.partition(":")
    answerer = Answerer(host or own_address(), int(port or 0), secret, store, replication.notice)
    about = {
        "job": options.job,
        "node": options.node,
        "address": answerer.address,
        "budget_bytes": store.budget_bytes,
    }
    slow = RateLimit(options.storage_bytes_per_second)
    flushing = Flushing(folder, store, troubles, slow, options.storage, options.keep, options.keep_every)
    storing = Storing(store, flushing, replication.ask, troubles)
    parts = Parts(store, replication, flushing, storing, secret, troubles, gaps, rate_limit, Shelf(troubles))
    server = RankServer(path, parts, about)
    server.start()
    AgentLine(KeeperStorageAccount(about, flushing.place, parts).reported, flushing.flush)
    LOG.info("keeping for job %s on %s, %s, at most %d bytes", options.job, options.node, path, store.budget_bytes)
    while not stop.wait(1.0):
        idle = server.idle_seconds()
        if idle:
            server.deference.starting()  # no rank waits for this work
        server.deference.apply()
        if idle > GPU_LINGER_SECONDS:
            parts.shelf.clear()
        timeout = min(options.linger_seconds, options.orphan_seconds) if orphaned() else options.linger_seconds
        if idle > timeout:
            LOG.info("no rank connected for %g s", timeout)
            break
    stored = flushing.flush(options.flush_seconds)
    LOG.info("ending; flushed to storage: %s", ", ".join(f"step {step}" for step in stored) or "nothing")
    if not server.busy():  # a trainer that still runs needs its files
        shutil.rmtree(memory_path(path), ignore_errors=True)
    server.close()
    path.unlink(missing_ok=True)
    answerer.close()


def supervisor_of(pid: int, proc: Path = Path("/proc")) -> int | None:
    """Process id of the `holdfast run` above this process: the parent of the topmost process with its environment.

    0: there is none. None: it has ended, and init, which is not a `holdfast run`, adopted its children.
    """
    above = 0
    while pid > 1:
        try:
            environment = (proc / str(pid) / "environ").read_bytes().split(b"\0")
            parent = int((proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return above
        if any(entry.startswith(ATTEMPT) for entry in environment):
            above = parent
        pid = parent
    return None if above == 1 and not _is_run(proc / "1") else above


def _is_run(process: Path) -> bool:
    try:
        return b"holdfast" in (process / "cmdline").read_bytes()
    except OSError:
        return True  # not readable: a process that is not known to have ended counts as running


def default_budget() -> int:
    """Half of the free memory; the rest is for the training itself."""
    text = Path("/proc/meminfo").read_text()
    free = next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("MemAvailable"))
    return int(free * SHARE_OF_MEMORY)


def _alone(path: Path) -> int | None:
    """The lock of this keeper's socket path; None if another keeper holds it."""
    fd = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    os.ftruncate(fd, 0)
    os.write(fd, f"{os.getpid()}\n".encode())
    return fd


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m holdfast.training.checkpoint.keeper.keeper", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--job", required=True)
    parser.add_argument("--dir", required=True, help="the job's folder on the storage that all nodes share")
    parser.add_argument("--storage", default="", help="target for steps: a folder or an fsspec URL; default: --dir")
    parser.add_argument("--keep", type=int, default=STEPS_KEPT, help="whole steps that stay in storage")
    parser.add_argument("--keep-every", type=int, default=0, help="multiples of this step stay in storage forever")
    parser.add_argument("--node", default=node_name())
    parser.add_argument(
        "--listen", default="", help="HOST:PORT for other keepers; default: the address towards MASTER_ADDR"
    )
    parser.add_argument(
        "--memory-bytes", type=int, default=0, help="limit of memory for copies; default: half of the free memory"
    )
    parser.add_argument("--bytes-per-second", type=float, default=0.0, help="rate limit to partners; 0: none")
    parser.add_argument(
        "--replica-seconds",
        type=float,
        default=REPLICA_SECONDS,
        help="time limit for a copy to partners, which takes half of the time between two saves; a copy that is twice "
        "as old no longer yields to training. 0 sends at once",
    )
    parser.add_argument(
        "--storage-bytes-per-second",
        type=float,
        default=0.0,
        help="rate limit to storage, averaged over several shards; 0: none. A flush ignores it",
    )
    parser.add_argument(
        "--linger-seconds", type=float, default=LINGER_SECONDS, help="end after this many seconds without a rank"
    )
    parser.add_argument(
        "--orphan-seconds",
        type=float,
        default=ORPHAN_SECONDS,
        help="end after this many seconds without a rank once the `holdfast run` above has ended",
    )
    parser.add_argument("--flush-seconds", type=float, default=FLUSH_SECONDS, help="time limit of the last flush")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
