"""gpu.xid: has the driver reported an error of a GPU that needs more than a restart of the program?

NVIDIA's driver numbers its errors (Xid); amdgpu prints them as text, which the catalog of kernel messages lists.
"""

from dataclasses import replace

from holdfast.catalog import xid as catalog
from holdfast.model.event_log import processes
from holdfast.model.health import FailureClass, Health, worst
from holdfast.model.lifecycle import Verb
from holdfast.model.signal import Event
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import describe_all, since
from holdfast.node.checks.gpu.place import subject_of
from holdfast.node.checks.kernel_gap import GAP, lost_messages
from holdfast.node.checks.remedies import with_amd_tools

REMEDIES = {
    "replace_gpu": "drain the node and replace the GPU: too many pages of its memory are bad",
    "restart_node": "drain the node and reboot it; if the error returns, inspect the hardware",
    "drain_and_reset": "let running work end, then reset the GPU",
    "reset_gpu": "drain the node and reset the GPU (nvidia-smi --gpu-reset), then test it again",
    "contact_support": "drain the node, collect nvidia-bug-report.sh and open a case with the vendor",
    "check_hardware": "check the GPU's power cables and seating",
    "check_cooling": "drain the node; check its fans or coolant flow, and the heat sink of the GPU",
    "check_gpu_links": "drain the node and reset all GPUs together; if the error returns, inspect baseboard and bridge",
    "restart_vm": "restart the virtual machine",
    "drain_p2p": "move peer-to-peer work off this GPU, then reset it",
    "reset_gpu_when_idle": "reset the GPU when its work has ended; the replaced memory row is used from then on",
    "update_software": "update driver and firmware",
    "check_uvm_setting": "check the unified memory settings of the driver",
    "follow_xid_154": "follow the recovery action the driver names with Xid 154",
    "restart_app": "restart the program; if it happens on this GPU with other programs too, test the GPU",
}
"""What to do, gravest first."""
REPAIRS = {
    "replace_gpu": Verb.INSPECT,
    "check_hardware": Verb.INSPECT,
    "check_cooling": Verb.INSPECT,
    "restart_node": Verb.REBOOT,
    "restart_vm": Verb.REBOOT,
}
"""The first repair step that can help, gravest first; else a reset. A GPU that left the bus cannot be reset."""
OWNERS = {"check_cooling": "facilities"}

_FAILING = frozenset(
    {
        "replace_gpu",
        "restart_node",
        "drain_and_reset",
        "reset_gpu",
        "contact_support",
        "check_hardware",
        "check_cooling",
        "check_gpu_links",
        "restart_vm",
    }
)
_DEGRADING = frozenset({"drain_p2p", "reset_gpu_when_idle", "update_software", "check_uvm_setting"})
_RECOVERY = 154
_MEMORY_MANAGER = "uvm"  # the driver part that all GPUs of a node share; its messages are about the node
_AMD = "amdgpu"
_AMD_RESET_DONE = "reset_ok"
_AMD_ENDED_BY_RESET = frozenset({"reset", "ring_timeout", "poison", "firmware_hang", "page_fault"})
_PROGRAM_FAULTS = frozenset({13, 31})  # a program's fault, unless many programs have it on one GPU only


def judge(window: Window, limits: Limits) -> Verdict:
    by_gpu: dict[Subject, list[Event]] = {gpu: [] for gpu in window.inventory.expected("gpu")}
    for event in _placed(since(window, limits["forget_seconds"], "xid", _MEMORY_MANAGER, _AMD)):
        by_gpu.setdefault(subject_of(window, event), []).append(event)
    if not by_gpu:
        why = f"no GPU is known on this node: {window.why_absent(window.node, 'gpu_lost')}"
        return Verdict(rows=(Row(window.node, Health.UNKNOWN, reason=why),))
    rows: list[Row] = []
    evidence = [*lost_messages(window, limits["forget_seconds"], "an Xid")]
    acted_on: list[Event] = []
    for gpu, events in by_gpu.items():
        current = [_named_cause(event, events) for event in _current(events)]
        health = worst([Health.PASS, *(_health(event) for event in current)])
        elsewhere = {event.code for other, others in by_gpu.items() if other != gpu for event in others}
        own_faults = [event for event in current if event.code in _PROGRAM_FAULTS - elsewhere]
        program = _of_many_programs(own_faults, limits["program_fault_processes"])
        program = program or _reset_again_and_again(events, limits["amd_resets"])
        if program and health is Health.PASS:
            health = Health.DEGRADED
        grave = [event for event in current if _health(event) is health] if health is not Health.PASS else []
        grave = grave or ([program] if program else [])
        rows.append(Row(gpu, health, _codes(grave), None, _reason(grave, window.now)))
        acted_on += grave if health is not Health.PASS else []
        evidence += describe_all(events, window.now)
    action = next((action for action in REMEDIES if any(event.action == action for event in acted_on)), "")
    drivers = {event.kind for event in acted_on if event.action == action}
    remedy = with_amd_tools(REMEDIES.get(action, "")) if drivers == {_AMD} else REMEDIES.get(action, "")
    repair = next((verb for action, verb in REPAIRS.items() if any(event.action == action for event in acted_on)), "")
    owner = OWNERS.get(action, "")
    return Verdict(rows=tuple(rows), evidence=tuple(evidence), remedy=remedy, owner=owner, repair=repair)


def _placed(events: list[Event]) -> list[Event]:
    """Parts of amdgpu that serve every GPU name no device: they mean the one in the driver's neighbouring message."""
    named = {event.device for event in events if event.kind == _AMD and event.device}
    if len(named) != 1:
        return events
    (only,) = named
    return [replace(event, device=only) if event.kind == _AMD and not event.device else event for event in events]


def _current(events: list[Event]) -> list[Event]:
    """The events that no later Xid 154 with "no action" has cleared, in their original order, because times may be
    equal."""
    asks = [index for index, event in enumerate(events) if event.code == _RECOVERY and event.action == "ignore"]
    events = events[asks[-1] :] if asks else events
    resets = [index for index, event in enumerate(events) if event.code == _AMD_RESET_DONE]
    last = resets[-1] if resets else 0
    return [event for event in events[:last] if event.code not in _AMD_ENDED_BY_RESET] + events[last:]


def _named_cause(event: Event, events: list[Event]) -> Event:
    """An Xid that names an earlier Xid as its cause replaces it if the kernel log does not contain that one."""
    cause = str(event.detail.get("caused_by", ""))
    if event.action != "ignore" or not cause.isdecimal() or any(str(other.code) == cause for other in events):
        return event
    fact = catalog.find(int(cause))
    action = catalog.CONTACT_SUPPORT if fact.action in (catalog.DECODE, catalog.FOLLOW_154) else fact.action
    return replace(event, code=int(cause), action=action, severity="nonfatal")


def _health(event: Event) -> Health:
    """The severity in the line takes precedence over the catalog."""
    if event.kind == _MEMORY_MANAGER:
        return Health.FAIL
    if event.kind == _AMD:
        bad = event.action in _FAILING
        return Health.FAIL if bad and event.severity == "fatal" else Health.DEGRADED if bad else Health.PASS
    fact = catalog.find(event.code) if isinstance(event.code, int) else None
    if event.action == catalog.FOLLOW_154:
        return Health.FAIL if event.severity == "fatal" else Health.PASS
    if event.action in _FAILING and event.severity != "nonfatal" and fact and fact.known and not fact.not_alone:
        return Health.FAIL
    if event.action in _FAILING or event.action in _DEGRADING:
        return Health.DEGRADED
    return Health.PASS


def _of_many_programs(faults: list[Event], least: float) -> Event | None:
    """A single program that faults, also on several GPUs or after restarts, has a bug. Several programs that fault on
    one GPU only mean a faulty GPU."""
    pids = {pid for event in faults for pid in processes(event)}
    return faults[-1] if faults and len(pids) >= least else None


def _reset_again_and_again(events: list[Event], most: float) -> Event | None:
    """amdgpu resets a GPU that hangs, which may clear a fault. A GPU that needs this repeatedly is degraded."""
    resets = [event for event in events if event.kind == _AMD and event.code == "reset"]
    count = sum(event.count for event in resets)
    return replace(resets[-1], code="reset_loop", count=count) if count >= most else None


def _codes(events: list[Event]) -> str | None:
    codes = dict.fromkeys(str(event.code) for event in events)
    return ",".join(codes) or None


def _reason(events: list[Event], now: float) -> str:
    if not events:
        return ""
    event = events[-1]
    if event.kind == _MEMORY_MANAGER:
        ago = max(now - event.at, 0)
        return f"the driver's memory manager gave up {ago:.0f} s ago: no GPU of this node can be used [{event.text}]"
    if event.kind == _AMD:
        what = str(event.code).replace("_", " ")
        what += f" ({event.count} times)" if event.count > 1 else ""
        return f"the amdgpu driver reported {what} {max(now - event.at, 0):.0f} s ago [{event.text}]"
    meaning = catalog.find(event.code).meaning if isinstance(event.code, int) else ""
    more = f" and {len(events) - 1} more" if len(events) > 1 else ""
    times = f", {event.count} times" if event.count > 1 else ""
    return f"Xid {event.code}{times}, {max(now - event.at, 0):.0f} s ago: {meaning}{more} [{event.text}]"


CHECK = Check(
    name="gpu.xid",
    asks="Has the driver reported an Xid or another error that needs more than a restart of the program?",
    about="gpu",
    part="gpu",
    reads=("kmsg_records_total",),
    event_kinds=("xid", _MEMORY_MANAGER, _AMD, GAP),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="follow the action of the Xid in the evidence",
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=86400.0,
    limits={"forget_seconds": 86400.0, "program_fault_processes": 3.0, "amd_resets": 3.0},
)
