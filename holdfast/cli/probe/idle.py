"""Nobody probes a node on which work runs: Slurm is asked where it starts the workers, the controller where one is
known. A job that probes its own nodes may."""

import os
import subprocess
from collections.abc import Sequence

from holdfast.client.client import connect
from holdfast.formats.slurm import hostlist
from holdfast.model.refusal import Refusal

STATES = "RUNNING,CONFIGURING,COMPLETING,SUSPENDED,STOPPED"
ASK_SECONDS = 30.0
ALLOCATED = "allocated"


def refuse_allocated_in_slurm(names: Sequence[str]) -> None:
    words = ["squeue", "--noheader", f"--nodelist={','.join(names)}", f"--states={STATES}", "--format=%A|%u|%N"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=ASK_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refusal(f"--slurm: squeue cannot be asked who is on these nodes: {error}") from None
    if done.returncode:
        said = next(iter(done.stderr.strip().splitlines()), "it said nothing")
        raise Refusal(f"--slurm: squeue refused {','.join(names)}: {said}")
    for line in done.stdout.splitlines():
        job, user, where = (line.split("|", 2) + ["", ""])[:3]
        taken = sorted(set(names) & set(_expanded(where)))
        if taken and job != os.environ.get("SLURM_JOB_ID"):
            raise Refusal(f"{taken[0]} is allocated to job {job} of {user}: a probe would take its work's bandwidth")


def _expanded(words: str) -> list[str]:
    try:
        return hostlist.expand(words)
    except ValueError:
        return []


def refuse_allocated_here_known(names: Sequence[str]) -> None:
    """By the controller that $HOLDFAST_URL names; without one nobody can tell."""
    if not os.environ.get("HOLDFAST_URL"):
        return
    for one in connect("", "").get("/v1/nodes")["nodes"]:
        if one["name"] in names and (one["stage"] == ALLOCATED or one["jobs"]):
            work = f"job {one['jobs'][0]} runs on it" if one["jobs"] else "it is allocated"
            raise Refusal(f"{one['name']}: {work}: a probe would take its bandwidth")
