"""Drains a Slurm node with our own reason before the gate refuses. Loaded only when it refuses.

Slurm drains a node whose prolog fails, with the reason "Prolog error", unless it is already drained: so we drain first.
This code never overwrites another's reason and never resumes a node.
"""

import os
import re
import subprocess
from collections.abc import Mapping

from holdfast.formats.slurm.fields import ONE_NODE, note, ours, plain, unstamped
from holdfast.runtime import process

TIMEOUT = 5.0  # seconds for one scontrol; a slow slurmctld must not hang every prolog
FALLBACK_PATH = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/usr/sbin")  # Slurm gives its scripts no PATH
OUT_OF_SERVICE = ("DRAIN", "DOWN", "FAIL")


class DrainFailed(Exception):
    """scontrol did not drain the node; the message says why."""


def node_of_prolog(environ: Mapping[str, str]) -> str:
    """This node's Slurm name, if slurmd runs us as prolog or health check; '' inside a user's task or elsewhere."""
    if "SLURM_PROCID" in environ:
        return ""
    return environ.get("SLURMD_NODENAME", "")


def drain(node: str, reason: str) -> str:
    """Drain `node` unless it is already out of service; returns the result as a clause for people."""
    if not ONE_NODE.fullmatch(node) or node.upper() == "ALL":
        return f"not drained: {node!r} is not the name of one node"
    try:
        scontrol = _find("scontrol", os.environ.get("PATH", ""))
        state, found = read_node(_ask(scontrol, "show", "node", node))
        if out_of_service(state) and found:
            whose = "by us" if ours(found) else "with a reason that is not ours, which stays"
            return f"{node} is already out of service {whose}: {found}"
        words = note("", reason)
        _ask(scontrol, "update", f"nodename={node}", "state=drain", f"reason={words}")
    except DrainFailed as error:
        return f"not drained: {error}"
    return f"drained {node} with the reason {words!r}"


def read_node(shown: str) -> tuple[str, str]:
    """State and reason from `scontrol show node`."""
    state = re.search(r"\bState=(\S+)", shown)
    reason = re.search(r"^\s*Reason=(.*)$", shown, re.MULTILINE)
    if state is None:
        raise DrainFailed("scontrol did not report the node's state")
    return state[1], unstamped(reason[1].strip())[0] if reason else ""


def out_of_service(state: str) -> bool:
    return any(flag.startswith(OUT_OF_SERVICE) for flag in re.split(r"[+*]", state))


def _find(name: str, path: str) -> str:
    for folder in (*filter(None, path.split(os.pathsep)), *FALLBACK_PATH):
        candidate = os.path.join(folder, name)
        if os.access(candidate, os.X_OK):
            return candidate
    raise DrainFailed(f"{name} is not installed here")


def _ask(*command: str) -> str:
    try:
        done = process.capture(command, TIMEOUT)
    except subprocess.TimeoutExpired:
        raise DrainFailed(f"scontrol {command[1]} did not answer within {TIMEOUT:g} s") from None
    except OSError as error:
        raise DrainFailed(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        message = plain((done.stderr or done.stdout).decode(errors="replace"))[:200]
        raise DrainFailed(f"scontrol {command[1]}: {message}")
    return done.stdout.decode(errors="replace")
