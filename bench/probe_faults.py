"""Six hosts in network namespaces, one fault at a time: how often `holdfast probe run` names the right part and cause.

Needs root, iproute2 and nftables. `--runs 10 --case loss1 --case healthy` takes about two minutes a run on two cores.
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

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.node.probes.fabric import Fabric, fabric

HOSTS = 6
DIES_AFTER_SECONDS = 10.0
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
    parser.add_argument("--case", action="append", choices=sorted(CASES))
    parser.add_argument("--out", default=str(RESULTS / "probe_faults.json"))
    given = parser.parse_args()
    rows = [measured(case, given.runs) for case in given.case or CASES]
    Path(given.out).write_text(json.dumps({"hosts": HOSTS, "load": os.getloadavg()[2], "rows": rows}, indent=1) + "\n")
    return 0


def measured(case: str, runs: int) -> dict[str, Any]:
    breaks, parts, cause = CASES[case]
    right, seconds, wrong = 0, [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder, fabric(Path(folder), HOSTS) as made:
            breaks(made)
            start = time.monotonic()
            found = named(made, case)
            seconds.append(time.monotonic() - start)
        good = [part for part, _ in found] == parts and all(said.startswith(cause) for _, said in found)
        right += good
        wrong += [] if good else [found]
        print(f"{case}: {'right' if good else 'WRONG'} {found} {seconds[-1]:.0f} s", flush=True)
    return {
        "case": case,
        "runs": runs,
        "right": right,
        "seconds": round(sum(seconds) / len(seconds), 1),
        "wrong": wrong,
    }


def named(made: Fabric, case: str) -> list[tuple[str, str]]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * case.startswith("busy"))]
    command = [HOLDFAST, "probe", "run", "--json", "--hosts", str(made.hosts), "--largest", "64KiB"]
    probe = subprocess.Popen([*command, "--timeout-seconds", "30"], stdout=subprocess.PIPE, text=True)
    if case.startswith("died"):
        threading.Timer(DIES_AFTER_SECONDS, _end_two, [made]).start()
    try:
        document = json.loads(probe.communicate(timeout=1200)[0])
    finally:
        for one in busy:
            one.kill()
    return [(one["subject"], one["cause"]) for one in document["suspects"]]


def kill(made: Fabric, name: str) -> None:
    command = ["ip", "netns", "pids", made.space(name)]
    for pid in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split():
        os.kill(int(pid), signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main())
