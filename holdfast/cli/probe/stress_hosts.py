"""`holdfast probe stress --hosts`: the same load on many hosts at once, and who lags behind the median of them all."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.stress.run import Speed, against_median

MAIN = "from holdfast.cli import main; main()"
GENEROUS_SECONDS = 300.0  # for a cold torch and what stands around the load
LONGEST_SAYING = 300


def run(hosts: Sequence[Host], words: Sequence[str], seconds: float) -> tuple[list[Speed], list[Any], dict[str, str]]:
    """Speeds of all devices, what surfaced anywhere, and who could not take part and why."""
    found: list[Speed] = []
    surfaced: list[Any] = []
    troubles: dict[str, str] = {}
    with _started(hosts, words) as processes:
        for name, process in processes.items():
            document, trouble = _answer(process, seconds + GENEROUS_SECONDS)
            if trouble:
                troubles[name] = trouble
                continue
            found += [
                Speed(one["subject"], one["first_turns_per_second"], one["last_turns_per_second"], 0.0)
                for one in document["devices"]
            ]
            surfaced += document["surfaced"]
            troubles |= document["unheard"]
    return against_median(found), surfaced, troubles


@contextmanager
def _started(hosts: Sequence[Host], words: Sequence[str]) -> Iterator[dict[str, "subprocess.Popen[str]"]]:
    """Their own workers end with them."""
    processes: dict[str, subprocess.Popen[str]] = {}
    try:
        for host in hosts:
            command = [*host.launch, "env", f"HOLDFAST_NODE={host.name}", sys.executable, "-c", MAIN, *words]
            processes[host.name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        yield processes
    finally:
        for process in processes.values():
            if process.poll() is None:
                process.terminate()
            process.wait()


def _answer(process: "subprocess.Popen[str]", patience: float) -> tuple[dict[str, Any], str]:
    try:
        out, errors = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return {}, f"set-up failed: no answer within {patience:.0f} s"
    try:
        document: dict[str, Any] = json.loads(out)
    except ValueError:
        said = next((line for line in reversed(errors.splitlines()) if line.strip()), "it said nothing")
        return {}, f"set-up failed: {said.strip()[:LONGEST_SAYING]}"
    return document, ""
