"""Controllers and agents under many faults at once, and an oracle that asks what was lost, done twice or held.

Real processes: controllers (one on SQLite, two on PostgreSQL), agents on simulated hardware, and simulated nodes that
fail and recover. Faults: SIGKILL, SIGSTOP, clock jumps of up to a day both ways, a full disk, a locked or crashed
database, late and lost packets, slow clients. As root, with gcc: `python bench/chaos.py --store sqlite --minutes 60`.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import httpx
import psycopg

from chaos_network import Proxy
from holdfast.fleet.store import Store
from holdfast.model.records import Outcome
from measure import RESULTS
from tests.postgres import Server
from tests.fleet.survival.crowd import IN_SERVICE, OUT, POLICY, WITHOUT, Crowd
from tests.fleet.survival.world import LivingAgent, World, events_of
from tests.forked import Forked

AGENT_DISK_MB = 12
JUMPS = (-86_400, -3_600, -60, 60, 3_600, 86_400)  # seconds
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
static volatile long long *shift;
__attribute__((constructor)) static void begin(void) {
  char *name = getenv("CHAOS_CLOCK");
  int file = name ? open(name, O_RDONLY) : -1;
  void *found = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
  shift = found == MAP_FAILED ? 0 : found;
}
int clock_gettime(clockid_t id, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(id, at);
  if (!code && shift && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec += *shift;
  return code;
}
time_t time(time_t *out) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  if (out) *out = at.tv_sec;
  return at.tv_sec;
}
int gettimeofday(struct timeval *out, void *zone) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  out->tv_sec = at.tv_sec;
  out->tv_usec = at.tv_nsec / 1000;
  return 0;
}
"""


class Clocks:
    """A wall clock of its own for each process: a preloaded library adds seconds that stand in a file."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._library = folder, folder / "clock.so"
        source = folder / "clock.c"
        source.write_text(SHIM)
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", self._library, source, "-ldl"], check=True)

    def environ(self, name: str) -> Mapping[str, str]:
        self.jump(name, 0)
        traced = {**os.environ, "PYTHONFAULTHANDLER": "1"}  # a crash says where, in the process's log
        return {**traced, "LD_PRELOAD": str(self._library), "CHAOS_CLOCK": str(self._folder / f"{name}.clock")}

    def wrapper(self, name: str) -> list[str]:
        found = self.environ(name)
        return ["env", f"LD_PRELOAD={found['LD_PRELOAD']}", f"CHAOS_CLOCK={found['CHAOS_CLOCK']}"]

    def jump(self, name: str, seconds: int) -> None:
        file = os.open(self._folder / f"{name}.clock", os.O_WRONLY | os.O_CREAT)
        os.pwrite(file, struct.pack("q", seconds), 0)
        os.close(file)


@contextmanager
def small_disk(at: Path, megabytes: int) -> Iterator[Path]:
    at.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "tmpfs", str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


class DiskedAgent(LivingAgent):
    """An agent whose state is on a small disk of its own."""

    def __init__(self, stack: ExitStack, home: Path, url: str, join_token: str, wrapper: list[str]) -> None:
        self._stack: ExitStack | None = stack
        super().__init__(home, url, join_token, WITHOUT, wrapper)

    def _start(self) -> subprocess.Popen[bytes]:
        if self._stack is not None:
            self._stack.enter_context(small_disk(self.home / "state", AGENT_DISK_MB))
            self._stack = None
        return super()._start()


class Chaos:
    """The faults, each a function that begins it, waits and ends it. Several run at once, never two on one victim."""

    def __init__(
        self, made: World, proxies: list[Proxy], clocks: Clocks, disk: Path, server: Server | None, seed: int
    ) -> None:
        self.made, self.proxies, self.clocks, self.disk, self.server = made, proxies, clocks, disk, server
        self.counts: Counter[str] = Counter()
        self.trouble: list[str] = []
        self._chance, self._over, self._lock, self._busy = (
            random.Random(seed),
            threading.Event(),
            threading.Lock(),
            set[str](),
        )
        self.faults: dict[str, Callable[[], None]] = {"store lock": self.lock_store, "clients slow": self.slow_clients,
                                                      "store disk": partial(self.fill_disk, disk)}  # fmt: skip
        if server:
            self.faults["store crash"] = server.crash
        for number in range(len(made.controllers)):
            self.faults |= {f"controller{number} kill": partial(self.kill_controller, number),
                            f"controller{number} stop": partial(self.stop_controller, number),
                            f"controller{number} clock": partial(self.jump, f"controller{number}"),
                            f"network{number} cut": partial(self.network, number, "cut"),
                            f"network{number} loss": partial(self.network, number, "loss")}  # fmt: skip
        for agent in made.agents:
            self.faults |= {f"{agent.name} kill": partial(self.kill_agent, agent),
                            f"disk-of-{agent.name} disk": partial(self.fill_disk, agent.home / "state"),
                            f"{agent.name} stop": partial(self.stop_agent, agent),
                            f"{agent.name} clock": partial(self.jump, agent.name)}  # fmt: skip

    def run(self, seconds: float, at_once: int) -> None:
        workers = [threading.Thread(target=self._work) for _ in range(at_once)]
        for worker in workers:
            worker.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.trouble:
            self._chance.choice(self.made.agents).say()
            time.sleep(self._chance.uniform(0.2, 1.0))
        self._over.set()
        for worker in workers:
            worker.join()

    def _work(self) -> None:
        while not self._over.wait(self._chance.uniform(0.5, 3.0)):
            with self._lock:
                free = [name for name in self.faults if name.split()[0] not in self._busy]
                name = self._chance.choice(free)
                self._busy.add(name.split()[0])
            sys.stderr.write(f"{time.strftime('%H:%M:%S')} {name}\n")
            try:
                self.faults[name]()
            except Exception as error:  # noqa: BLE001
                self.trouble.append(f"{name}: {type(error).__name__}: {error}")
            with self._lock:
                self._busy.discard(name.split()[0])
                self.counts[name.split()[1]] += 1

    def _hold(self, least: float = 2.0, most: float = 12.0) -> None:
        self._over.wait(self._chance.uniform(least, most))

    def kill_controller(self, number: int) -> None:
        if self.made.controllers[number].process.poll() is None:
            self.made.kill_controller(number)
        else:
            self.counts["controller ended by itself"] += 1
        self._hold(0.0, 8.0)
        self.start_controller(number)

    def start_controller(self, number: int) -> None:
        """As systemd does it: again and again while the store is away."""
        for _ in range(60):
            with suppress(AssertionError, httpx.HTTPError):
                self.made.restart_controller(number)
                return
            self.counts["start again"] += 1
            time.sleep(1.0)
        raise RuntimeError("it does not start")

    def stop_controller(self, number: int) -> None:
        self._stop(self.made.controllers[number].process)

    def kill_agent(self, agent: LivingAgent) -> None:
        agent.kill()
        self._hold(0.0, 8.0)
        agent.restart()

    def stop_agent(self, agent: LivingAgent) -> None:
        self._stop(agent.process)

    def _stop(self, process: subprocess.Popen[Any] | Forked) -> None:
        process.send_signal(signal.SIGSTOP)
        self._hold(1.0, 15.0)
        process.send_signal(signal.SIGCONT)

    def jump(self, name: str) -> None:
        self.clocks.jump(name, self._chance.choice(JUMPS))
        self._hold(5.0, 30.0)
        self.clocks.jump(name, 0)

    def network(self, number: int, mode: str) -> None:
        self.proxies[number].mode = mode
        self._hold(3.0, 20.0)
        self.proxies[number].mode = ""

    def slow_clients(self) -> None:
        sockets = []
        for one in self.made.controllers:
            host, port = one.url.removeprefix("http://").split(":")
            for _ in range(150):
                with suppress(OSError):
                    sockets.append(socket.create_connection((host, int(port)), timeout=1.0))
                    sockets[-1].sendall(b"GET /v1/nodes HTTP/1.1\r\nx-slow: ")
        self._hold(5.0, 20.0)
        for one_socket in sockets:
            one_socket.close()

    def fill_disk(self, disk: Path) -> None:
        filler = disk / "filler"
        with suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(b"x" * 4_096)
                file.flush()
        self._hold()
        filler.unlink()

    def lock_store(self) -> None:
        if self.server is None:
            with suppress(sqlite3.OperationalError):
                held = sqlite3.connect(self.made.store.removeprefix("sqlite:///"), timeout=5.0, isolation_level=None)
                held.execute("BEGIN EXCLUSIVE")
                self._hold()
                held.execute("ROLLBACK")
                held.close()
            return
        with suppress(psycopg.Error), psycopg.connect(self.made.store.replace("+psycopg", "")) as connection:
            connection.execute("LOCK TABLE sessions, actions, events IN ACCESS EXCLUSIVE MODE")
            self._hold()


def oracle(made: World, crowd: Crowd) -> dict[str, int]:
    """What must be zero, and how much there was."""
    for line in (lost := crowd.lost(made.store)):
        sys.stderr.write(f"lost: {line}\n")
    store = Store.open(made.store)
    try:
        missing = sum(len(set(one.kernel_lines) - set(events_of(store, one.name))) for one in made.agents)
        doubled = sum(len(found) - len(set(found)) for found in (events_of(store, one.name) for one in made.agents))
        transitions = store.transitions(0.0, 1_000_000)
        actions = store.actions(None, 1_000_000)
    finally:
        store.close()
    asked = Counter(made.journal.read_text().split())
    last: dict[str, str] = {}
    for one in sorted(actions, key=lambda stored: stored.id):
        if one.state is Outcome.DONE and one.action.verb.value in ("cordon", "drain", "uncordon"):
            last[one.action.node] = one.action.verb.value
    left = (one for one in transitions if one.before.value in IN_SERVICE and one.after.value in OUT)
    out = {one.node for one in left if not one.node.startswith("failing")}
    return {
        "kernel_lines": sum(len(one.kernel_lines) for one in made.agents),
        "kernel_lines_lost": missing,
        "kernel_lines_twice": doubled,
        "acknowledged_reports_lost": len(lost),
        "acknowledged_events_lost": len(crowd.events_lost(made.store)),
        "actions": len(asked),
        "actions_twice": sum(times > 1 for times in asked.values()),
        "actions_without_decision": len(set(asked) - {one.action.key for one in actions}),
        "healthy_nodes_taken_out": len(out),
        "nodes_held_by_the_scheduler": sum(verb != "uncordon" for verb in last.values()),
        "transitions": len(transitions),
    }


def experiment(scratch: Path, kind: str, seconds: float, at_once: int, seed: int) -> dict[str, Any]:
    clocks = Clocks(scratch)
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(scratch / "disk", 96))
        server = Server() if kind == "postgresql" else None
        if server:
            stack.callback(server.stop)
        url = store_url(server, disk)
        count = 2 if server else 1
        made = World(scratch, url, count, POLICY, "127.0.0.1", environ=clocks.environ, action_seconds=0.1, checks=True)
        stack.callback(made.stop)
        proxies = [stack.enter_context(Proxy(one.url)) for one in made.controllers]
        for number in range(3):
            home = scratch / f"n{number + 1}"
            token = made.leader().token(uses=1, node=home.name)
            made.agents.append(DiskedAgent(stack, home, proxies[0].url, token, clocks.wrapper(home.name)))
        crowd = Crowd([one.url for one in proxies], made.ask, failing=6, healthy=4)
        chaos = Chaos(made, proxies, clocks, disk, server, seed)
        crowd.in_service()
        crowd.begin()
        chaos.run(seconds, at_once)
        figures: dict[str, Any] = {"faults": dict(chaos.counts), "trouble": chaos.trouble}
        steps = ((crowd.settle, "in service"), (made.settled, "settled"))
        for step, name in steps:
            try:
                step()
            except AssertionError as error:
                figures["trouble"].append(f"{name}: {error}"[:2_000])
        figures |= {**crowd.figures(), **oracle(made, crowd)}
        figures["crashes_met"] = sum(one.read_text().count("Fatal Python error") for one in scratch.rglob("*.log"))
        figures["after_restart"] = restarted(made, crowd, chaos)
        crowd.end()
        return figures


def restarted(made: World, crowd: Crowd, chaos: Chaos) -> dict[str, int]:
    """Everything again after every controller was ended and started."""
    before = crowd.stages()
    for number in range(len(made.controllers)):
        made.kill_controller(number)
        chaos.start_controller(number)
    made.leader()
    for agent in made.agents:
        agent.say()
    crowd.settle()
    made.settled()
    after = crowd.stages()
    return {
        "nodes_with_another_stage": sum(after.get(name) != stage for name, stage in before.items()),
        **oracle(made, crowd),
    }


def store_url(server: Server | None, disk: Path) -> str:
    if server is None:
        return f"sqlite:///{disk}/holdfast.db"
    shutil.chown(disk, "postgres", "postgres")  # the server runs as its own user
    with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{disk}'".encode())
        connection.execute("CREATE DATABASE chaos TABLESPACE small")
    return server.url.rpartition("/")[0] + "/chaos"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # ends what it started
    with tempfile.TemporaryDirectory(prefix="holdfast-chaos-") as scratch:
        Path(scratch).chmod(0o755)
        figures = experiment(Path(scratch), options.store, options.minutes * 60, options.at_once, options.seed)
    figures = {
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "minutes": options.minutes,
        "seed": options.seed,
        **figures,
    }
    path = RESULTS / "chaos.json"
    kept = json.loads(path.read_text()) if path.exists() else {"bench": "chaos"}
    path.write_text(json.dumps({**kept, options.store: figures}, indent=1) + "\n")
    print(json.dumps(figures))
    bad = any(
        value
        for name, value in figures.items()
        if name.endswith(("_lost", "_twice", "_out", "_by_the_scheduler", "_met"))
    )
    return 1 if bad or figures["trouble"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
