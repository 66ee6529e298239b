"""Six hosts in network namespaces, one fault at a time: how often `holdfast probe run` names the right part and cause.

Needs root, iproute2 and nftables. Workers start with torch loaded (`warm_ranks.py`), and the payloads are the smallest
that the judgement needs: pairs decide, so the sweep has one size, and 1 MiB is the smallest payload whose time is
bandwidth. Results are written after every run.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import HOLDFAST, RESULTS
from warm_ranks import warm

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.node.probes.fabric import Fabric, fabric

HOSTS = 6
DIES_AFTER_SECONDS = 5.0
PAYLOADS = ["--smallest", "64KiB", "--largest", "64KiB", "--pair-bytes", "1MiB"]
MANY = ("healthy", "loss 1 %", "loss 5 %")
Case = tuple[Callable[[Fabric], None], list[str], str]


def _end_two(made: Fabric) -> None:
    for name in ("h5", "h6"):
        kill(made, name)


def nothing(made: Fabric) -> None:
    """A healthy fabric."""


CASES: dict[str, Case] = {
    "healthy": (nothing, [], ""),
    "busy CPU everywhere": (nothing, [], ""),
    "loss 1 %": (lambda made: made.lose("h3", 1), ["node/h3"], "packet loss"),
    "loss 5 %": (lambda made: made.lose("h3", 5), ["node/h3"], "packet loss"),
    "MTU": (lambda made: made.set_mtu("h3", 1400), ["node/h3"], "MTU mismatch"),
    "slow one way": (lambda made: made.limit_sending("h3"), ["node/h3"], "slow sending"),
    "slow trunk": (lambda made: made.limit_trunk(), ["trunk/east+west"], "bandwidth"),
    "died mid-run beside a slow node": (lambda made: made.limit_sending("h4"), ["node/h4"], "slow sending"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--many", type=int, default=0, help="runs of healthy, 1 %% and 5 %% loss (default: --runs)")
    parser.add_argument(
        "--case", action="append", choices=sorted(CASES), metavar="CASE", help="only this case; may be repeated"
    )
    parser.add_argument("--out", default=str(RESULTS / "probe_faults.json"))
    given = parser.parse_args()
    cases = given.case or list(CASES)
    wanted = {case: given.many if given.many and case in MANY else given.runs for case in cases}
    rows = {case: {"case": case, "runs": 0, "right": 0, "seconds": 0.0, "wrong": [], "loads": []} for case in cases}
    with tempfile.TemporaryDirectory() as folder, warm(Path(folder)) as launch:
        for turn in range(max(wanted.values())):  # in turn, so that a change of the machine's load meets every case
            for case in (one for one in cases if turn < wanted[one]):
                measure_once(rows[case], launch)
                document = {"hosts": HOSTS, "rows": list(rows.values())}
                Path(given.out).write_text(json.dumps(document, indent=1) + "\n")
    return 0


def measure_once(row: dict[str, Any], launch: list[str]) -> None:
    case = row["case"]
    breaks, parts, cause = CASES[case]
    with tempfile.TemporaryDirectory() as folder, fabric(Path(folder), HOSTS) as made:
        made.hosts.write_text("".join(f"{line} {' '.join(launch)}\n" for line in made.hosts.read_text().splitlines()))
        breaks(made)
        start = time.monotonic()
        found, unmeasured, evidence = named(made, case)
        took = time.monotonic() - start
    good = [part for part, _ in found] == parts and all(one.startswith(cause) for _, one in found)
    good = good and (bool(parts) or not unmeasured)  # a run that measured nothing names no innocent part either
    row["seconds"] = round((row["seconds"] * row["runs"] + took) / (row["runs"] + 1), 1)
    row["runs"] += 1
    row["right"] += good
    row["loads"].append(round(os.getloadavg()[0], 1))
    row["wrong"] += [] if good else [found or unmeasured]
    print(f"{case}: {'right' if good else 'WRONG'} {found} {took:.0f} s {unmeasured or ''}", flush=True)
    for line in () if good else evidence:
        print(f"  {line}", flush=True)


def named(made: Fabric, case: str) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """The suspects with their cause, the hosts of which nothing is known, and the evidence."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * case.startswith("busy"))]
    command = [HOLDFAST, "probe", "run", "--json", "--hosts", str(made.hosts), *PAYLOADS]
    probe = subprocess.Popen([*command, "--timeout-seconds", "30"], stdout=subprocess.PIPE, text=True)
    if case.startswith("died"):
        threading.Timer(DIES_AFTER_SECONDS, _end_two, [made]).start()
    try:
        document = json.loads(probe.communicate(timeout=1200)[0])
    finally:
        for one in busy:
            one.kill()
    unmeasured = [one["subject"] for one in document["verdicts"] if one["health"] == "unknown"]
    suspects = document["suspects"]
    evidence = [f"{one['subject']}: {line}" for one in suspects for line in one["evidence"]]
    return [(one["subject"], one["cause"]) for one in suspects], unmeasured, evidence


def kill(made: Fabric, name: str) -> None:
    command = ["ip", "netns", "pids", made.space(name)]
    for pid in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split():
        os.kill(int(pid), signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main())
