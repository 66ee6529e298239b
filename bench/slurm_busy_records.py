"""What Slurm's own logs say of every job start, compared with what the controller had decided of the node by then.

Starts and ends are lines of the slurmd logs. A repair step is compared with what `scontrol` showed of its node.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast.fleet.store import Store
from holdfast.model.lifecycle import EventKind, Stage
from holdfast.model.records import Transition

STARTED = re.compile(r"^\[(?P<at>[^\]]+)\] (?:Launching batch job|launch task StepId=)\s*(?P<job>\d+)")
NOT_STARTED = re.compile(r"do not launch StepId=(?P<job>\d+)\.")  # the request came while the prolog ran, which refused
# The line that slurmd writes right after a launch request of a job whose prolog has refused it: nothing is started.
REVOKED = re.compile(r"error: Invalid job credential from .*Job credential revoked$")
ENDED = re.compile(r"^\[(?P<at>[^\]]+)\] \[(?P<job>\d+)\.\w+\] done with job")
CLOSING = {EventKind.FAILED: "failed", EventKind.QUARANTINE: "quarantined", EventKind.REMOVE: "quarantined"}
FREE = ("IDLE+DRAIN", "DOWN")


@dataclass(frozen=True)
class Admitted:
    """One pass of the gate."""

    node: str
    job: str
    begin: float
    end: float


@dataclass(frozen=True)
class Closed:
    """From when to when a node was closed to new work, and why."""

    since: float
    until: float
    why: str


def figures(root: Path, database: Path, nodes: Iterable[str]) -> dict[str, Any]:
    store = Store.open(f"sqlite:///{database}")
    try:
        history = store.transitions(0.0, 1_000_000)
    finally:
        store.close()
    found: Counter[str] = Counter()
    violations: list[str] = []
    for node in nodes:
        own = [one for one in history if one.node == node]
        starts, ends = launches(root / f"slurmd.{node}.log")
        gate = answers(root / f"gate.{node}", node)
        found["starts"] += len(starts)
        found["refused_by_the_gate"] += sum(code >= 2 for _, code in gate)
        passed = {(one.job, round(one.end)): one for one, code in gate if code < 2}
        violations += judge_starts(node, starts, ends, list(passed.values()), own, found)
    repairs = (root / "repairs").read_text().splitlines() if (root / "repairs").exists() else []
    undrained = [line for line in repairs if not any(f"State={state}" in line for state in FREE)]
    reserved = [line for line in undrained if resumed_under_reservation(line)]
    found["repair_steps"] = len(repairs)
    found["repair_steps_resumed_by_hand_but_reserved"] = len(reserved)
    found["repair_steps_on_open_nodes"] = len(undrained) - len(reserved)
    violations += [line for line in undrained if line not in reserved]
    kinds = Counter(one.event.kind.value for one in history)
    seen = {f"events_{kind}": kinds[kind] for kind in ("failed", "held", "quarantine", "test_passed", "test_failed")}
    return dict(found) | seen | {"violations": violations}


def resumed_under_reservation(repair: str) -> bool:
    """The administrator resumed the node after it was closed for the step. Slurm shows it empty, and an active
    maintenance reservation of ours, under which it gives the node to no job."""
    shown, _, reservation = repair.partition(" | ")
    return "State=IDLE" in shown and "MAINT" in reservation and reservation.endswith("State=ACTIVE")


def judge_starts(
    node: str,
    starts: list[tuple[float, str]],
    ends: list[tuple[float, str]],
    passes: list[Admitted],
    history: list[Transition],
    found: Counter[str],
) -> list[str]:
    violations = []
    closed = closures(history)
    tests = [one.event.began for one in history if one.event.kind is EventKind.TEST_PASSED and one.after is Stage.READY]
    used: float | None = None
    for at, job in starts:
        asked = max((one.begin for one in passes if one.job == job and one.begin <= at), default=None)
        if asked is None:
            violations.append(f"{node}: job {job} started at {at:.3f} without the gate")
            asked = at
        found["starts_without_the_gate"] += asked == at
        for one in closed:
            if one.since < asked and at <= one.until:
                found[f"starts_on_{one.why}"] += 1
                violations.append(
                    f"{node}: job {job} asked at {asked:.3f}, started at {at:.3f}; {one.why} since {one.since:.3f}"
                )
            elif asked <= one.since < at:
                found["closed_between_gate_and_launch"] += 1
        before = max((end for end, _ in ends if end < at), default=used)
        if not any(began is not None and (before is None or before - 0.001 < began) and began < at for began in tests):
            found["starts_on_untested"] += 1
            violations.append(f"{node}: job {job} started at {at:.3f}; no test since its last job ended at {before}")
    return violations


def closures(history: list[Transition]) -> list[Closed]:
    """A node is closed from every failure, hold and quarantine until a test passes. Whether it is untested is judged by
    its tests and its jobs, not here."""
    found, since, why = [], 0.0, ""
    for one in history:
        kind, opened = one.event.kind, one.after is Stage.READY
        if opened and kind in (EventKind.TEST_PASSED, EventKind.PROMOTED):
            if why:
                found.append(Closed(since, one.at, why))
            why = ""
            continue
        new = CLOSING.get(kind, "held" if kind is EventKind.HELD and one.event.failed else "")
        if not new and one.after in (Stage.QUARANTINED, Stage.RESETTING):
            new = "quarantined"
        if new and not why:
            since = one.at
        why = new or why
    return [*found, Closed(since, float("inf"), why)] if why else found


def launches(log: Path) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
    """(when, job) of the first launch of each allocation, and of every end of a step."""
    starts: list[tuple[float, str]] = []
    ends: list[tuple[float, str]] = []
    running, asked = "", False
    for line in log.read_text(errors="replace").splitlines():
        if (seen := STARTED.match(line)) and seen["job"] != running:
            running, asked = seen["job"], "launch task" in line
            starts.append((stamp(seen["at"]), running))
            continue
        late = NOT_STARTED.search(line)
        if (asked and REVOKED.search(line)) or (late and starts and starts[-1][1] == late["job"]):
            starts.pop()
            running = ""
        elif seen := ENDED.match(line):
            ends.append((stamp(seen["at"]), seen["job"]))
            running = "" if line.find(".batch]") > 0 else running
        asked = False
    return starts, ends


def answers(file: Path, node: str) -> list[tuple[Admitted, int]]:
    found = []
    for line in file.read_text().splitlines() if file.exists() else ():
        begin, end, job, code = line.split()
        found.append((Admitted(node, job, float(begin), float(end)), int(code)))
    return found


def stamp(text: str) -> float:
    return datetime.fromisoformat(text).astimezone().timestamp()
