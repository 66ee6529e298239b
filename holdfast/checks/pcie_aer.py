"""pcie.aer: errors the PCI Express hardware reports about itself (Advanced Error Reporting)."""

from holdfast.checks.check import Check, Limits
from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window, increase

_FATAL, _NONFATAL, _CORRECTABLE = (f"pci_aer_{kind}_total" for kind in ("fatal", "nonfatal", "correctable"))
_MINUTE = 60.0


def judge(window: Window, limits: Limits) -> Verdict:
    totals = {name: window.values(name) for name in (_FATAL, _NONFATAL, _CORRECTABLE)}
    devices = [device for device in totals[_FATAL] if device in totals[_NONFATAL] or device in totals[_CORRECTABLE]]
    rows = tuple(_judge_device(window, device, limits) for device in devices)
    crash = any(row.health is Health.FAIL for row in rows)
    return Verdict(
        rows=rows,
        evidence=_since_boot(totals),
        failure_class=FailureClass.CRASH if crash else FailureClass.SLOWDOWN,
    )


def _judge_device(window: Window, device: Subject, limits: Limits) -> Row:
    minutes = window.span / _MINUTE
    fatal, nonfatal, correctable = (increase(window.runs(device, name)) for name in (_FATAL, _NONFATAL, _CORRECTABLE))
    if fatal > 0:
        return Row(device, Health.FAIL, fatal, 0.0, f"{fatal:.0f} fatal PCIe errors in {minutes:.0f} min")
    if nonfatal >= 1:
        health = Health.FAIL if nonfatal >= limits["fail_nonfatal"] else Health.DEGRADED
        reason = f"{nonfatal:.0f} uncorrectable (non-fatal) PCIe errors in {minutes:.0f} min"
        return Row(device, health, nonfatal, limits["fail_nonfatal"], reason)
    rate = correctable / minutes
    if rate > limits["correctable_per_minute"]:
        limit = limits["correctable_per_minute"]
        reason = f"{rate:.1f} corrected PCIe errors a minute, limit {limit:g}"
        return Row(device, Health.DEGRADED, round(rate, 2), limit, reason)
    return Row(device, Health.PASS, fatal, 0.0)


def _since_boot(totals: dict[str, dict[Subject, float]]) -> tuple[str, ...]:
    words = {_FATAL: "fatal", _NONFATAL: "non-fatal", _CORRECTABLE: "corrected"}
    return tuple(
        f"{local_name(device)}: {count:.0f} {words[name]} errors since boot"
        for name, by_device in totals.items()
        for device, count in by_device.items()
        if count
    )


CHECK = Check(
    name="pcie.aer",
    asks="Does any GPU, NIC, drive or switch port report PCI Express errors?",
    about="pci",
    part="pci",
    reads=(_FATAL, _NONFATAL, _CORRECTABLE),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="reseat the card, the riser or the cable at the named address; replace it if the errors return",
    owner="hardware",
    span=900.0,
    limits={"fail_nonfatal": 10.0, "correctable_per_minute": 10.0},
    hears=("aer",),
)
