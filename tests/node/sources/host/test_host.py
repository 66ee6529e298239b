"""The host source on trees that look like /sys and /proc."""

import os
from pathlib import Path

import pytest

from holdfast.model.signal import Reading, Value
from holdfast.node.sources.host.host import HostSource

NODE = "node/n1"
ROOT = "node/n1/mount/root"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path / "proc/mounts", "/dev/sda1 / ext4 rw 0 0\nserver:/x /shared nfs4 rw 0 0\n")
    write(tmp_path / "proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 250 kB\n")
    write(tmp_path / "proc/loadavg", "1.50 0.1 0.1 1/89 8279\n")
    write(tmp_path / "proc/uptime", "86400.5 1.0\n")
    write(tmp_path / "proc/sys/kernel/random/boot_id", "abc-def\n")
    write(tmp_path / "proc/sys/kernel/osrelease", "5.15.0-89-generic\n")
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    (tmp_path / "sys/module").mkdir(parents=True)
    process(tmp_path, 1, "S")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def process(tree: Path, pid: int, state: str, ticks: int = 5, switches: int = 7, name: str = "python") -> None:
    stat = f"{pid} ({name}) {state} 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 1000 0 0\n"
    write(tree / f"proc/{pid}/stat", stat)
    write(tree / f"proc/{pid}/status", f"Name:\t{name}\nvoluntary_ctxt_switches:\t{switches}\n")


def source(tree: Path, **more: tuple[str, ...]) -> HostSource:
    return HostSource("n1", sys=str(tree / "sys"), proc=str(tree / "proc"), **more)


def values(reading: Reading) -> dict[tuple[str, str], Value]:
    return {(signal.subject, signal.name): signal.value for signal in reading.signals}


def test_it_reads_the_plain_facts(tree: Path) -> None:
    seen = values(source(tree).read(0))
    assert seen[NODE, "host_memory_available_ratio"] == 0.25
    assert seen[NODE, "host_load1"] == 1.5
    assert seen[NODE, "host_uptime_seconds"] == 86400.5
    assert seen[NODE, "host_boot_id"] == "abc-def"
    assert seen[ROOT, "mount_read_only"] == 0.0
    assert 0 <= float(seen[ROOT, "mount_free_ratio"]) <= 1
    assert seen[ROOT, "mount_free_ratio"] == pytest.approx(
        os.statvfs("/").f_bavail / os.statvfs("/").f_blocks, abs=0.05
    )


def test_it_carries_every_signal_that_it_reads(tree: Path) -> None:
    reading = source(tree, mounts=("/", "/gone")).read(0)
    assert {name for _, name in [*values(reading), *reading.absent]} == set(HostSource.carries)


def test_a_configured_mount_that_is_not_mounted_is_reported(tree: Path) -> None:
    reading = source(tree, mounts=("/", "/data")).read(0)
    assert values(reading)["node/n1/mount/data", "mount_mounted"] == 0.0
    assert reading.absent["node/n1/mount/data", "mount_free_ratio"] == "/data is not mounted"


def test_the_hosts_mounts_count_and_not_our_own(tree: Path) -> None:
    write(tree / "proc/1/mounts", "/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /data ext4 rw 0 0\n")
    write(tree / "proc/1/root/data/file", "")
    write(tree / "proc/mounts", "overlay / overlay ro 0 0\n")
    reading = source(tree, mounts=("/", "/data")).read(0)
    assert values(reading)[ROOT, "mount_read_only"] == 0.0
    assert float(values(reading)["node/n1/mount/data", "mount_free_ratio"]) >= 0  # by way of proc/1/root


def test_without_a_way_to_the_hosts_root_our_own_serves_only_where_it_is_the_same(tree: Path) -> None:
    write(tree / "proc/1/mounts", "/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /data ext4 rw 0 0\n")
    write(tree / "proc/mounts", "/dev/sda1 / ext4 ro 0 0\n")
    reading = source(tree, mounts=("/", "/data")).read(0)
    assert (ROOT, "mount_free_ratio") in values(reading)
    assert "cannot be reached" in reading.absent["node/n1/mount/data", "mount_free_ratio"]


def test_a_disk_that_turns_read_only_is_reported_from_one_that_always_was(tree: Path) -> None:
    host = source(tree)
    faults = []
    for options in ("ro", "rw", "ro"):
        write(tree / "proc/mounts", f"/dev/sda1 / ext4 {options} 0 0\n")
        faults.append(values(host.read(0))[ROOT, "mount_read_only_fault"])
    assert faults == ["", "", "it was writable before"]


def test_the_hosts_fstab_is_received(tree: Path) -> None:
    write(tree / "proc/1/mounts", "/dev/sda1 / xfs ro 0 0\n")
    write(tree / "proc/1/root/etc/fstab", "UUID=1 / xfs defaults 0 0\n")
    assert "fstab" in str(values(source(tree).read(0))[ROOT, "mount_read_only_fault"])


def test_a_network_file_system_is_never_asked_from_our_thread(tree: Path) -> None:
    reading = source(tree, mounts=("/shared",)).read(0)
    assert "shared_mounts" in reading.absent["node/n1/mount/shared", "mount_free_ratio"]


def test_a_process_that_does_not_move_grows_old_and_one_that_moves_does_not(tree: Path) -> None:
    host = source(tree)
    process(tree, 7, "D", name="nvidia-smi")
    for at in (0, 60, 120):
        process(tree, 8, "D", switches=at, name="dd")  # writes hard: in D state whenever we look, but it moves
        seen = values(host.read(at))
    assert seen[NODE, "host_processes_stuck"] == 2
    assert seen[NODE, "host_process_stuck_seconds"] == 120
    assert seen[NODE, "host_process_stuck_name"] == "nvidia-smi (pid 7)"


def test_a_process_that_woke_up_starts_again_from_nothing(tree: Path) -> None:
    host = source(tree)
    for at, state in ((0, "D"), (60, "R"), (120, "D")):
        process(tree, 7, state)
        seen = values(host.read(at))
    assert seen[NODE, "host_process_stuck_seconds"] == 0


def test_zombies_are_counted(tree: Path) -> None:
    process(tree, 7, "Z")
    process(tree, 8, "Z")
    assert values(source(tree).read(0))[NODE, "host_processes_zombie"] == 2


def test_the_slowest_governor_wins_and_none_is_an_answer(tree: Path) -> None:
    assert values(source(tree).read(0))[NODE, "host_cpu_governor"] == "none"
    for cpu, governor in enumerate(("performance", "powersave", "performance")):
        write(tree / f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", governor + "\n")
    assert values(source(tree).read(0))[NODE, "host_cpu_governor"] == "powersave"


def test_error_counts_of_all_memory_controllers_add_up(tree: Path) -> None:
    for controller, (ce, ue) in enumerate(((3, 0), (4, 1))):
        write(tree / f"sys/devices/system/edac/mc/mc{controller}/ce_count", f"{ce}\n")
        write(tree / f"sys/devices/system/edac/mc/mc{controller}/ue_count", f"{ue}\n")
    seen = values(source(tree).read(0))
    assert (seen[NODE, "host_edac_correctable_total"], seen[NODE, "host_edac_uncorrectable_total"]) == (7, 1)


def test_no_memory_controller_is_absence_and_not_zero_errors(tree: Path) -> None:
    reading = source(tree).read(0)
    assert "no EDAC driver" in reading.absent[NODE, "host_edac_uncorrectable_total"]


def test_a_module_counts_whether_loaded_or_built_in(tree: Path) -> None:
    (tree / "sys/module/ib_core").mkdir()
    write(tree / "proc/modules", "mlx5_core 1234 0 - Live 0x0\n")
    seen = values(source(tree, modules=("ib-core", "mlx5_core", "nvidia_uvm")).read(0))
    assert seen[NODE, "host_modules_missing"] == 1
    assert seen[NODE, "host_modules_missing_names"] == "nvidia_uvm"


@pytest.mark.parametrize(
    ("flavour", "kernel", "peermem", "way"),
    [
        ("Open ", "5.15.0", False, "dma_buf"),
        ("Open ", "5.4.0", False, "none"),
        ("", "5.15.0", False, "none"),
        ("", "5.4.0", True, "nvidia_peermem"),
    ],
)
def test_how_a_nic_reaches_gpu_memory(tree: Path, flavour: str, kernel: str, peermem: bool, way: str) -> None:
    write(tree / "proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX {flavour}Kernel Module  550.54.15\n")
    write(tree / "proc/sys/kernel/osrelease", kernel + "-generic\n")
    if peermem:
        (tree / "sys/module/nvidia_peermem").mkdir()
    assert values(source(tree).read(0))[NODE, "host_gpudirect"] == way


def test_an_empty_tree_is_absence_with_reasons_and_no_error(tmp_path: Path) -> None:
    reading = HostSource("n1", sys=str(tmp_path / "s"), proc=str(tmp_path / "p")).read(0)
    assert set(reading.absent) >= {(NODE, "host_memory_total_bytes"), (NODE, "host_processes_stuck")}
    assert "cannot be read" in reading.absent[ROOT, "mount_free_ratio"]


def test_binary_rubbish_in_every_file_is_survived(tree: Path) -> None:
    for path in tree.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff\x00\x80(((" * 50)
    assert source(tree).read(0).blind == ""


def test_this_machine_is_read_without_error() -> None:
    seen = values(HostSource("n1").read(0))
    assert float(seen[NODE, "host_memory_total_bytes"]) > 0
