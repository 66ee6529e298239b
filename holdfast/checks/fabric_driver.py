"""fabric.driver: does the driver of a network adapter report that the adapter is failing?"""

from holdfast.checks.check import Check, Limits
from holdfast.checks.event_rows import since, tell, total
from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window


def judge(window: Window, limits: Limits) -> Verdict:
    events = [event for event in since(window, limits["forget_seconds"], "mlx5") if event.severity != "info"]
    fatal = [event for event in events if event.severity == "fatal"]
    unplugged = _still_unplugged(since(window, limits["forget_seconds"], "mlx5"))
    warnings = [event for event in events if event.code not in ("module_unplugged", "access_register_failed")]
    if fatal:
        row = Row(window.node, Health.FAIL, total(fatal), 0, _reason(fatal))
    elif warnings or unplugged:
        row = Row(window.node, Health.DEGRADED, total(warnings + unplugged), 0, _reason(warnings + unplugged))
    else:
        row = Row(window.node, Health.PASS, 0, 0)
    return Verdict(rows=(row,), evidence=tell(events, window.now))


def _still_unplugged(events: list[Event]) -> list[Event]:
    last: dict[tuple[str, object], Event] = {}
    for event in events:
        if event.code in ("module_plugged", "module_unplugged"):
            last[event.device, event.detail.get("module")] = event
    return [event for event in last.values() if event.code == "module_unplugged"]


def _reason(events: list[Event]) -> str:
    last = events[-1]
    devices = ", ".join(dict.fromkeys(event.device for event in events))
    return f"{devices}: {str(last.code).replace('_', ' ')} [{last.text}]"


CHECK = Check(
    name="fabric.driver",
    asks="Does the driver of a network adapter report that the adapter is failing?",
    about="node",
    part="fabric",
    reads=("kmsg_records_total",),
    hears=("mlx5",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="drain the node and restart it; if it comes back, inspect adapter, module, cable and the power of its slot",
    owner="network",
    span=86400.0,
    limits={"forget_seconds": 86400.0},
)
