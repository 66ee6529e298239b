"""fabric.driver: does the driver of a network adapter report that the adapter is failing?"""

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import Grade, code_and_text, node_verdict, since
from holdfast.node.checks.fabric.rdma_ports import expected_ports

_KINDS = ("mlx5", "nic")  # NVIDIA's adapters, and those of other makes
_OF_A_CABLE = ("module_unplugged", "module_error")  # ignored for ports that have no cable by design
_ONLY_EVIDENCE = ("access_register_failed", "insufficient_power", "completion_error")  # a sound adapter says so too


def judge(window: Window, limits: Limits) -> Verdict:
    recent = since(window, limits["forget_seconds"], *_KINDS)
    events = [event for event in recent if event.severity != "info"]
    wanted = _adapters_with_expected_ports(window)
    replugged = _plugged_again(recent)
    warnings = [
        event
        for event in events
        if event.code not in _ONLY_EVIDENCE
        and (event.code not in _OF_A_CABLE or event.device in wanted)
        and not (event.code == "module_unplugged" and event.at <= replugged.get(_module(event), float("-inf")))
    ]
    fatal = [event for event in events if event.severity == "fatal"]
    return node_verdict(
        window,
        events,
        Grade(Health.FAIL, fatal, code_and_text),
        Grade(Health.DEGRADED, warnings, code_and_text),
    )


def _adapters_with_expected_ports(window: Window) -> set[str]:
    """Adapters with expected ports, by PCI address as in the driver's messages.

    The driver also reports unused cages.
    """
    ports = expected_ports(window)
    reported = {str(window.value(port, "port_pci_address") or "") for port in ports}
    known = {address for address, subject in window.inventory.by_device.items() if subject in ports}
    return (reported | known) - {""}


def _module(event: Event) -> tuple[str, object]:
    return event.device, event.detail.get("module")


def _plugged_again(events: list[Event]) -> dict[tuple[str, object], float]:
    return {_module(event): event.at for event in events if event.code == "module_plugged"}


CHECK = Check(
    name="fabric.driver",
    asks="Does the driver of a network adapter report that the adapter is failing?",
    about="node",
    part="fabric",
    reads=("kmsg_records_total",),
    event_kinds=_KINDS,
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="drain the node and reboot it; if the error returns, inspect adapter, module, cable and slot power",
    owner="network",
    span=86400.0,
    limits={"forget_seconds": 86400.0},
)
