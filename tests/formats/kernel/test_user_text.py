# ruff: noqa: E501
"""Text that a user controls is never an event of the hardware, whatever of the kernel's own words it holds."""

import json
import re
import re._parser as re_parser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.catalog import kernel_messages
from holdfast.formats.kernel.log import KernelLog
from holdfast.model.signal import Event
from tests.counts import draws
from tests.formats.kernel.samples import SAMPLES

PROGRAM = {"segfault", "oom"}  # about the program that the line names, as the kernel means it


def found(raw: str) -> list[Event]:
    log = KernelLog()
    return log.feed(raw.encode() + b"\n") + log.finish()


def kmsg(text: str, prival: int = 3) -> str:
    escaped = text.replace("\n", "\\x0a")
    return f"{prival},1201,98765432,-;{escaped}"


SHORT = ["int3: 0000 [#1]", "kernel BUG [#1]", "int3 [#1]", "Oops [#1] SMP", "I/O error, dev", "ib lost carrier", "ib Link is Down", "XFS (sda1): ", "NVRM: GPU 0:", "xgmi a err", "unhandlable", "GPU is lost", "NVRM: Xid 79", "NVRM: Xid", "NVRM: GPU0 Xid", "shutdown", "corruption", "I/O Error -5", "ib0 Link is Up", "ib0: Link is Up", "ib0 Link is Down"[:15]]  # fmt: skip
SEGFAULT = "python3[4711]: segfault at 0 ip 000055 sp 00007f error 4 in {}[55d0+1000]"
HIDDEN = {
    "a file name in a segfault": lambda text: kmsg(SEGFAULT.format(text), 6),
    "a process name in a segfault": lambda text: kmsg(f"{text[:15]}[4711]: segfault at 0 ip 0 sp 0 error 4 in {text}[5+1]", 6),
    "a file name with a line end": lambda text: kmsg(SEGFAULT.format(f"x\n{text}"), 6),
    "a process name with a line end": lambda text: kmsg(f"NVRM:\n{text}"[:15] + f"[4711]: segfault at 0 ip 0 sp 0 error 4 in \n{text}[5+1]", 6),
    "a trap": lambda text: kmsg(f"traps: {text[:15]}[4711] general protection fault ip:5 sp:7 error:0 in {text}[5+1]", 6),
    "an audit line": lambda text: kmsg(f'audit: type=1326 audit(1741519353.123:42): auid=1000 uid=1000 comm="{text}" exe="/tmp/{text}" sig=31', 5),
    "a process name before the OOM killer": lambda text: kmsg(f"{text[:15]} invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0", 4),
    "a task name of the OOM killer": lambda text: kmsg(f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,task={text},pid=4711,uid=1000", 6),
    "a process that asks for an old kind of socket": lambda text: kmsg(f"{text[:15]} uses obsolete (PF_INET,SOCK_PACKET)", 6),
    "a process that forgot a family": lambda text: kmsg(f"{text[:15]} forgot to set AF_INET in raw_sendmsg. Fix it!", 6),
    "a process that calls setitimer": lambda text: kmsg(f"{text[:15]} calls setitimer() with new_value NULL pointer. Misfeature support will be removed", 4),
    "a process in words that no list has": lambda text: kmsg(f"{text[:15]} does what no list of messages has", 4),
    "a process that calls an old function of XFS": lambda text: kmsg(f"XFS (sda1): {text[:15]} should use fallocate; XFS_IOC_{{ALLOC,FREE}}SP ioctl unsupported", 4),
    "a process that sets its oom_adj": lambda text: kmsg(f"{text[:15]} (4711): /proc/4711/oom_adj is deprecated, please use /proc/4711/oom_score_adj instead.", 4),
    "a process with an executable stack": lambda text: kmsg(f"process '/tmp/{text}' started with executable stack", 4),
    "a control group": lambda text: kmsg(f"cgroup: fork rejected by pids controller in /user.slice/{text}", 6),
    "a control group of the OOM killer": lambda text: kmsg(f"oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/{text},task_memcg=/{text},task=x,pid=4711,uid=1000", 6),
    "a process that hangs": lambda text: kmsg(f"CPU: 3 PID: 4711 Comm: {text[:15]} Not tainted 6.8.0 #1", 4),
    "a name in a file system's warning": lambda text: kmsg(f"EXT4-fs warning (device sda1): ext4_x:1: comm {text[:15]}: {text}", 4),
    "capabilities": lambda text: kmsg(f"capability: warning: `{text[:15]}' uses 32-bit capabilities (legacy support in use)", 6),
    "a USB device": lambda text: kmsg(f"usb 1-1: Product: {text}", 6),
    "the version that a client of the NVIDIA driver claims": lambda text: kmsg(f"NVRM: API mismatch: the client has the version {text}, but\nNVRM: this kernel module has the version 550.54.15.  Please\nNVRM: make sure"),
    "a line end in that version": lambda text: kmsg(f"NVRM: API mismatch: the client 'x' (pid 7) has the version 1\n{text}, but\nNVRM: this kernel module has the version 550.54.15.  Please"),
    "a line end in that version, in a file": lambda text: f"[   98.765432] NVRM: API mismatch: the client has the version 1\n[   98.765432] {text}, but\n[   98.765432] NVRM: this kernel module has the version 550.54.15.  Please",
    "a process whose access to an AMD GPU failed": lambda text: kmsg(f"amdgpu 0000:0b:00.0: amdgpu:  for process {text[:15]} pid 4711 thread {text[:15]} pid 4711"),
    "a process of an AMD GPU, newer": lambda text: kmsg(f"amdgpu 0000:0b:00.0: amdgpu:  Process {text[:15]} pid 4711 thread {text[:15]} pid 4711"),
    "a process that a broken page kills": lambda text: kmsg(f"Memory failure: 0x1234: Sending SIGBUS to {text[:15]}:4711 due to hardware memory corruption"),
    "a rule of the firewall": lambda text: kmsg(f"{text[:127]} IN=lo OUT= MAC=00:00:00:00 SRC=127.0.0.1 DST=127.0.0.1 LEN=84 TOS=0x00"),
    "a rule of the firewall, without a space": lambda text: kmsg(f"{text[:127]}xIN=lo OUT= MAC=00:00:00:00 SRC=127.0.0.1 DST=127.0.0.1 LEN=84 TOS=0x00"),
    "a rule of the firewall, with a line end": lambda text: kmsg(f"{text[:100]}\nxIN=lo OUT= MAC=00:00:00:00 SRC=127.0.0.1 DST=127.0.0.1 LEN=84 TOS=0x00"),
    "a page allocation failure": lambda text: kmsg(f"{text[:15]}: page allocation failure: order:4, mode:0x40dc0, nodemask=(null)", 4),
    "a line of the user facility": lambda text: kmsg(text, 8 + 3),
    "a line of a daemon's facility": lambda text: kmsg(text, 24 + 3),
    "a level inside a line of the user facility": lambda text: kmsg(f"<3>{text}", 8 + 3),
    "a syslog line of a program": lambda text: f"Mar  9 11:22:33 gpu-07 python3[4711]: {text}",
    "a syslog line that claims to be the kernel's": lambda text: f"<11>Mar  9 11:22:33 gpu-07 kernel: {text}",
    "an ISO line of a program": lambda text: f"2025-03-09T11:22:33+00:00 gpu-07 python3[4711]: {text}",
    "dmesg -x": lambda text: f"user  :err   : [   98.765432] {text}",
    "a journal entry of a program": lambda text: json.dumps({"MESSAGE": text, "_TRANSPORT": "syslog", "SYSLOG_IDENTIFIER": "kernel"}),
    "a journal entry under a daemon's name": lambda text: json.dumps({"MESSAGE": text, "_TRANSPORT": "syslog", "SYSLOG_IDENTIFIER": "systemd-networkd", "_UID": "1000"}),
    "a journal entry of a user who forges the transport": lambda text: json.dumps({"MESSAGE": text, "_UID": "1000", "SYSLOG_IDENTIFIER": "kernel"}),
    "a journal entry written to /dev/kmsg": lambda text: json.dumps({"MESSAGE": text, "_TRANSPORT": "kernel", "SYSLOG_FACILITY": "1"}),
}  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_sample_is_an_event_when_the_kernel_says_it(sample: str) -> None:
    assert found(kmsg(sample))


@pytest.mark.parametrize("where", HIDDEN)
def test_no_kernel_text_counts_where_a_user_can_put_it(where: str) -> None:
    for sample in SAMPLES:
        events = [event for event in found(HIDDEN[where](sample)) if event.kind not in PROGRAM]
        assert events == [], sample


@pytest.mark.parametrize("where", HIDDEN)
def test_it_does_not_count_as_a_repeat_either(where: str) -> None:
    first, every = list(HIDDEN).index(where), draws(6, 1)  # quickly: each sample in some places, each place with some
    for sample in SAMPLES[first % every :: every]:
        assert _counted(kmsg(sample)) == _counted(f"{kmsg(sample)}\n{HIDDEN[where](sample)}"), sample


def _counted(lines: str) -> int:
    log = KernelLog()
    events = log.feed(f"{lines}\n".encode()) + log.finish()
    return sum(event.count for event in events if event.kind not in PROGRAM)


def test_every_pattern_of_the_catalog_has_a_sample() -> None:
    for group in kernel_messages.groups():
        for message in group.messages:
            assert any(message.regex.match(sample) for sample in SAMPLES), (group.kind, message.code)


@pytest.mark.parametrize("where", [name for name in HIDDEN if "process" in name])
@pytest.mark.parametrize("name", SHORT)
def test_a_short_name_is_no_message_either(where: str, name: str) -> None:
    assert len(name) <= 15
    assert [event for event in found(HIDDEN[where](name)) if event.kind not in PROGRAM] == []


NOT_OF_HARDWARE = {"removable", "network_volume"}  # they only say that what follows is no disk of the node
ANCHORED = {"oops"}  # nothing may follow it, and behind the name of a process the kernel goes on


@pytest.mark.parametrize(
    "message",
    [
        one
        for group in kernel_messages.groups()
        for one in group.messages
        if one.code not in NOT_OF_HARDWARE and one.code not in ANCHORED
    ],
    ids=lambda one: one.code,
)
def test_the_shortest_text_of_a_pattern_is_longer_than_the_name_of_a_process(
    message: kernel_messages.KernelMessage,
) -> None:
    """The kernel begins some messages with such a name: no pattern may end within it."""
    shortest, _ = re_parser.parse(message.regex.pattern, message.regex.flags).getwidth()
    assert shortest > 15


@settings(max_examples=draws(3, settings.default.max_examples // 3))  # of each of a hundred patterns
@given(st.data())
@pytest.mark.parametrize(
    "message", [one for group in kernel_messages.groups() for one in group.messages[:: draws(8, 1)]]
)  # of each group the first at least
def test_no_pattern_fits_into_the_name_of_a_process(
    message: kernel_messages.KernelMessage, data: st.DataObject
) -> None:
    """Whatever a pattern asks for, fifteen characters of it and what the kernel says after a name are not enough."""
    name = data.draw(st.from_regex(message.regex.pattern, alphabet=st.characters(codec="ascii")))[:15].strip()
    for where in ("an old kind of socket", "forgot a family", "its oom_adj"):
        line = next(make for place, make in HIDDEN.items() if where in place)(name)
        assert [event for event in found(line) if event.kind not in PROGRAM] == []


@pytest.mark.parametrize("sample", [one for one in SAMPLES if one.startswith(("NVRM: ", "amdgpu ", "XFS "))])
def test_no_message_is_as_short_as_the_name_of_a_process_that_a_driver_puts_into_it(sample: str) -> None:
    """Of these it is known that they name processes: any fifteen characters may stand behind what they begin with."""
    head, colon, rest = sample.partition(": ")
    for start in range(len(rest)):
        line = kmsg(f"{head}{colon}{rest[start : start + 15]} should not do this")
        assert [event for event in found(line) if event.kind not in PROGRAM] == [], line


USERS_IMAGES = [
    "EXT4-fs error (device loop3): ext4_lookup:1234: inode #2: comm bash: deleted inode referenced: 12",
    "EXT4-fs (loop3): Remounting filesystem read-only",
    "XFS (loop3): Metadata corruption detected at xfs_dir3_block_read_verify",
    "XFS (loop3): Corruption of in-memory data detected. Shutting down filesystem",
    "BTRFS error (device loop3: state EA): parent transid verify failed",
    "Aborting journal on device loop3-8.",
    "Buffer I/O error on dev loop3, logical block 0, async page read",
    "I/O error, dev loop3, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
]


@pytest.mark.parametrize("device", ["loop3", "rbd0", "nbd12", "drbd1", "zd16", "rbd0p1"])
@pytest.mark.parametrize("text", USERS_IMAGES)
def test_a_broken_volume_that_a_user_mounts_is_no_broken_disk(text: str, device: str) -> None:
    assert {event.severity for event in found(kmsg(text.replace("loop3", device)))} == {"info"}
    for disk in ("sda1", "nvme0n1p2", "md127", "dm-3", "vdb", "xrbd0"):
        events = found(kmsg(text.replace("loop3", disk)))
        assert events and {event.severity for event in events} <= {"fatal", "warning"}


@pytest.mark.parametrize("name", ["a, Fatal x", "RST: Yes", "x, RST: Yes", "<unknown>,Fatal", "a, RST: Yes, D"])
def test_the_name_of_a_process_does_not_change_what_its_xid_asks_for(name: str) -> None:
    assert len(name) <= 15
    plain, forged = (found(f"NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name={who}, Ch 00000010")[0] for who in ("p", name))
    assert (forged.action, forged.severity) == (plain.action, plain.severity)
    assert re.match(r"restart_app", plain.action)


@pytest.mark.parametrize("name", ["\nNVRM: Xid 79", "a\nNVRM: Xid 48", "\nNVRM: GPU 0:", "\n\nNVRM: Xid 79"])
@pytest.mark.parametrize("code", [13, 31, 43])
def test_a_process_that_an_xid_names_adds_no_other_message(name: str, code: int) -> None:
    assert len(name) <= 15
    line = kmsg(f"NVRM: Xid (PCI:0000:17:00): {code}, pid=4242, name={name}, Ch 00000008, intr 10000000")
    assert [(event.kind, event.code, event.device) for event in found(line)] == [("xid", code, "0000:17:00")]
