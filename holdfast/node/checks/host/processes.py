"""host.processes: a process that waits in the kernel for minutes cannot be killed, and its device is broken."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks import single_reading
from holdfast.node.checks.check import Check, Limits

_ONE_READING = "one reading: how long processes wait is not judged"
_DRIVER = ("nvidia", "nv-")  # programs that wait for nothing but the GPU driver


def judge(window: Window, limits: Limits) -> Verdict:
    node = window.node
    stuck, seconds = window.number(node, "host_processes_stuck"), window.number(node, "host_process_stuck_seconds")
    zombies = window.number(node, "host_processes_zombie")
    if stuck is None or seconds is None or zombies is None:
        return Verdict(rows=())
    name = str(window.value(node, "host_process_stuck_name") or "a process")
    evidence: tuple[str, ...] = (f"{stuck:.0f} processes wait in the kernel, {zombies:.0f} are zombies",)
    caveat = "" if single_reading.seconds_seen(window.runs(node, "host_processes_zombie")) else _ONE_READING
    evidence += (caveat,) if caveat else ()
    limit = limits["max_stuck_seconds"]
    if seconds >= limit:
        by_driver = name.startswith(_DRIVER)
        health = Health.FAIL if by_driver else Health.DEGRADED
        reason = f"{name}: blocked in the kernel for {seconds:.0f} s" + (": the driver hangs" if by_driver else "")
        return Verdict(rows=(Row(node, health, seconds, limit, reason),), evidence=evidence)
    if zombies > limits["max_zombies"]:
        reason = f"{zombies:.0f} zombie processes, at most {limits['max_zombies']:.0f} allowed"
        remedy = "find the parent that does not wait for its children, and restart it"
        row = Row(node, Health.DEGRADED, zombies, limits["max_zombies"], reason)
        return Verdict(rows=(row,), evidence=evidence, remedy=remedy)
    return Verdict(rows=(Row(node, Health.PASS, seconds, limit, caveat),), evidence=evidence)


CHECK = Check(
    name="host.processes",
    asks="Does any process hang in the kernel, and do zombies pile up?",
    about="node",
    part="host",
    reads=("host_processes_stuck", "host_process_stuck_seconds", "host_processes_zombie"),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="read the process's kernel stack (/proc/PID/stack) to see if it waits for storage or a driver; then reboot",
    owner="platform",
    limits={"max_stuck_seconds": 300.0, "max_zombies": 200.0},
)
