"""Text of /proc: what the kernel writes is read, and nothing makes a parser raise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.host import proc

STAT = "4242 (python (rank 3)) D 1 4242 4242 0 -1 4194560 1 0 0 0 120 30 0 0 20 0 17 0 987654 1 1 1\n"


def test_a_command_with_blanks_and_parentheses_is_read_whole() -> None:
    assert proc.process(STAT) == proc.ProcProcess(4242, "python (rank 3)", "D", 17, 987654, 150)


def test_a_dead_leader_with_live_threads_counts_as_stuck() -> None:
    zombie = proc.process(STAT.replace(") D ", ") Z "))
    assert zombie and zombie.stuck
    plain = proc.process(STAT.replace(") D ", ") Z ").replace(" 17 0 987654", " 1 0 987654"))
    assert plain and not plain.stuck


def test_mounts_keep_the_topmost_and_decode_blanks() -> None:
    table = proc.mounts("none / overlay rw 0 0\n/dev/sda1 /my\\040disk ext4 ro,relatime 0 0\nnone / ext4 ro 0 0\n")
    assert table["/"] == proc.Mount("/", "ext4", "none", frozenset({"ro"}))
    assert table["/my disk"].read_only


def test_read_only_is_an_option_of_its_own_not_a_part_of_one() -> None:
    assert not proc.mounts("a / ext4 rw,errors=remount-ro 0 0")["/"].read_only


def test_a_file_system_that_stopped_writing_is_read_only_whatever_else_its_options_say() -> None:
    assert proc.mounts("a / ext4 rw,emergency_ro 0 0")["/"].read_only
    assert proc.mounts("a / ext4 rw,shutdown 0 0")["/"].read_only


@pytest.mark.parametrize(
    ("line", "fstab", "seen_writable", "fault"),
    [
        ("/dev/dm-0 / ext4 ro,relatime", "", False, False),  # an image-based system
        ("/dev/dm-0 / ext4 ro,relatime", "", True, True),
        ("/dev/sda1 / ext4 ro,errors=remount-ro", "", False, True),
        ("/dev/sda1 / ext4 ro,errors=remount-ro", "UUID=1 / ext4 ro,errors=remount-ro 0 1", False, False),
        ("/dev/sda1 / ext4 rw,emergency_ro", "UUID=1 / ext4 ro 0 1", False, True),
        ("/dev/sda1 / xfs ro,relatime", "# / is here\nUUID=1 / xfs defaults 0 0", False, True),
        ("/dev/sda1 / xfs ro,relatime", "UUID=1 / auto defaults 0 0", False, True),
        ("/dev/sda1 / btrfs ro,relatime", "UUID=1 / btrfs ro 0 0", False, False),
        ("overlay / overlay ro", "UUID=1 / ext4 defaults 0 0", False, False),
        ("/dev/loop0 / squashfs ro,errors=continue", "/x / squashfs defaults 0 0", True, False),
    ],
)
def test_read_only_is_a_fault_where_something_says_that_it_should_be_writable(
    line: str, fstab: str, seen_writable: bool, fault: bool
) -> None:
    mount = proc.mounts(f"{line} 0 0\n")["/"]
    assert bool(proc.why_read_only_is_a_fault(mount, fstab, seen_writable)) is fault


def test_what_an_automounter_brings_and_takes_is_not_a_shared_file_system_of_the_node() -> None:
    indirect = "auto.home /home autofs rw,timeout=300,indirect 0 0\ns:/h/me /home/me nfs4 rw 0 0\n"
    direct = "systemd-1 /data autofs rw,timeout=60,direct 0 0\ns:/data /data nfs4 rw 0 0\n"
    assert proc.shared(proc.mounts(indirect + direct)) == []
    assert proc.shared(proc.mounts(direct.replace("timeout=60", "timeout=0"))) == ["/data"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/dev/sda1 / ext4 rw,relatime", "/dev/sda1 / ext4 ro,nosuid", True),
        ("/dev/sda1 / ext4 rw", "/dev/sdb1 / ext4 rw", False),
        ("overlay / overlay rw,upperdir=/a", "overlay / overlay ro,upperdir=/a", True),
        ("overlay / overlay rw,upperdir=/a", "overlay / overlay rw,upperdir=/b", False),
    ],
)
def test_one_file_system_in_two_namespaces(one: str, other: str, same: bool) -> None:
    mounts = [proc.mounts(f"{line} 0 0\n")["/"] for line in (one, other)]
    assert mounts[0].same_file_system(mounts[1]) is same


def test_a_path_belongs_to_its_longest_mounted_parent() -> None:
    table = proc.mounts("r / ext4 rw 0 0\nl /lustre lustre rw 0 0\n")
    assert (found := proc.mount_of("/lustre/home/me", table)) and found.path == "/lustre"
    assert (found := proc.mount_of("/lustrex", table)) and found.path == "/"
    assert proc.mount_of("/x", {}) is None


def test_a_shared_file_system_mounted_into_many_containers_is_one() -> None:
    text = "s:/x /data nfs4 rw 0 0\ns:/x /var/lib/kubelet/pods/1/data nfs4 rw 0 0\nd /scratch ext4 rw 0 0\n"
    assert proc.shared(proc.mounts(text)) == ["/data"]


def test_a_command_name_longer_than_the_kernel_keeps_is_still_found() -> None:
    assert proc.same_command("nv-fabricmanage\n", "nv-fabricmanager")
    assert not proc.same_command("nv-fabric\n", "nv-fabricmanager")


def test_memory_is_in_bytes() -> None:
    assert proc.meminfo("MemTotal:  100 kB\nHugePages_Total:   7\nrubbish\n") == {
        "MemTotal": 102400.0,
        "HugePages_Total": 7.0,
    }


def test_the_open_kernel_module_is_reported_from_the_closed_one() -> None:
    head = "NVRM version: NVIDIA UNIX {}Kernel Module for x86_64  550.54.15  Release Build\nGCC version: gcc\n"
    assert proc.nvidia_driver_is_open(head.format("Open "))
    assert not proc.nvidia_driver_is_open(head.format("x86_64 "))


def test_kernel_release() -> None:
    assert proc.kernel_release("5.15.0-89-generic\n") == (5, 15)
    assert proc.kernel_release("6.8-rc1") == (6, 8)
    assert proc.kernel_release("nonsense") == (0, 0)


@given(st.text())
def test_arbitrary_text_never_raises(text: str) -> None:
    proc.process(text)
    proc.process(f"1 (a) {text}")
    table = proc.mounts(text)
    proc.mount_of(text, table)
    proc.shared(table)
    for mount in table.values():
        proc.why_read_only_is_a_fault(mount, text, seen_writable=False)
    proc.why_read_only_is_a_fault(proc.Mount("/", "ext4", "x"), f"x / {text}", seen_writable=False)
    proc.meminfo(text)
    proc.first_number(text)
    proc.context_switches(text)
    proc.kernel_release(text)
    proc.modules(text)
