"""host.filesystem: a full, read-only or vanished local disk kills jobs at their next write."""

from holdfast.checks.check import Check, Limits
from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window


def judge(window: Window, limits: Limits) -> Verdict:
    rows = [_judge_mount(window, mount, limits) for mount in window.values("mount_mounted")]
    return Verdict(rows=tuple(row for row in rows if row))


def _judge_mount(window: Window, mount: Subject, limits: Limits) -> Row | None:
    if not window.number(mount, "mount_mounted"):
        return Row(mount, Health.FAIL, "not mounted", "mounted", "is not mounted: what is written there fills the root")
    meant_read_only = window.inventory.expect.get(mount, {}).get("mount_read_only") == 1
    if window.number(mount, "mount_read_only") and not meant_read_only:
        return Row(mount, Health.FAIL, "read-only", "writable", "is mounted read-only")
    rooms = {
        "space": window.number(mount, "mount_free_ratio"),
        "inodes": window.number(mount, "mount_inodes_free_ratio"),
    }
    known = {what: room for what, room in rooms.items() if room is not None}
    if not known:
        return None
    what, room = min(known.items(), key=lambda item: item[1])
    for health, limit in ((Health.FAIL, limits["fail_free_ratio"]), (Health.DEGRADED, limits["min_free_ratio"])):
        if room < limit:
            return Row(mount, health, room, limit, f"{room:.1%} of its {what} is free, at least {limit:.0%} wanted")
    return Row(mount, Health.PASS, room, limits["min_free_ratio"])


CHECK = Check(
    name="host.filesystem",
    asks="Is every local file system mounted, writable, and with room left?",
    about="mount",
    part="mount",
    reads=("mount_free_ratio", "mount_read_only"),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="free space or inodes; a disk gone read-only needs its kernel messages read before it is mounted again",
    owner="platform",
    limits={"min_free_ratio": 0.05, "fail_free_ratio": 0.01},
)
