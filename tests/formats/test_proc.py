"""Text of /proc: what the kernel writes is read, and nothing makes a parser raise."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats import proc

STAT = "4242 (python (rank 3)) D 1 4242 4242 0 -1 4194560 1 0 0 0 120 30 0 0 20 0 17 0 987654 1 1 1\n"


def test_a_command_with_blanks_and_parentheses_is_read_whole() -> None:
    assert proc.process(STAT) == proc.Process(4242, "python (rank 3)", "D", 17, 987654, 150)


def test_a_dead_leader_with_live_threads_counts_as_stuck() -> None:
    zombie = proc.process(STAT.replace(") D ", ") Z "))
    assert zombie and zombie.stuck
    plain = proc.process(STAT.replace(") D ", ") Z ").replace(" 17 0 987654", " 1 0 987654"))
    assert plain and not plain.stuck


def test_mounts_keep_the_topmost_and_decode_blanks() -> None:
    table = proc.mounts("none / overlay rw 0 0\n/dev/sda1 /my\\040disk ext4 ro,relatime 0 0\nnone / ext4 ro 0 0\n")
    assert table["/"] == proc.Mount("/", "ext4", True, "none")
    assert table["/my disk"].read_only


def test_read_only_is_an_option_of_its_own_not_a_part_of_one() -> None:
    assert not proc.mounts("a / ext4 rw,errors=remount-ro 0 0")["/"].read_only


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


def test_the_open_kernel_module_is_told_from_the_closed_one() -> None:
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
    proc.meminfo(text)
    proc.first_number(text)
    proc.context_switches(text)
    proc.kernel_release(text)
    proc.modules(text)
