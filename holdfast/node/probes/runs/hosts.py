"""Hosts of a probe run. Hosts with a running job are refused; a job may probe its own nodes."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from holdfast.client.client import connect
from holdfast.formats.slurm import hostlist
from holdfast.model.refusal import Refusal
from holdfast.node.probes.isolation.hosts import Host, HostsError, parse
from holdfast.runtime import process

STATES = "RUNNING,CONFIGURING,COMPLETING,SUSPENDED,STOPPED"
SQUEUE_SECONDS = 30.0
ALLOCATED = "allocated"


def chosen_hosts(file: str, slurm: str, local: int) -> list[Host]:
    if sum(map(bool, (file, slurm, local))) != 1:
        raise Refusal("expected exactly one of --hosts FILE, --slurm HOSTLIST and --local COUNT, or --nodes HOSTLIST")
    if local:
        if not 2 <= local <= 64:
            raise Refusal(f"--local: expected 2 to 64 processes, found {local}")
        return [Host(f"local{number}", "127.0.0.1") for number in range(local)]
    if slurm:
        return _slurm_hosts(slurm)
    try:
        hosts = parse(Path(file).read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: the list of hosts cannot be read: {error}") from None
    except HostsError as error:
        raise Refusal(str(error)) from None
    _refuse_allocated_in_controller([host.name for host in hosts])
    return hosts


def _slurm_hosts(names_text: str) -> list[Host]:
    """Hosts of Slurm. Each worker is a step: inside an allocation in parallel to its other steps, otherwise with its
    own allocation of one node."""
    try:
        names = hostlist.expand(names_text)
    except ValueError as error:
        raise Refusal(f"--slurm: {error}") from None
    if len(names) < 2:
        raise Refusal(f"--slurm: expected two hosts or more, found {names_text!r}")
    _refuse_allocated_in_slurm(names)
    return [Host(name, launch=("srun", "--quiet", "-N1", "-n1", "--overlap", "-w", name)) for name in names]


def _refuse_allocated_in_slurm(names: Sequence[str]) -> None:
    command = ["squeue", "--noheader", f"--nodelist={','.join(names)}", f"--states={STATES}", "--format=%A|%u|%N"]
    try:
        done = process.capture(command, SQUEUE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refusal(f"--slurm: squeue cannot be run to see which jobs use these nodes: {error}") from None
    if done.returncode:
        error_text = next(iter(done.stderr.decode(errors="replace").strip().splitlines()), "no message")
        raise Refusal(f"--slurm: squeue refused {','.join(names)}: {error_text}")
    for line in done.stdout.decode(errors="replace").splitlines():
        job, user, where = (line.split("|", 2) + ["", ""])[:3]
        taken = sorted(set(names) & set(_expanded(where)))
        if taken and job != os.environ.get("SLURM_JOB_ID"):
            raise Refusal(f"{taken[0]} is allocated to job {job} of {user}: a probe would take its bandwidth")


def _expanded(names: str) -> list[str]:
    try:
        return hostlist.expand(names)
    except ValueError:
        return []


def _refuse_allocated_in_controller(names: Sequence[str]) -> None:
    """Refuses hosts that run work according to the controller of $HOLDFAST_URL; without a controller it is unknown."""
    if not os.environ.get("HOLDFAST_URL"):
        return
    for one in connect("", "").get("/v1/nodes")["nodes"]:
        if one["name"] in names and (one["stage"] == ALLOCATED or one["jobs"]):
            work = f"job {one['jobs'][0]} runs on it" if one["jobs"] else "it is allocated"
            raise Refusal(f"{one['name']}: {work}: a probe would take its bandwidth")
