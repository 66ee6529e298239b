"""Kernel messages about links: one that went down, or trained badly where sysfs does not report its state."""

from holdfast.model import subject
from holdfast.model.health import Health
from holdfast.model.signal import Event
from holdfast.model.subject import Subject, kind
from holdfast.model.verdict import Row
from holdfast.model.window import Window
from holdfast.node.checks.event_rows import describe_all, since

EVENT_SECONDS = 3600.0
_SPEED = "pci_link_speed_transfers_per_second"
_WORDS = {"down": "went down", "narrow": "trained with too few lanes", "slow": "trained too slow"}
_HARMLESS = ("", "info", "correctable")


def judge_events(window: Window, judged: list[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """Rows for devices that sysfs did not judge, and every such event as evidence.

    The state of a link is what sysfs says now: a card in a slot narrower than itself makes the kernel complain at each
    boot, and a link that trained again has no fault. A link that goes down is a loss and is reported at the port
    above.
    """
    events = [
        event
        for event in since(window, EVENT_SECONDS, "pcie_link")
        if event.code in _WORDS and event.severity not in _HARMLESS
    ]
    seen = {
        row.subject for row in judged if row.health is not Health.PASS or window.number(row.subject, _SPEED) is not None
    }
    latest: dict[Subject, Event] = {}
    for event in events:
        device = _device(window, event)
        if device not in seen and (device not in latest or latest[device].code != "down" or event.code == "down"):
            latest[device] = event
    return [_row(window, device, event) for device, event in latest.items()], describe_all(events, window.now)


def _row(window: Window, device: Subject, event: Event) -> Row:
    text = f"the kernel reported {_ago(window, event)} that its link {_WORDS[str(event.code)]} [{event.text}]"
    if event.code != "down":
        return Row(device, Health.DEGRADED, reason=text)
    if back := _below(window, device):
        return Row(device, Health.DEGRADED, reason=f"{text}; {', '.join(back)} below it has a link again")
    return Row(device, Health.FAIL, reason=text)


def _below(window: Window, port: Subject) -> list[str]:
    """Devices at the other end of a port's link that have a link now."""
    address = port.rpartition("/")[2]
    linked = window.values("pci_link_width_lanes")
    return [device.rpartition("/")[2] for device in linked if window.value(device, "pci_parent") == address]


def _device(window: Window, event: Event) -> Subject:
    if kind(event.subject) == "pci" or not event.device:
        return event.subject or window.node
    return subject.pci(window.inventory.node, event.device)


def _ago(window: Window, event: Event) -> str:
    return f"{max(window.now - event.at, 0.0) / 60:.0f} min ago"
