"""host.filesystem: a full, read-only or vanished local disk kills jobs at their next write."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits

READ_ONLY = "drain the node; read the kernel log for the error behind it, then repair or replace the disk"
MOUNT = "mount it again before a job starts here; if that fails, the kernel log says why"


def judge(window: Window, limits: Limits) -> Verdict:
    mounts = list(window.values("mount_mounted"))
    rows = [_judge_mount(window, mount, limits) for mount in mounts]
    evidence = [
        f"{local_name(mount)} is read-only, apparently on purpose: its free space is not evaluated"
        for mount in mounts
        if window.number(mount, "mount_read_only") and not _read_only_is_wrong(window, mount)
    ]
    found = tuple(row for row in rows if row)
    return Verdict(rows=found, evidence=tuple(evidence), remedy=_remedy(found))


def _remedy(rows: tuple[Row, ...]) -> str:
    """A disk that went read-only comes first: it may be dying."""
    wrong = {row.value for row in rows if row.health is Health.FAIL}
    return READ_ONLY if "read-only" in wrong else MOUNT if "not mounted" in wrong else ""


def _judge_mount(window: Window, mount: Subject, limits: Limits) -> Row | None:
    if not window.number(mount, "mount_mounted"):
        return Row(mount, Health.FAIL, "not mounted", "mounted", "is not mounted: writes there fill the root")
    if window.number(mount, "mount_read_only"):
        if why := _read_only_is_wrong(window, mount):
            return Row(mount, Health.FAIL, "read-only", "writable", f"is mounted read-only: {why}")
        return Row(mount, Health.PASS, "read-only")  # a disk image is always full
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
            return Row(
                mount,
                health,
                room,
                limit,
                f"{100 * room:.1f} % of its {what} is free, at least {100 * limit:.0f} % required",
            )
    return Row(mount, Health.PASS, room, limits["min_free_ratio"])


def _read_only_is_wrong(window: Window, mount: Subject) -> str:
    """Why a read-only file system is a fault, or ''. The manifest takes precedence."""
    meant = window.inventory.expect.get(mount, {}).get("mount_read_only")
    if meant is not None:
        return "" if meant else "the manifest says that it is writable"
    return str(window.value(mount, "mount_read_only_fault") or "")


CHECK = Check(
    name="host.filesystem",
    asks="Is every local file system mounted, writable and not full?",
    about="mount",
    part="mount",
    reads=("mount_free_ratio", "mount_read_only"),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="free space or inodes: delete files that ended jobs left there",
    owner="platform",
    limits={"min_free_ratio": 0.05, "fail_free_ratio": 0.01},
)
