"""host.oom: has the kernel killed processes because memory ran out?"""

from holdfast.checks.check import Check, Limits
from holdfast.checks.event_rows import counted, since, tell, total
from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window


def judge(window: Window, limits: Limits) -> Verdict:
    """A job over its own limit is the job's matter; a host without memory is a matter of the node."""
    events = since(window, limits["forget_seconds"], "oom")
    host = [event for event in events if event.code == "host"]
    in_groups = total(events) - total(host)
    victims = ", ".join(dict.fromkeys(str(event.detail.get("process", "?")) for event in host))
    if host:
        reason = f"the host ran out of memory and the kernel killed {counted(total(host), 'process')} ({victims})"
        row = Row(window.node, Health.DEGRADED, total(host), 0, reason)
    else:
        row = Row(window.node, Health.PASS, 0, 0, f"{in_groups} kills within job limits" if in_groups else "")
    return Verdict(rows=(row,), evidence=tell(events, window.now))


CHECK = Check(
    name="host.oom",
    asks="Has the kernel killed processes because the host ran out of memory?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    hears=("oom",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="look at what used the memory; give jobs memory limits so that one cannot take the host's",
    owner="platform",
    span=86400.0,
    limits={"forget_seconds": 3600.0},
)
