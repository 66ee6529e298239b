"""Claims: kernel line to verdict p99 <= 100 ms; a dead port is announced before the deadline of the job on it, and
'presumed lost' within 1.2 s after it. Measured on the running agent through the verdict file, as the gate sees it."""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from measure import HOLDFAST, one_shot, publish, quantile, running

from holdfast.lab.twin.inject import clear, inject

TIMEOUT_SECONDS = 60.0
PORTS = ("mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6")  # one for each outage: downtime is remembered per port


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=60)
    parser.add_argument("--outages", type=int, choices=range(1, len(PORTS) + 1), default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        twin = Path(scratch) / "twin"
        one_shot([HOLDFAST, "twin", "node", str(twin)])
        inject(twin, "gpu_process", gpu=0)  # the job whose timeout is the deadline
        with running([HOLDFAST, "agent", "--config", str(twin / "holdfast.toml")]):
            reader = VerdictFile(twin)
            reader.until(lambda verdicts: verdicts["gpu.xid"]["health"] == "pass")
            figures: dict[str, Any] = kernel_lines(twin, reader, options.lines)
            figures |= port_outages(twin, reader, options.outages)
        publish("reaction", figures)


class VerdictFile:
    def __init__(self, twin: Path) -> None:
        self.verdicts: dict[str, Any] = {}
        self._path = next(
            Path(line.split('"')[1])
            for line in (twin / "holdfast.toml").read_text().splitlines()
            if line.startswith("verdict_file")
        )

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> float:
        """The moment at which the file first shows it."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < end:
            try:
                self.verdicts = {v["check"]: v for v in json.loads(self._path.read_bytes())["verdicts"]}
                if wanted(self.verdicts):
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
    announced, presumed, timeouts = [], [], []
    for port in PORTS[:outages]:
        started = time.monotonic()
        inject(twin, "port_down", port=port)
        down = reader.until(partial(_port_is, port, "degraded"))
        timeouts.append(_row(reader.verdicts, port)["limit"])
        lost = reader.until(partial(_port_is, port, "fail"))
        announced.append(down - started)
        presumed.append(lost - started - timeouts[-1])
        clear(twin, "port_down", port=port)
    return {
        "transport_timeout_seconds": round(max(timeouts), 2),
        "port_down_announced_seconds": round(max(announced), 2),
        "presumed_lost_after_deadline_seconds": round(max(presumed), 2),
    }


def _port_is(port: str, health: str, verdicts: dict[str, Any]) -> bool:
    return bool(_row(verdicts, port)["health"] == health)


def _row(verdicts: dict[str, Any], port: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = verdicts["fabric.port_down"]["subjects"]
    return next(row for row in rows if row["subject"].endswith(f"/nic/{port}/1"))


if __name__ == "__main__":
    main()
