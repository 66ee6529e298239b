"""Claims: kernel line to verdict p99 <= 100 ms; a dead port is announced before its deadline and 'presumed lost' within
1.2 s after it. Measured on the running agent through the verdict file, as the gate would see it."""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from measure import HOLDFAST, one_shot, publish, quantile, running

PATIENCE_SECONDS = 30.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=60)
    parser.add_argument("--outages", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        twin = Path(scratch) / "twin"
        one_shot([HOLDFAST, "twin", "node", str(twin)])
        with running([HOLDFAST, "agent", "--config", str(twin / "holdfast.toml")]):
            reader = VerdictFile(twin)
            reader.until(lambda verdicts: verdicts["gpu.xid"]["health"] == "pass")
            figures: dict[str, Any] = kernel_lines(twin, reader, options.lines)
            figures |= port_outages(twin, reader, options.outages)
        publish("reaction", figures)


class VerdictFile:
    def __init__(self, twin: Path) -> None:
        self._path = next(
            Path(line.split('"')[1])
            for line in (twin / "holdfast.toml").read_text().splitlines()
            if line.startswith("verdict_file")
        )

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> float:
        """The moment at which the file first shows it."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            try:
                verdicts = {v["check"]: v for v in json.loads(self._path.read_bytes())["verdicts"]}
                if wanted(verdicts):
                    return time.monotonic()
            except (FileNotFoundError, KeyError, json.JSONDecodeError):
                pass
            time.sleep(0.002)
        raise SystemExit("the agent did not show what was expected; no figure")


def kernel_lines(twin: Path, reader: VerdictFile, lines: int) -> dict[str, Any]:
    """Each line is a new Xid on another GPU-less address, so that each one must change the verdict file."""
    delays = []
    kmsg = next((twin / "dev").glob("kmsg"))
    for number in range(lines):
        device = f"00{number:02x}:01:00"
        record = f"3,{9000 + number},{int(time.monotonic() * 1e6)},-"
        line = f"{record};NVRM: Xid (PCI:{device}): 79, GPU has fallen off the bus.\n"
        started = time.monotonic()
        with kmsg.open("ab") as file:
            file.write(line.encode())
        seen = reader.until(partial(_names, device))
        delays.append(seen - started)
        time.sleep(0.05)
    return {
        "kernel_lines": lines,
        "kernel_line_p50_ms": round(1000 * quantile(delays, 0.5), 1),
        "kernel_line_p99_ms": round(1000 * quantile(delays, 0.99), 1),
    }


def _names(device: str, verdicts: dict[str, Any]) -> bool:
    return any(device in row["subject"] for row in verdicts["gpu.xid"]["subjects"])


def port_outages(twin: Path, reader: VerdictFile, outages: int) -> dict[str, Any]:
    announced, presumed = [], []
    for _ in range(outages):
        started = time.monotonic()
        one_shot([HOLDFAST, "twin", "inject", str(twin), "port_down", "--port", "mlx5_3"], env=os.environ)
        down = reader.until(lambda verdicts: verdicts["fabric.port_down"]["health"] == "degraded")
        lost = reader.until(lambda verdicts: verdicts["fabric.port_down"]["health"] == "fail")
        announced.append(down - started)
        presumed.append(lost - started)
        one_shot([HOLDFAST, "twin", "inject", str(twin), "port_down", "--port", "mlx5_3", "--clear"])
        reader.until(lambda verdicts: verdicts["fabric.port_down"]["health"] != "fail")
    return {
        "transport_timeout_seconds": 7.5,
        "port_down_announced_seconds": round(max(announced), 2),
        "presumed_lost_after_deadline_seconds": round(max(presumed) - 7.5, 2),
    }


if __name__ == "__main__":
    main()
