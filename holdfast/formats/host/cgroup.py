"""/proc/PID/cgroup -> the job a process belongs to."""

import re

_SLURM_JOB = re.compile(r"/job_(\d{1,12})(?:/|$)")
_SLURM_SCOPE = re.compile(r"slurm")
_POD = re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})")
_CONTAINER = re.compile(r"(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?:/|$)")


def _of_the_system(line: str) -> str:
    """The path down to the slice of the users: below it, a user names groups at will (systemd delegates them)."""
    return line.partition("/user.slice/")[0]


def slurm_job(text: str) -> str:
    """The Slurm job id of a process (v1 '/slurm/uid_0/job_7/step_0', v2 '.../slurmstepd.scope/job_7/...'), or ''."""
    for line in text.splitlines():
        ours = _of_the_system(line)
        if _SLURM_SCOPE.search(ours) and (found := _SLURM_JOB.search(ours)):
            return found[1]
    return ""


def pod(text: str) -> str:
    """The Kubernetes pod's uid with dashes (the systemd driver writes underscores), or ''."""
    found = next(filter(None, map(_POD.search, map(_of_the_system, text.splitlines()))), None)
    return found[1].replace("_", "-") if found else ""


def container(text: str) -> str:
    """The container id, shortened as the container tools print it, or ''."""
    for line in text.splitlines():
        if found := _CONTAINER.search(line):
            return found[1][:12]
    return ""
