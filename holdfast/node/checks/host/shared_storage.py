"""host.shared_storage: a mount that hangs blocks every process that uses it, so a child process asks."""

from dataclasses import replace

from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits

_KUBELET = "/kubelet/"


def judge(window: Window, limits: Limits) -> Verdict:
    """Listed file systems must be there; others are judged only while they are mounted: a pod's volumes come and go."""
    listed = window.inventory.expected("storage")
    if window.number(window.node, "storage_mounts") == 0 and not listed:
        return Verdict(
            rows=(Row(window.node, Health.PASS, 0.0),),
            evidence=("no shared file system is mounted and none is listed under shared_mounts",),
        )
    found = [storage for storage in window.values("storage_hung_seconds") if storage not in listed]
    rows = [_judge_storage(window, storage, limits) for storage in listed]
    rows += [_of_a_pod(_judge_storage(window, storage, limits)) for storage in found]
    return Verdict(rows=tuple(rows))


def _of_a_pod(row: Row) -> Row:
    """The author of a pod chooses the server of its volumes and can stop it: this must not take the node out of
    service. List file systems that the node needs under shared_mounts."""
    if row.health is not Health.FAIL or _KUBELET not in f"{row.subject}/":
        return row
    return replace(row, health=Health.DEGRADED, reason=f"{row.reason}; it is a volume of a pod")


def _judge_storage(window: Window, storage: Subject, limits: Limits) -> Row:
    limit = limits["answer_within_seconds"]
    hung = window.number(storage, "storage_hung_seconds")
    if hung is None:
        if storage in window.inventory.expect and window.number(window.node, "storage_mounts") is not None:
            return Row(storage, Health.FAIL, "not mounted", "mounted", "the manifest lists it, and it is not mounted")
        return Row(storage, Health.UNKNOWN, reason=window.why_absent(storage, "storage_hung_seconds"))
    if hung >= limit:
        return Row(storage, Health.FAIL, hung, limit, f"has not answered for {hung:.0f} s")
    if hung > 0:
        return Row(storage, Health.DEGRADED, hung, limit, f"has not answered for {hung:.1f} s yet")
    if error := window.value(storage, "storage_error"):
        return Row(storage, Health.FAIL, error, None, f"answers with an error: {error}")
    if window.number(storage, "storage_mounted") == 0:
        return Row(storage, Health.FAIL, "not mounted", "mounted", "is not mounted")
    took = window.number(storage, "storage_answer_seconds")
    if took is not None and took >= limits["slow_answer_seconds"]:
        reason = f"took {took:.1f} s to answer, {limits['slow_answer_seconds']:g} s is slow"
        return Row(storage, Health.DEGRADED, took, limits["slow_answer_seconds"], reason)
    return Row(storage, Health.PASS, took, limit)


CHECK = Check(
    name="host.shared_storage",
    asks="Does every shared file system answer within its deadline?",
    about="storage",
    part="shared_storage",
    reads=("storage_mounts",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="check the storage servers and the path to them; if only this client hangs, remount or reboot it",
    owner="storage",
    limits={"answer_within_seconds": 10.0, "slow_answer_seconds": 2.0},
)
