"""The demo: a simulated 8-GPU node with a job, the real agent on it, three faults injected and found."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
TIMEOUT_SECONDS = 60.0
MARKS = {"pass": "\033[32m", "degraded": "\033[33m", "fail": "\033[31m", "unknown": "\033[35m"}

Verdicts = dict[str, dict[str, Any]]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as scratch:
        twin = Path(scratch) / "n01"
        say("A simulated node with NVML's ABI, a sysfs tree and a kernel log:")
        command("twin", "node", str(twin), "--name", "n01")
        config = str(twin / "holdfast.toml")
        with (twin / "holdfast.toml").open("a") as file:
            for source in ("nvml_slow", "jobs"):
                file.write(
                    f"\n[sources.{source}]\nevery_seconds = 3  # the default is up to a minute, too long for a demo\n"
                )
        say("A training job starts on it; its NCCL_IB_TIMEOUT=20 keeps connections for 30 s:")
        command("twin", "inject", str(twin), "gpu_process", "--gpu", "0")
        say("The agent that would run on a real node, on this one:")
        agent = subprocess.Popen([HOLDFAST, "agent", "--config", config], stderr=subprocess.DEVNULL)
        try:
            main_events(twin, config)
        finally:
            agent.terminate()
            agent.wait(10)
    say("Done. `holdfast --help` lists the commands; README.md says how to run this on a GPU node.")
    return 0


def main_events(twin: Path, config: str) -> None:
    watch = Watch(config)
    watch.until("the node's first verdict", lambda node: node["health"] == "pass")
    inject = ("twin", "inject", str(twin))
    say("A fabric port goes down. The job's connections over it are lost when its own timeout is over, not before:")
    command(*inject, "port_down", "--port", "mlx5_3")
    watch.until("a countdown", lambda node: health(node, "fabric.port_down") == "degraded")
    say("While that runs, a GPU loses an NVLink lane, and one falls off the bus:")
    command(*inject, "nvlink_lane_down", "--gpu", "2")
    command(*inject, "gpu_lost", "--gpu", "5")
    watch.until(
        "both to be found",
        lambda node: health(node, "nvlink.lanes") == "fail" and health(node, "gpu.lost") == "fail",
    )
    say("The port is still down when the job's 30 s are over. PyTorch's watchdog would take 9 minutes more to notice:")
    watch.until("the deadline", lambda node: health(node, "fabric.port_down") == "fail")
    say("The port comes back, which brings no connection back: it fails until that job has ended.")
    command(*inject, "port_down", "--port", "mlx5_3", "--clear")
    command(*inject, "gpu_process", "--gpu", "0", "--clear")
    watch.until("the job's end", lambda node: health(node, "fabric.port_down") == "degraded")
    say("What Slurm's prolog would get from the agent's last verdict:")
    command("gate", "--config", config)
    say("The same questions, asked once:")
    command("check", "--config", config)


class Watch:
    """Follows the agent's verdict file and prints every verdict that changes."""

    def __init__(self, config: str) -> None:
        lines = Path(config).read_text().splitlines()
        self._path = next(Path(line.split('"')[1]) for line in lines if line.startswith("verdict_file"))
        self._last: dict[str, str] = {}

    def until(self, what: str, reached: Callable[[dict[str, Any]], bool]) -> None:
        end = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < end:
            if self._path.exists():
                node = json.loads(self._path.read_bytes())
                self._tell(node)
                if reached(node):
                    return
            time.sleep(0.2)
        raise SystemExit(f"the demo waited {TIMEOUT_SECONDS:.0f} s for {what} and did not see it")

    def _tell(self, node: dict[str, Any]) -> None:
        for verdict in node["verdicts"]:
            now = verdict["health"]
            if now != self._last.get(verdict["check"], "pass"):
                print(
                    f"   {MARKS.get(now, '')}{now:>9}\033[0m  {verdict['check']}: {verdict['reason'][:240]}", flush=True
                )
                if now == "fail":
                    print(f"              do: {verdict['remedy']} (owner: {verdict['owner']})", flush=True)
            self._last[verdict["check"]] = now


def health(node: dict[str, Any], check: str) -> str:
    return next((verdict["health"] for verdict in node["verdicts"] if verdict["check"] == check), "unknown")


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m", flush=True)


def command(*words: str) -> None:
    print(f"   $ holdfast {' '.join(words)}", flush=True)
    subprocess.run([HOLDFAST, *words], check=False)


if __name__ == "__main__":
    raise SystemExit(main())
