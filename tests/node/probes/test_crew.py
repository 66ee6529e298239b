"""Workers on hosts: who cannot take part spoils nothing for the others, and no one outlives the one who asked."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.isolation.isolation import Measured
from holdfast.node.probes.sweep.crew import Crew, SweepWorker
from holdfast.node.probes.sweep.pairs import Pairs
from tests.ports import free_port
from tests.waiting import alive, until

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
BIN = Path(sys.executable).parent
EXCHANGE = {
    "backend": "gloo",
    "operation": "all_reduce",
    "sizes": [1024],
    "budget_seconds": 0.05,
    "longest_seconds": 60.0,
    "spoil": None,
}
GREETS = ("sh", "-c", 'echo 5; echo "[1]"; printf "\\377\\n"; "$@"; true', "sh")  # and stays, as ssh does


def worker_of(process: int) -> int:
    """The Python below a shell, or 0."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
            command = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(words[1]) == process and words[0] != "Z" and b"holdfast.node.probes.sweep.worker" in command:
            return int(path.parent.name)
    return 0


@needs_torch
@pytest.mark.slow
def test_a_group_that_could_not_form_leaves_nothing_that_a_later_one_trips_over():
    hosts = [Host("a", "127.0.0.1", launch=GREETS), Host("b", "127.0.0.1"), Host("elsewhere", "192.0.2.1")]
    with Crew(hosts) as crew:
        assert crew.muster() == ["a", "b", "elsewhere"]
        crew.begin(["a", "elsewhere"], {**EXCHANGE, "timeout_seconds": 3.0})
        waited, lost = crew.finish(["a", "elsewhere"], 60.0)
        assert "no interface" in lost["error"] and "error" in waited
        crew.begin(["a", "b"], {**EXCHANGE, "timeout_seconds": 60.0})
        answers = crew.finish(["a", "b"], 60.0)
        assert [answer["rows"][0]["wrong"] for answer in answers] == [False, False]
        crew.begin(["elsewhere", "a"], {**EXCHANGE, "timeout_seconds": 60.0})
        assert all("cannot listen on 192.0.2.1" in answer["error"] for answer in crew.finish(["elsewhere", "a"], 60.0))
        shell = crew.workers["a"]._process.pid
        left = worker_of(shell)
        crew.workers["a"].ask(
            {"do": "exchange", "id": 9, "rank": 1, "world": 2, "master": "127.0.0.1:9", "address": ""}
        )
    assert left
    until(lambda: not alive(left), "it ends with its shell")


@needs_torch
@pytest.mark.slow
def test_processes_of_torchrun_are_the_workers_and_the_first_reports():
    port = str(free_port())
    words = [
        "--nnodes",
        "2",
        "--nproc-per-node",
        "1",
        "--master-addr",
        "127.0.0.1",
        "--master-port",
        port,
        "--no-python",
    ]
    probe = ["probe", "run", "--torchrun", "--largest", "64", "--pair-bytes", "4KiB", "--json"]
    nodes = [
        subprocess.Popen(
            [str(BIN / "torchrun"), "--node-rank", str(number), *words, str(BIN / "holdfast"), *probe],
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in (0, 1)
    ]
    (reported, errors), (nothing, _) = (node.communicate(timeout=240) for node in nodes)
    assert reported, errors
    document = json.loads(reported)
    assert (document["ranks"], len(document["hosts"]), len(document["pairs"]), nothing) == (2, 2, 2, "")
    assert {row["correct"] for row in document["sweep"]} == {True}
    assert nodes[1].returncode == 0


def pairs_of(names, failed):
    """Real workers that said nothing yet; pairs that failed and, of the others, those that met."""
    crew = Crew([])
    crew.workers = {name: SweepWorker(Host(name, launch=("true",)), "") for name in names}
    found = Pairs(crew, {"sizes": [8]}, 1.0, dict.fromkeys(names, 1))
    for one, other in [(one, other) for one in names for other in names if one < other]:
        if failed(one, other):
            found.rows.append({"one": one, "other": other, "error": "timed out"})
        else:
            found.measured.append(Measured(one, other, 1e9))
    found._note_unable(names)
    return {name for name, worker in crew.workers.items() if worker.trouble}


def test_who_meets_no_one_while_the_others_meet_has_its_own_trouble():
    assert pairs_of("abcd", lambda one, other: "c" in (one, other)) == {"c"}
    assert pairs_of("abcd", lambda one, other: "c" in (one, other) or "d" in (one, other)) == {"c", "d"}
    assert pairs_of("abcd", lambda one, other: (one, other) == ("a", "c")) == set()
    assert pairs_of("ab", lambda one, other: True) == set()
