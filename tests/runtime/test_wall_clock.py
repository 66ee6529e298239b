"""The machine's clock may be set back a day: what decides by time asks a clock that does not step."""

import ast
from collections import Counter

from tests.source import modules

DECIDES = ("fleet/", "node/", "supervisor/", "client/", "runtime/", "training/", "serving/")
WALL = ("time.time", "datetime.now", "datetime.utcnow", "datetime.datetime.now", "date.today")

ALLOWED = {
    # The clocks themselves.
    "runtime/clock.py": 0,
    "node/agent/clock.py": 2,
    # Dates that people and other programs compare with their own clocks.
    "client/watch.py": 2,
    "fleet/controller/operators/drill_player.py": 1,
    "fleet/notifications/alertmanager.py": 1,
    "fleet/standalone/summary.py": 1,
    "fleet/standalone/up.py": 1,
    "node/agent/daemon.py": 1,
    "node/capture/collect.py": 2,
    "node/probes/runs/baseline.py": 1,
    # Compared with the times of files, of the kernel's log and of a job's log, which follow the machine's clock.
    "node/agent/doctor.py": 1,
    "supervisor/evidence/capture.py": 1,
    "supervisor/hardware/agent_verdicts.py": 1,
    "supervisor/hardware/hardware.py": 2,
    "supervisor/hardware/suspicion.py": 2,
    "supervisor/here.py": 2,
    "supervisor/loop.py": 1,
    "supervisor/probe.py": 1,
    # Compared with the times of a device, or sent to an agent that has its own clock.
    "fleet/controller/seams/facility.py": 1,
    "fleet/policy/replay.py": 1,
    "training/guard/guard.py": 1,
    "training/progress/progress.py": 2,
    "training/progress/sender.py": 1,
}


def uses(tree: ast.Module) -> int:
    calls = (ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sum(name in WALL for name in calls)


def test_what_decides_by_time_does_not_ask_the_machines_clock() -> None:
    found = Counter[str]()
    for path, tree in modules(holding=WALL, below=DECIDES):
        found[path] += uses(tree)
    more = {path: many for path, many in found.items() if many > ALLOWED.get(path, 0)}
    assert more == {}, "use holdfast.runtime.clock.now or time.monotonic; a date for others belongs into ALLOWED"
    assert {path for path, many in ALLOWED.items() if found[path] < many} == set(), "ALLOWED has more than there is"


def test_no_comparison_asks_the_machines_clock() -> None:
    """`time.time() > until` in one expression is a timer, wherever it stands."""
    found = set()
    for path, tree in modules(holding=WALL):
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and any(f"{name}(" in ast.unparse(node) for name in WALL):
                found.add(f"{path}:{node.lineno}")
    assert found == set()
