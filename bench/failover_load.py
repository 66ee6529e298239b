"""Two controllers on PostgreSQL with TLS, 44 verdicts a node, and the leader killed again and again under load.

Nodes fail all the while. Afterwards every acknowledged report must be in the store and every drain carried out at most
once; the number of leaderships must be that of the kills and one. Who was killed starts again and becomes the standby.
"""

import argparse
import json
import random
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from sqlalchemy import create_engine, text

from fleet_scale import ask_join_token, settle, stored
from fleet_stage import Load, certificate, configure, family_cpu_seconds, load, peak_bytes, store
from holdfast.fleet.controller.lead import LEASE_SECONDS
from measure import PYTHON, cpu_times, publish, quantile, steal_ratio
from tests.ports import free_ports

MB = 1 << 20
TIMEOUT_SECONDS = 600.0  # a loaded machine starts a process slowly
CHANGING = 0.02  # of all nodes fail per minute


class Controller:
    """A process that can be killed and started again at the same address."""

    def __init__(self, folder: Path, store_url: str, tls: tuple[str, str], hook: int, port: int) -> None:
        folder.mkdir()
        self.url = f"https://127.0.0.1:{port}"
        self._config = configure(folder, store_url, tls, hook, f"127.0.0.1:{port}")
        self._trusted = ssl.create_default_context(cafile=tls[0])
        self.cpu, self.peak = 0.0, 0
        self.start()

    def start(self) -> None:
        command = [PYTHON, "-m", "holdfast.fleet.controller", "--config", str(self._config)]
        log = self._config.with_suffix(".log").open("a")
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


def kill_leaders(pair: list[Controller], times: int, pause: float) -> list[float]:
    """Seconds from each kill until the other leads."""
    chance, taken = random.Random(3), []
    for _ in range(times):
        time.sleep(chance.uniform(0.5, 1.5) * pause)
        wait(lambda: all(one.answers() for one in pair) and any(one.leads() for one in pair), "both answer, one leads")
        leader = next(one for one in pair if one.leads())
        other = next(one for one in pair if one is not leader)
        leader.kill()
        taken.append(wait(other.leads, "the other leads"))
        sys.stderr.write(f"takeover {taken[-1]:.1f} s\n")
        leader.start()
    return taken


def leaderships(url: str) -> int:
    engine = create_engine(url)
    with engine.connect() as connection:
        epoch: int = connection.execute(text("SELECT epoch FROM leader")).scalar_one()
    engine.dispose()
    return epoch


def run(options: argparse.Namespace, folder: Path, generator: Load) -> dict[str, Any]:
    hook = generator.ask("hook")["port"]
    tls = certificate(folder)
    with store("postgresql", folder) as (store_url, server):
        ports = free_ports(2)
        first = Controller(folder / "a", store_url, tls, hook, ports[0])
        pair = [first]
        try:
            wait(first.leads, "the first leads")
            pair.append(Controller(folder / "b", store_url, tls, hook, ports[1]))
            wait(pair[1].answers, "the second answers")
            (folder / "admin.token").write_text((folder / "a" / "admin.token").read_text())
            urls = f"{pair[0].url} {pair[1].url}"
            generator.ask("meet", url=urls, certificate=tls[0], nodes=options.nodes)
            figures = generator.ask("enrol", join_token=ask_join_token(urls, folder, options.nodes))
            figures |= generator.ask("warm")
            before = family_cpu_seconds(first.process.pid)
            figures |= generator.ask("first_reports")
            figures["first_reports_controller_cpu_seconds"] = round(family_cpu_seconds(first.process.pid) - before, 1)
            settle(store_url)
            figures |= under_load(options, generator, pair)
            figures["leaderships"] = leaderships(store_url)
            for one in pair:
                one.account()
            sent = generator.ask("quiet")
            figures |= stored(store_url, sent) | {"drained_twice": sent["drained_twice"]}
            figures["leaderships_at_the_end"] = leaderships(store_url)
            figures["controllers_cpu_seconds"] = round(sum(one.cpu for one in pair), 1)
            figures["database_cpu_seconds"] = round(family_cpu_seconds(server), 1)
            figures["controller_peak_mb"] = round(max(one.peak for one in pair) / MB, 1)
        finally:
            for one in pair:
                one.process.kill()
                one.process.wait()
    return figures


def under_load(options: argparse.Namespace, generator: Load, pair: list[Controller]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    seconds = options.times * (options.pause + 2 * LEASE_SECONDS)
    asked = threading.Thread(
        target=lambda: answer.update(generator.ask("sustain", seconds=seconds, share_per_minute=CHANGING))
    )
    steal, began = cpu_times(), time.monotonic()
    asked.start()
    taken = kill_leaders(pair, options.times, options.pause)
    asked.join()
    taken = sorted(round(one, 1) for one in taken)
    spread = {"p50": quantile(taken, 0.5), "max": max(taken), "all": taken}
    return {
        "kills": len(taken),
        "lease_seconds": LEASE_SECONDS,
        "takeover_seconds": spread,
        "under_load_seconds": round(time.monotonic() - began),
        "steal": round(steal_ratio(steal, cpu_times()), 3),
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
