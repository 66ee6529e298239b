"""/proc/PID/cgroup -> the job a process belongs to."""

import re

_SLURM_JOB = re.compile(r"/job_(\d{1,12})(?:/|$)")
_SLURM_SCOPE = re.compile(r"slurm")
_POD = re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})")
_CONTAINER = re.compile(r"(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?:/|$)")


def slurm_job(text: str) -> str:
    """The Slurm job id of a process (v1 '/slurm/uid_0/job_7/step_0', v2 '.../slurmstepd.scope/job_7/...'), or ''."""
    for line in text.splitlines():
        if _SLURM_SCOPE.search(line) and (found := _SLURM_JOB.search(line)):
            return found[1]
    return ""


def pod(text: str) -> str:
    """The Kubernetes pod's uid with dashes (the systemd driver writes underscores), or ''."""
    found = _POD.search(text)
    return found[1].replace("_", "-") if found else ""


def container(text: str) -> str:
    """The container id, shortened as the container tools print it, or ''."""
    for line in text.splitlines():
        if found := _CONTAINER.search(line):
            return found[1][:12]
    return ""
