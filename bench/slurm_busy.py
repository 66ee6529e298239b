"""Claim: no job starts on a node that failed, is held, quarantined or untested, and nothing is reset on a node in use.

A real Slurm with the real gate as its prolog, a real controller, and real agents on simulated hardware run short jobs.
Faults are injected while nodes are idle, run a job, or are between two. An admin resumes nodes at random, an operator
quarantines and releases some, and slurmctld is restarted twice, with a pause. What happened is read from Slurm's own
records: `slurm_busy_records.py`.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import publish
from slurm_busy_records import figures

from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.inject import clear, inject
from holdfast.node.agent.__main__ import main as agent_main
from holdfast.node.agent.reporting import reporter
from tests.fleet.controller.slurm_site import Site, slurm_site
from tests.fleet.controller.slurm_twin import agent_on_twin
from tests.waiting import until

ROOT = Path(__file__).parents[1]
# The real gate; beside it is noted what it answered and when it was asked.
GATE = """\
#!/bin/sh
test "$1" = gate && shift
export PYTHONPATH={root}
begin=$(date +%s.%N)
{python} -m holdfast.cli.gate.gate --node "$SLURMD_NODENAME" "$@"
code=$?
test -n "$SLURM_JOB_ID" && echo "$begin $(date +%s.%N) $SLURM_JOB_ID $code" >> {site}/gate.$SLURMD_NODENAME
exit $code
"""
SETTINGS = """\
HOLDFAST_CONFIG={site}/$SLURMD_NODENAME/holdfast.toml
HOLDFAST_GATE_OPTIONS="--max-age 600 --config {site}/$SLURMD_NODENAME/holdfast.toml"
"""
# What Slurm itself shows of the node at the moment of a repair step; then the hardware is well again.
REPAIR = """\
#!/bin/sh
export SLURM_CONF={site}/slurm.conf PATH=/usr/sbin:/usr/bin:/bin PYTHONPATH={root}
shown=$(scontrol -o show node "$2" 2>&1) || shown="NodeName=$2 State=UNKNOWN no answer"
reserved=$(scontrol -o show reservation 2>&1 | grep -o "ReservationName=holdfast_$2_.* State=ACTIVE" | head -n 1)
echo "$(date +%s.%N) $1 $shown | $reserved" >> {site}/repairs
exec {python} {bench}/slurm_busy.py --mend {site}/$2
"""
CONTROLLER = """\
demo = true
[actions]
reset_gpu = "command"
reboot = "command"
[command.commands]
reset_gpu = ["{root}/repair", "reset_gpu", "{{node}}"]
reboot = ["{root}/repair", "reboot", "{{node}}"]
"""
# A cause that comes back within 20 s is reset, then rebooted, then left to the operator; later it is a new one.
POLICY = "breaker_share = 1.0\nbreaker_nodes = 4\noffence_seconds = 20\n"
FAULTS = ("gpu_off_bus", "gpu_lost")  # an Xid with a lost GPU; a lost GPU that comes back by itself
# An order comes with the answer to a heartbeat: at 30 s, as on real nodes, most of the run would be waiting for it.
HEARTBEAT_SECONDS = 2.0
FAULT_EVERY, RESUME_EVERY, QUARANTINE_EVERY = 4, 2, 12  # jobs
NO_ANSWER = 1 << 30
POLL_SECONDS = 0.5
PHASES = {"idle": "before", "allocated": "during", "draining": "between", "drained": "between", "completing": "between"}


class Crowd:
    """Who disturbs the cluster, each in a thread of its own. How often goes by the jobs, not by the clock: a slow
    machine has the same run as a fast one."""

    def __init__(self, site: Site, homes: dict[str, Path], seed: int) -> None:
        self.site, self.homes = site, homes
        self.chance = random.Random(seed)
        self.over = threading.Event()
        self.done: Counter[str] = Counter()
        acts = {self._break: FAULT_EVERY, self._resume: RESUME_EVERY, self._operate: QUARANTINE_EVERY}
        self._due = {act: (every, threading.Semaphore(0)) for act, every in acts.items()}
        self._threads = [threading.Thread(target=self._run, args=(act,), daemon=True) for act in acts]

    def after_job(self, number: int) -> None:
        for every, due in self._due.values():
            if number % every == 0:
                due.release()

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self, act: Callable[[], bool]) -> None:
        """Each until it could be done: slurmctld may be away, or no node is in the phase that is to be hit."""
        while not self.over.is_set():
            if not self._due[act][1].acquire(timeout=1.0):
                continue
            while not self.over.wait(self.chance.uniform(0.2, 1.0)):
                with suppress(AssertionError, subprocess.TimeoutExpired, TwinError):
                    if act():
                        break

    def _break(self) -> bool:
        """One fault in the phase whose turn it is; some faults go away by themselves."""
        phase = min(("before", "during", "between"), key=lambda one: self.done[f"faults_{one}"])
        shown = self.site.slurm.run("sinfo", "-h", "-N", "-o", "%N %T")
        fitting = [node for node, state in map(str.split, shown.splitlines()) if PHASES.get(state.rstrip("*")) == phase]
        if not fitting:
            return False
        node, fault = self.chance.choice(fitting), self.chance.choice(FAULTS)
        inject(self.homes[node], fault, gpu=3)
        self.done[f"faults_{phase}"] += 1
        if fault == "gpu_lost":
            self.over.wait(self.chance.uniform(0.5, 6.0))
            clear(self.homes[node], fault, gpu=3)
        return True

    def _resume(self) -> bool:
        self.site.slurm.update(self.chance.choice(list(self.homes)), "resume")
        self.done["admin_resumes"] += 1
        return True

    def _operate(self) -> bool:
        """Quarantines a node for some seconds, and releases nodes whose repair steps are used up."""
        node = self.chance.choice(list(self.homes))
        if self.site.controller.post(f"/v1/nodes/{node}/quarantine", {"reason": "a look at the fan"}).status_code < 300:
            self.done["operator_quarantines"] += 1
            self.over.wait(self.chance.uniform(4.0, 10.0))
        for one in self.homes:
            if self.site.controller.stage(one) == "quarantined":
                self.site.controller.post(f"/v1/nodes/{one}/release", {"reason": "repaired by hand"})
        return True

    def restart_slurmctld(self, away: float) -> None:
        control = next(one for one in self.site.slurm.daemons if "slurmctld" in str(one.args))
        control.terminate()
        control.wait()
        self.site.slurm.daemons.remove(control)
        self.over.wait(away)
        self.site.slurm.start("slurmctld", "-D")
        self.done["slurmctld_restarts"] += 1


def submit(site: Site, jobs: int, crowd: Crowd, deadline: float) -> int:
    """Keeps the queue short; every fifth job takes two nodes. How many were submitted before the deadline."""
    waiting = 2 * len(crowd.homes)
    for number in range(jobs):
        if time.time() > deadline:
            jobs = number
            break
        while run_now(site) >= waiting + len(crowd.homes):
            time.sleep(POLL_SECONDS)
        if number in (jobs // 3, 2 * jobs // 3):
            crowd.restart_slurmctld(away=crowd.chance.uniform(5.0, 15.0))
            until(lambda: run_now(site) < NO_ANSWER, "slurmctld is back", 120)
        seconds = crowd.chance.uniform(0.1, 1.5)
        width = 2 if number % 5 == 4 else 1
        out = str(site.slurm.root / "out.%j")
        everywhere = f"srun -N{width} " if width > 1 else ""
        site.slurm.run("sbatch", "--exclusive", f"-N{width}", "-o", out, "--wrap", f"{everywhere}sleep {seconds:.2f}")
        crowd.after_job(number)
        print(f"{time.time():.0f} submitted {number + 1}: {dict(crowd.done)}", file=sys.stderr, flush=True)
    timeout = time.time() + 900
    while run_now(site):
        assert time.time() < timeout, "not every job has run"
        time.sleep(POLL_SECONDS)
    return jobs


def run_now(site: Site) -> int:
    """How many are left. A job that a prolog refused begins again in two minutes unless it is asked to begin now."""
    try:
        left = site.slurm.run("squeue", "-h", "-o", "%i %r").splitlines()
    except (AssertionError, subprocess.TimeoutExpired):
        return NO_ANSWER
    for line in left:
        job, _, why = line.partition(" ")
        if why == "BeginTime":
            with suppress(AssertionError):
                site.slurm.run("scontrol", "update", f"jobid={job}", "StartTime=now")
    return len(left)


def mend(home: Path) -> None:
    time.sleep(1.0)  # so long that the fault is whole
    for fault in FAULTS:
        with suppress(TwinError):
            clear(home, fault, gpu=3)


def prepare(site: Site) -> None:
    root = site.slurm.root
    here = {"site": root, "root": ROOT, "python": sys.executable, "bench": ROOT / "bench"}
    for name, text in (("gate", GATE), ("repair", REPAIR)):
        (root / name).write_text(text.format(**here))
        (root / name).chmod(0o755)
    with (root / "holdfast" / "settings.sh").open("a") as settings:
        settings.write(SETTINGS.format(**here))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=7200.0, help="after so long no more jobs are submitted")
    parser.add_argument("--keep", default="", help="a folder for everything that was written")
    parser.add_argument("--mend", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--agent", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.agent:
        reporter.HEARTBEAT_SECONDS = HEARTBEAT_SECONDS
        sys.argv = ["holdfast agent", "--config", options.agent]
        raise SystemExit(agent_main())
    if options.mend:
        mend(options.mend)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # everything that was started is ended
    with ExitStack() as stack:
        scratch = options.keep or stack.enter_context(tempfile.TemporaryDirectory())
        Path(scratch).mkdir(parents=True, exist_ok=True)
        site = stack.enter_context(slurm_site(Path(scratch), options.nodes, CONTROLLER, POLICY))
        prepare(site)
        names = [f"node{number}" for number in range(1, options.nodes + 1)]
        start = [sys.executable, str(Path(__file__)), "--agent"]
        homes = {node: stack.enter_context(agent_on_twin(site, node, start)) for node in names}
        site.slurm.eventually(lambda: all(site.slurm.state(node) == "idle" for node in names), within=300)
        began = time.time()
        with Crowd(site, homes, options.seed) as crowd:
            jobs = submit(site, options.jobs, crowd, began + options.seconds)
        result = {"jobs": jobs, "nodes": options.nodes, "seed": options.seed}
        result |= {"heartbeat_seconds": HEARTBEAT_SECONDS, "seconds": round(time.time() - began)} | dict(
            sorted(crowd.done.items())
        )
        result |= figures(site.slurm.root, site.controller.config.parent / "holdfast.db", names)
    publish("slurm_busy", result)
    if result["violations"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
