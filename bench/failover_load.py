"""Two controllers on PostgreSQL with TLS, 44 verdicts a node, and the leader killed again and again under load.

Nodes fail all the while. Afterwards every acknowledged report must be in the store and every drain carried out at most
once; the number of leaderships must be that of the kills and one. Who was killed starts again and becomes the standby.
"""

import argparse
import json
import os
import random
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path
from secrets import token_hex
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fleet_load import spread as milliseconds
from fleet_prepared import prepare
from fleet_scale import settle, stored
from fleet_stage import POLICY, Load, certificate, configure, family_cpu_seconds, load, peak_bytes, store
from holdfast.fleet.controller.lead import LEASE_SECONDS
from holdfast.fleet.store import Store
from measure import PYTHON, cpu_times, load_average, publish, quantile, steal_ratio
from tests.ports import free_ports

MB = 1 << 20
TIMEOUT_SECONDS = 600.0  # a loaded machine starts a process slowly
STARTING_SHARE = 0.4  # of the time between two kills, in which who was killed starts again
LEADS = "this controller leads"  # a line of its log
CHANGING = 0.02  # of all nodes fail per minute
DRAINING_SECONDS = 120.0  # most that is waited for the last drains


class Controller:
    """A process that can be killed and started again at the same address."""

    def __init__(self, folder: Path, store_url: str, tls: tuple[str, str], hook: int, port: int) -> None:
        folder.mkdir()
        self.url = f"https://127.0.0.1:{port}"
        self._config = configure(folder, store_url, tls, hook, f"127.0.0.1:{port}")
        self.log = self._config.with_suffix(".log")
        self._trusted = ssl.create_default_context(cafile=tls[0])
        self.cpu, self.peak = 0.0, 0
        self.start()

    def start(self) -> None:
        command = [PYTHON, "-m", "holdfast.fleet.controller", "--config", str(self._config)]
        log = self.log.open("a")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)

    def leads(self) -> bool:
        return self._health().get("leading") is True

    def answers(self) -> bool:
        return bool(self._health())

    def _health(self) -> dict[str, Any]:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=2, context=self._trusted) as reply:
                found: dict[str, Any] = json.load(reply)
                return found
        except (OSError, ValueError):
            return {}

    def led_at(self) -> float:
        """When it last came to lead, by its log: under load it may answer later than it leads."""
        line = next(line for line in reversed(self.log.read_text().splitlines()) if LEADS in line)
        at, milliseconds = line[:23].split(",")  # as logging writes it, in local time
        return time.mktime(time.strptime(at, "%Y-%m-%d %H:%M:%S")) + int(milliseconds) / 1000

    def account(self) -> None:
        """What it has used, before it is killed."""
        self.cpu += family_cpu_seconds(self.process.pid)
        self.peak = max(self.peak, peak_bytes(self.process.pid))

    def kill(self) -> None:
        self.account()
        self.process.kill()
        self.process.wait()


def wait(true: Any, what: str) -> float:
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > TIMEOUT_SECONDS:
            raise SystemExit(f"not within {TIMEOUT_SECONDS:g} s: {what}")
        time.sleep(0.05)
    return time.monotonic() - began


class Roles:
    """CPU seconds a minute and most memory of the leader and of the standby, while both answer and no one dies.

    What a standby spends to start and to read the fleet is counted apart."""

    def __init__(self) -> None:
        self._cpu = {"leader": 0.0, "standby": 0.0}
        self._peak = {"leader": 0, "standby": 0}
        self._seconds = 0.0
        self._starts: list[float] = []

    def watch(self, leader: Controller, standby: Controller, seconds: float) -> None:
        pids = {"leader": leader.process.pid, "standby": standby.process.pid}
        time.sleep(seconds * STARTING_SHARE)
        self._starts.append(family_cpu_seconds(standby.process.pid))
        before, began = {role: family_cpu_seconds(pid) for role, pid in pids.items()}, time.monotonic()
        time.sleep(seconds * (1 - STARTING_SHARE))
        self._seconds += time.monotonic() - began
        for role, pid in pids.items():
            self._cpu[role] += family_cpu_seconds(pid) - before[role]
            self._peak[role] = max(self._peak[role], peak_bytes(pid))

    def figures(self) -> dict[str, Any]:
        scale = 60 / self._seconds if self._seconds else 0.0
        cpu = {f"{role}_cpu_seconds_per_minute": round(spent * scale, 1) for role, spent in self._cpu.items()}
        cpu["standby_start_cpu_seconds"] = (
            round(quantile(sorted(self._starts[1:]), 0.5), 1) if self._starts[1:] else 0.0
        )
        return cpu | {f"{role}_peak_mb": round(most / MB, 1) for role, most in self._peak.items()}


Span = tuple[float, float]


def leading(pair: list[Controller]) -> Controller:
    """One that says so itself: no answer of a busy machine's leader does not mean that the other leads."""
    found: list[Controller] = []

    def asked() -> bool:
        found.extend(one for one in pair if one.leads())
        return bool(found)

    wait(asked, "one leads")
    return found[0]


def other_of(pair: list[Controller], one: Controller) -> Controller:
    return next(other for other in pair if other is not one)


def kill_leaders(pair: list[Controller], times: int, pause: float, roles: Roles) -> list[Span]:
    """From when to when no one led, by the clock."""
    chance = random.Random(3)
    taken: list[Span] = []
    for _ in range(times):
        wait(lambda: all(one.answers() for one in pair), "both answer")
        leader = leading(pair)
        roles.watch(leader, other_of(pair, leader), chance.uniform(0.5, 1.5) * pause)
        leader = leading(pair)
        other = other_of(pair, leader)
        leader.kill()
        killed = time.time()
        wait(other.leads, "the other leads")
        taken.append((killed, led := other.led_at()))
        sys.stderr.write(f"takeover {led - killed:.1f} s\n")
        leader.start()
    return taken


def leaderships(pair: list[Controller]) -> int:
    """How often a controller came to lead, by their logs: epochs follow the clock."""
    return sum(one.log.read_text().count(LEADS) for one in pair)


def run(options: argparse.Namespace, folder: Path, generator: Load) -> dict[str, Any]:
    hook = generator.ask("hook")["port"]
    tls = certificate(folder)
    with store("postgresql", folder) as (store_url, server):
        (folder / "policy.toml").write_text(POLICY)
        prepare(store_url, folder / "policy.toml", options.nodes, secret := token_hex())
        ports = free_ports(2)
        first = Controller(folder / "a", store_url, tls, hook, ports[0])
        pair = [first]
        try:
            wait(first.leads, "the first leads")
            pair.append(Controller(folder / "b", store_url, tls, hook, ports[1]))
            wait(pair[1].answers, "the second answers")
            urls = f"{pair[0].url} {pair[1].url}"
            generator.ask("meet", url=urls, certificate=tls[0], nodes=options.nodes)
            generator.ask("known", secret=secret)
            figures = generator.ask("connected")
            before = family_cpu_seconds(first.process.pid)
            figures |= generator.ask("first_reports")
            figures["first_reports_controller_cpu_seconds"] = round(family_cpu_seconds(first.process.pid) - before, 1)
            settle(store_url)
            figures |= under_load(options, generator, pair)
            figures["undrained"] = states_of(store_url, figures["undrained"])
            figures["leaderships"] = leaderships(pair)
            for one in pair:
                one.account()
            sent = generator.ask("quiet")
            figures |= stored(store_url, sent) | {"drained_twice": sent["drained_twice"]}
            figures["failed_nodes_drained"] = sent["drained"]
            figures["leaderships_at_the_end"] = leaderships(pair)
            figures["controllers_cpu_seconds"] = round(sum(one.cpu for one in pair), 1)
            figures["database_cpu_seconds"] = round(family_cpu_seconds(server), 1)
            figures["controller_peak_mb"] = round(max(one.peak for one in pair) / MB, 1)
        finally:
            for one in pair:
                one.process.kill()
                one.process.wait()
    return figures


def states_of(url: str, nodes: list[str]) -> dict[str, int]:
    """How many of these nodes are in which stage, and held by what kind of cause."""
    database = Store.open(url)
    kept = {node.name: node for node in database.nodes()}
    database.close()
    return dict(Counter(f"{kept[name].stage.value}, held by {kept[name].held or 'nothing'}" for name in nodes))


def under_load(options: argparse.Namespace, generator: Load, pair: list[Controller]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    seconds = options.times * (options.pause + 2 * LEASE_SECONDS)
    asked = threading.Thread(
        target=lambda: answer.update(
            generator.ask("sustain", seconds=seconds, share_per_minute=CHANGING, draining=DRAINING_SECONDS)
        )
    )
    steal, began, spent = cpu_times(), time.monotonic(), family_cpu_seconds(generator.pid)
    asked.start()
    roles = Roles()
    spans = kill_leaders(pair, options.times, options.pause, roles)
    asked.join()
    lasted, generating = time.monotonic() - began, family_cpu_seconds(generator.pid) - spent
    taken = sorted(round(end - start, 1) for start, end in spans)
    spread = {"p50": quantile(taken, 0.5), "max": max(taken), "all": taken}
    drained = answer.pop("drained")
    within = [took for at, took in drained if any(start <= at <= end for start, end in spans)]
    return {
        "kills": len(taken),
        "lease_seconds": LEASE_SECONDS,
        "takeover_seconds": spread,
        "under_load_seconds": round(lasted),
        "generator_share_of_cpus": round(generating / lasted / (os.cpu_count() or 1), 3),
        "failed_during_a_takeover": len(within),
        "drain_after_a_takeover": milliseconds(within),
        "steal": round(steal_ratio(steal, cpu_times()), 3),
        "load": load_average(),
        **roles.figures(),
        **answer,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=12_500)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--pause", type=float, default=20.0, help="mean seconds of load between two kills")
    parser.add_argument("--name", default="failover_load")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, load() as generator:
        Path(scratch).chmod(0o755)
        figures = run(options, Path(scratch), generator)
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    publish(options.name, {"date": when, "nodes": options.nodes, "tls": True, "engine": "postgresql", **figures})


if __name__ == "__main__":
    main()
