"""Six broken gloo jobs under `holdfast run`: the cause and rank it names, what it decides, and after how many seconds.

python bench/diagnose_jobs.py [--python DIR/bin/python]

`--python`: of an environment with nothing but `pip install holdfast torch`, so that no development tool helps.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import publish

JOB = Path(__file__).parents[1] / "tests" / "diagnosis" / "gloo_job.py"
PROCESSES = 4
HANG_FLOOR_SECONDS = 8.0  # the job's steps take milliseconds; the default of 60 only makes the bench longer
TIMEOUT_SECONDS = 400.0
FAULTS = {  # fault of gloo_job.py: (causes that are right, the rank to blame, decisions that are right)
    "bug": (("job.exception",), 1, ("stop",)),
    "kill": (("host.killed",), 2, ("restart_same",)),
    "lock": (("job.rank_missing", "job.rank_slow"), 3, ("restart_same", "stop")),
    "shape": (("job.collective_mismatch",), 1, ("stop",)),
    "store": (("launcher.setup", "fabric.unreachable"), None, ("stop", "restart_same")),
    "disk": (("storage.full",), None, ("wait_for_storage", "stop")),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="", help="one fault")
    options = parser.parse_args()
    rows = [one_job(options.python, fault) for fault in FAULTS if options.only in ("", fault)]
    for row in rows:
        print(json.dumps(row))
    if not options.only:
        right = sum(bool(row["right"]) for row in rows)
        publish("diagnose_jobs", {"jobs": len(rows), "right": right, "of": rows})
    return 0 if all(row["right"] for row in rows) else 1


def one_job(python: str, fault: str) -> dict[str, Any]:
    causes, rank, decisions = FAULTS[fault]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(Path(python).with_name("holdfast")), "run", "--folder", f"{folder}/run", "--same-cause", "1",
            "--hang-floor-seconds", str(HANG_FLOOR_SECONDS), "--backoff-seconds", "0", "--grace-seconds", "2",
            "--storage-timeout-seconds", "0", "--kernel-log", "/dev/null", "--", *launch(python, fault, folder),
        ]  # fmt: skip
        began = time.monotonic()
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONPATH": ""},
        )  # fmt: skip
        seconds = time.monotonic() - began
        state = Path(folder, "run", "run.json")
        attempts = json.loads(state.read_text())["attempts"] if state.exists() else []
        decision = next_step(python, Path(folder, "run", "attempt_1.log"))
    first = attempts[0] if attempts else {}
    found, blamed = first.get("cause", ""), first.get("subject", "")
    named = rank is None or f"rank/{rank}" in str(blamed) or f"rank {rank}" in done.stderr
    return {
        "fault": fault, "cause": found, "subject": blamed, "decision": decision, "attempts": len(attempts),
        "seconds": round(seconds, 1), "exit_code": done.returncode, "rank_named": named,
        "right": found in causes and named and decision in decisions,
    }  # fmt: skip


def next_step(python: str, log: Path) -> str:
    """What the diagnosis of the first attempt advises; the run itself stops, for it is told to at the first repeat."""
    command = [str(Path(python).with_name("holdfast")), "diagnose", "--json", str(log)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False).stdout
    return str(((json.loads(said) if said else {}).get("next") or {}).get("action", ""))


def launch(python: str, fault: str, folder: str) -> list[str]:
    """Of `store`: the second of two nodes, whose first was never started."""
    torchrun = [python, "-m", "torch.distributed.run", f"--nproc-per-node={PROCESSES}"]
    if fault == "store":
        torchrun += ["--nnodes=2", "--node-rank=1", "--master-addr=127.0.0.1", "--master-port=29871"]
        torchrun += ["--rdzv-conf=timeout=15"]
    else:
        torchrun += ["--standalone"]
    return [*torchrun, str(JOB), fault, folder]


if __name__ == "__main__":
    raise SystemExit(main())
