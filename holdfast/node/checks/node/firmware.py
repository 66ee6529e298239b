"""node.firmware: versions and settings that drifted from the manifest, or that differ among equal parts of one node."""

from collections import Counter
from collections.abc import Iterator

from holdfast.model.health import FailureClass, Health
from holdfast.model.manifest import is_drift
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits

_ALIKE = (  # parts with the same make should carry the same firmware
    ("gpu", "gpu_model", "gpu_vbios_version"),
    ("nic", "port_board_id", "port_firmware_version"),
)


def judge(window: Window, limits: Limits) -> Verdict:
    rows = [*_against_manifest(window), *_among_equals(window)]
    if not any(row.subject == window.node for row in rows):
        driver = window.value(window.node, "driver_version")
        rows.append(Row(window.node, Health.PASS, driver))
    alone = "no manifest: parts of this node were compared only with each other"
    return Verdict(rows=tuple(rows), evidence=() if window.inventory.expect else (alone,))


def _against_manifest(window: Window) -> Iterator[Row]:
    """One row per subject that differs or cannot be read."""
    for subject, wanted in window.inventory.expect.items():
        differ, unread = [], []
        for name in sorted(filter(is_drift, wanted)):
            value = window.value(subject, name)
            if value is None:
                unread.append(window.why_absent(subject, name))
            elif value != wanted[name]:
                differ.append(f"{name} is {value}, the manifest says {wanted[name]}")
        if differ:
            yield Row(subject, Health.DEGRADED, reason="; ".join(differ))
        elif unread:
            yield Row(subject, Health.UNKNOWN, reason="; ".join(dict.fromkeys(unread)))


def _among_equals(window: Window) -> Iterator[Row]:
    for kind, make, version in _ALIKE:
        groups: dict[str, dict[Subject, str]] = {}
        for subject in window.inventory.expected(kind):
            values = window.value(subject, make), window.value(subject, version)
            reported = version in window.inventory.expect.get(subject, {})
            if all(isinstance(value, str) for value in values) and not reported:
                groups.setdefault(str(values[0]), {})[subject] = str(values[1])
        for versions in groups.values():
            yield from _odd_ones(version, versions)


def _odd_ones(name: str, versions: dict[Subject, str]) -> Iterator[Row]:
    """Those without the most common version. Where two are equally common, all are reported."""
    common = Counter(versions.values()).most_common()
    if len(common) < 2:
        return
    tied = common[0][1] == common[1][1]
    for subject, version in versions.items():
        if tied or version != common[0][0]:
            others = sorted({other for other in versions.values() if other != version}) if tied else [common[0][0]]
            reason = f"{name} is {version}, equal parts of this node have {', '.join(others)}"
            yield Row(subject, Health.DEGRADED, version, others[0], reason)


CHECK = Check(
    name="node.firmware",
    asks="Do driver, firmware and settings match the manifest and the node's other parts?",
    about="node",
    part="gpu",
    reads=("driver_version",),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="install the fleet's version before the node takes work; if it is intended, run holdfast node learn",
    owner="platform",
)
